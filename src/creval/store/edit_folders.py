"""The edits in folders: a folder's name is the system's, a file's stem the sample's."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from creval.core.benchmark import Placed
from creval.core.edit import Edit, EditKey, EditStatus, Stamp
from creval.core.errors import CrevalError
from creval.core.filenames import read_name
from creval.core.files import clean_text, files_below
from creval.core.images import glance, lack_of
from creval.core.sample import Sample
from creval.store import DATABASE
from creval.store.lineage import with_way
from creval.store.lookup import CloseUp
from creval.store.provenance import Bill, Maker, bill

# HEIC cannot be opened, but then the picture is there and gets a sentence.
_SUFFIXES = frozenset(
    "jpg jpeg jfif png webp avif gif bmp tif tiff jp2 ppm heic heif".split()  # noqa: SIM905
)
EDITOR = "editor"
"""The entry in a folder's manifest that says who edited."""
# Whether there could be a picture is for the benchmark's own to say.
_MAYBE = frozenset({EditStatus.ABSENT, EditStatus.UNSUPPORTED})
JUDGED, PLANNED = ".judged", ".plans"
"""The folders inside it of the runs that picked, and of what a planner wrote."""


@dataclass
class FoundEdits:
    """The edits of systems, one for each sample and draw, and the files that belong to no sample;
    of systems who made their edits, where that is known.

    A sample for which a system has no file has an edit that is absent, or is known to be refused or
    failed.
    """

    systems: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    edits: list[Edit] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    makers: dict[str, Maker] = field(default_factory=dict)


Place = Callable[[str], Placed | None]
"""The edit that a file's path, without its suffix, stands for."""
Told = Callable[[Path, Sequence[Sample]], Mapping[str, Edit]]
"""What a folder says of its edits, by sample: where their pictures are, or why there is none."""
Pictures = dict[str, dict[int, Path]]
"""A system's pictures by sample and draw."""


def find_edits(
    folders: Sequence[str | Path],
    samples: Sequence[Sample],
    place: Place | None = None,
    told: Told | None = None,
) -> FoundEdits:
    """The edits in these folders, each given as `DIR` or `NAME=DIR`.

    A file's stem is the sample's id, with its path in the folder where ids have slashes, or its
    source's stem; an id comes before all else that a name could stand for. `place` finds files in a
    layout of the benchmark's own, and what the folder has `told` comes before names. Edits by a
    strategy are a system of their own, such as `OmniGen+sequential`.
    """
    if not folders:
        raise CrevalError("give the folders of edited pictures: --edits outputs/ModelA ...")
    found = FoundEdits()
    stems, ids = _stems(samples), {sample.id for sample in samples}
    places: dict[str, Path] = {}
    lacking = cache(partial(lack_of, look=glance))  # the same for all systems
    for given in folders:
        name, folder = _place(given)
        if name in places:
            raise CrevalError(
                f"{places[name]} and {folder} are both called {name!r}; give one of them another "
                f"name: --edits {name}-2={folder}"
            )
        places[name] = folder
        found.folders += (folder,)
        said = {} if told is None else told(folder, samples)
        known = known_edits(folder, name, samples)
        known = known._replace(edits={**known.edits, **said})
        inside = _in_folder(
            folder, stems, ids, place, said, found.unmatched, may_be_empty=bool(known.edits)
        )
        for strategy, there in sorted(inside.items()):
            system = f"{name}+{strategy}" if strategy else name
            if system in found.systems:
                raise CrevalError(f"{system!r} is there twice; give {folder} another name.")
            found.systems += (system,)
            if not strategy and known.maker is not None:
                found.makers[system] = known.maker
            mine = {} if strategy else known.edits
            found.edits += _edits(system, samples, there, mine, lacking)
    return found


def _edits(
    system: str,
    samples: Sequence[Sample],
    there: Pictures,
    known: Mapping[str, Edit],
    lack_of: Callable[[tuple[Path, ...]], str],
) -> Iterator[Edit]:
    """Each sample's edits, with what whoever made them `known` about them. `lack_of` says what is
    wrong with a sample's pictures."""
    reason = "there is no picture of it in the folder"
    for sample in samples:
        told = known.get(sample.id)
        for draw, path in sorted(there.get(sample.id, {}).items()):
            # Whoever opens the run later may stand in another folder.
            edit = Edit(EditKey(system, sample.id, draw), EditStatus.DONE, path.absolute())
            if told is not None and draw == 0:
                edit = edit._replace(parents=told.parents, facts=told.facts, before=told.before)
            yield edit
        if sample.id not in there:
            edit = Edit(EditKey(system, sample.id), EditStatus.ABSENT, reason=reason)
            if told is not None and told.status is not EditStatus.DONE:
                edit = told._replace(key=edit.key, image=None)
            if edit.status in _MAYBE and (lack := lack_of(sample.pictures)):
                edit = edit._replace(status=EditStatus.IMPOSSIBLE, reason=lack)
            yield edit


class Known(NamedTuple):
    """What is known of the edits in a folder: of those of samples how each came about or why it is
    not there, and who made them."""

    edits: Mapping[str, Edit] = MappingProxyType({})
    maker: Maker | None = None


def known_edits(folder: Path, system: str, samples: Sequence[Sample]) -> Known:
    """What is known of the edits of these samples in a folder, under a system's name; nothing where
    `creval edit` did not make them."""
    if not (folder / DATABASE).is_file():
        return Known()
    try:
        opened = CloseUp(folder)
    except CrevalError:  # nothing was finished yet, or it is somebody else's database
        return Known()
    with opened as run:
        if EDITOR not in run.manifest:
            return Known()
        edits = {edit.key: edit for edit in run.all_edits()}
        manifest = run.manifest
    names = {sample.id for sample in samples}
    whole = [edit for key, edit in edits.items() if key.draw == 0 and key.sample in names]
    picking = sum((bill(part) for part in sorted((folder / JUDGED).glob("*/run"))), Bill())
    maker = Maker(
        str(manifest[EDITOR]),
        str(manifest.get("strategy", "direct")),
        sum(edit.image is not None for edit in whole),
        bill(folder),
        picking,
        bill(folder / PLANNED),
        str(manifest.get("judge", "")),
    )
    return Known({e.key.sample: with_way(e, edits, folder, system) for e in whole}, maker)


def stamp_of(path: Path, digest: str) -> Stamp:
    """A file as it is now, with the digest of its content."""
    status = path.stat()
    return Stamp(digest, status.st_size, status.st_mtime_ns)


def _place(given: str | Path) -> tuple[str, Path]:
    folder = Path(given)
    name = ""
    if not folder.exists() and "=" in str(given):
        name, _, rest = str(given).partition("=")
        folder = Path(rest)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise CrevalError(f"--edits {folder} {what}; give a folder of edited pictures.")
    name = clean_text(name.strip() or folder.resolve().name)
    if not name:
        raise CrevalError(f"--edits {folder} has no name; give NAME={folder}.")
    return name, folder


def _stems(samples: Sequence[Sample]) -> dict[str, str]:
    """The sample that a stem stands for: its id, or its source's stem if that is nobody else's."""
    sources: dict[str, set[str]] = {}
    for sample in samples:
        if sample.source is not None:
            sources.setdefault(sample.source.stem, set()).add(sample.id)
        # The last part of an id will do where it is nobody else's.
        sources.setdefault(sample.id.rpartition("/")[2], set()).add(sample.id)
    stems = {stem: min(ids) for stem, ids in sources.items() if len(ids) == 1}
    return stems | {sample.id: sample.id for sample in samples}


def _in_folder(
    folder: Path,
    stems: dict[str, str],
    ids: Container[str],
    place: Place | None,
    said: Mapping[str, Edit],
    unmatched: list[str],
    *,
    may_be_empty: bool,
) -> dict[str, Pictures]:
    """The pictures in a folder by strategy, as far as they belong to a sample."""
    listed = {identity: edit.image for identity, edit in said.items() if edit.image is not None}
    found: dict[str, Pictures] = {}
    for identity, path in listed.items():
        found.setdefault("", {})[identity] = {0: path}
    taken = set(listed.values())
    names = sorted(os.listdir(folder))  # noqa: PTH208 (names are all that is needed)
    deep = place is not None or any("/" in stem for stem in stems)
    pictures = [
        name
        for name in (files_below(folder) if deep else names)
        if name.rpartition(".")[2].casefold() in _SUFFIXES
        and not name.rpartition("/")[2].startswith(".")
    ]
    strangers = []
    for name in pictures:
        if folder / name in taken:
            continue
        stem = name.rpartition(".")[0]
        stem, draw, strategy = _placed(stem, ids, stems, place)
        if stem not in stems:
            strangers.append(f"{folder}/{name}")
            continue
        declared = said.get(stems[stem])
        if declared is not None and declared.status is EditStatus.UNSUPPORTED:
            raise CrevalError(
                f"{folder} holds {name}, and says that it has none: {declared.reason}. Take one of "
                "them away."
            )
        draws = found.setdefault(strategy, {}).setdefault(stems[stem], {})
        if draw in draws:
            raise CrevalError(
                f"{folder} holds two pictures for sample {stems[stem]!r}: "
                f"{draws[draw].relative_to(folder)} and {name}. Keep one of them."
            )
        draws[draw] = folder / name
    if not found:
        if not may_be_empty:
            _complain(folder, names, pictures, stems)
        found[""] = {}
    unmatched += strangers
    return found


def _placed(stem: str, ids: Container[str], stems: Container[str], place: Place | None) -> Placed:
    """The edit that a file's path stands for, without its suffix; perhaps of no sample."""
    exact = Placed(*read_name(stem, ids))
    if exact.sample in ids:
        return exact
    placed = place(stem) if place is not None else None
    return placed or Placed(*read_name(stem, stems))


def _complain(folder: Path, names: list[str], pictures: list[str], stems: dict[str, str]) -> None:
    example = next(iter(stems), "SAMPLE")
    if pictures:
        raise CrevalError(
            f"no picture in {folder} has the name of a sample: it holds {pictures[0]}, a sample "
            f"is called {example!r}. Are these edits of this benchmark, and is this the model's "
            "folder rather than one inside it?"
        )
    inside = [name for name in names if (folder / name).is_dir() and not name.startswith(".")]
    if inside:
        shown = " ".join(f"{folder}/{name}" for name in inside[:3])
        raise CrevalError(
            f"{folder} holds no pictures, but folders. Give each system's own: --edits {shown}"
        )
    raise CrevalError(f"{folder} holds no pictures, such as {example}.png.")
