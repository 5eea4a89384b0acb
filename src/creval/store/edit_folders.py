"""The edits in folders: a folder's name is the model's, a file's stem the sample's."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple

from creval.core.benchmark import EditFile
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.filenames import parse_edit_filename
from creval.core.files import list_files, replace_lone_surrogates
from creval.core.images import check_header, missing_image_reason
from creval.core.sample import Sample
from creval.store.connection import UnusableDatabaseError
from creval.store.lineage import with_ancestors
from creval.store.lookup import RunLookup
from creval.store.provenance import CallCosts, EditProvenance, read_call_costs

# HEIC cannot be opened, but then the image is there and gets a sentence.
_MAX_FOLDERS = 50  # folders in a hint
_IMAGE_SUFFIXES = frozenset(
    "jpg jpeg jfif png webp avif gif bmp tif tiff jp2 ppm heic heif".split()  # noqa: SIM905
)
EDITOR_KEY = "editor"
"""The entry in a folder's manifest that says who edited."""
# Whether there could be an image is for the benchmark's own to say.
_UNCONFIRMED_STATUSES = frozenset({EditStatus.ABSENT, EditStatus.UNSUPPORTED})
SELECTION_FOLDER, PLANS_FOLDER = ".judged", ".plans"
"""The folders inside it of the runs that picked, and of what a planner wrote."""


@dataclass
class FoundEdits:
    """The edits of models by sample and draw, the files that match no sample, and who made the edits, if known.

    A sample without a file has an edit that is absent, refused or failed.
    """

    models: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    edits: list[Edit] = field(default_factory=list)
    unmatched_files: list[str] = field(default_factory=list)
    provenance: dict[str, EditProvenance] = field(default_factory=dict)


EditFileMatcher = Callable[[str], EditFile | None]
"""The edit that a file's path, without its suffix, stands for."""
ModelOutputReader = Callable[[Path, Sequence[Sample]], Mapping[str, Edit]]
"""What a folder says of its edits, by sample: where their images are, or why there is none."""
ImagesBySample = dict[str, dict[int, Path]]
"""A model's images by sample and draw."""


def find_edits(
    folders: Sequence[str | Path],
    samples: Sequence[Sample],
    match_edit_file: EditFileMatcher | None = None,
    read_model_outputs: ModelOutputReader | None = None,
) -> FoundEdits:
    """Return the edits in these folders, each given as `DIR` or `NAME=DIR`.

    A file's stem is the sample's id, with its path in the folder where ids have slashes, or its
    source's stem; an id comes before all else that a name could stand for. `match_edit_file` finds files in a
    layout of the benchmark's own, and what the folder has `read_model_outputs` comes before names. Edits by a
    strategy are a model of their own, such as `OmniGen+sequential`. A link may lead into any of the folders, or to a
    sample's source, but nowhere else: its image would be sent away.
    """
    if not folders:
        raise CrevalError("give the folders of edited pictures: `edits` outputs/ModelA ...")
    found = FoundEdits()
    stems, ids = _samples_by_stem(samples), {sample.id for sample in samples}
    places: dict[str, Path] = {}
    lacking = cache(partial(missing_image_reason, check=check_header))  # the same for all models
    for given in folders:
        name, folder = _parse_folder_argument(given)
        if name in places:
            raise CrevalError(
                f"{places[name]} and {folder} are both called {name!r}; give one of them another "
                f"name: `edits` {name}-2={folder}"
            )
        places[name] = folder
        found.folders += (folder,)
        said = {} if read_model_outputs is None else read_model_outputs(folder, samples)
        known = read_folder_metadata(folder, name, samples)
        known = known._replace(edits={**known.edits, **said})
        inside = _match_images(
            folder,
            stems,
            ids,
            match_edit_file,
            said,
            found.unmatched_files,
            may_be_empty=bool(known.edits or known.other_draws),
        )
        for strategy, there in sorted(inside.items()):
            model = f"{name}+{strategy}" if strategy else name
            if model in found.models:
                raise CrevalError(f"{model!r} is there twice; give {folder} another name.")
            found.models += (model,)
            if not strategy and known.provenance is not None:
                found.provenance[model] = known.provenance
            mine = FolderMetadata() if strategy else known
            found.edits += _build_edits(model, samples, there, mine, lacking)
    _refuse_links_outside(found, samples)
    return found


def _refuse_links_outside(found: FoundEdits, samples: Sequence[Sample]) -> None:
    """Refuse images that are links, or in linked folders, to elsewhere than the folders and the samples' sources."""
    roots = tuple(os.path.join(os.path.realpath(folder), "") for folder in found.folders)  # noqa: PTH118
    sources = {sample.id: sample.source for sample in samples}
    source_of = cache(lambda sample: Path(os.path.realpath(sources[sample] or os.devnull)))
    inside = cache(lambda folder: os.path.join(os.path.realpath(folder), "").startswith(roots))  # noqa: PTH118
    for edit in found.edits:
        image = edit.image
        if image is None or (inside(image.parent) and not image.is_symlink()):
            continue
        target = Path(os.path.realpath(image))
        if not f"{target}".startswith(roots) and target != source_of(edit.key.sample):
            raise CrevalError(
                f"{image} is a link to {target}, outside of the folders given as `edits`. Copy such images into "
                f"the folder, or give the folder that holds them: `edits` {edit.key.model}={target.parent}"
            )


def _build_edits(
    model: str,
    samples: Sequence[Sample],
    images: ImagesBySample,
    metadata: FolderMetadata,
    image_problem: Callable[[tuple[Path, ...]], str],
) -> Iterator[Edit]:
    """Return each sample's edits, with what is known of them; `image_problem` says what is wrong with its inputs."""
    reason = "there is no picture of it in the folder"
    for sample in samples:
        there, known = images.get(sample.id, {}), metadata.draws(sample.id)
        for draw, path in sorted(there.items()):
            # Whoever opens the run later may stand in another folder.
            edit = Edit(EditKey(model, sample.id, draw), EditStatus.DONE, path.absolute())
            if (told := known.get(draw)) is not None:
                edit = edit._replace(parents=told.parents, metadata=told.metadata, ancestors=told.ancestors)
            yield edit
        lost = sorted(known.keys() - there.keys()) if metadata.other_draws else []
        for draw in lost or [0] * (not there):
            told = known.get(draw)
            edit = Edit(EditKey(model, sample.id, draw), EditStatus.ABSENT, reason=reason)
            if told is not None and told.status is not EditStatus.DONE:
                edit = told._replace(key=edit.key, image=None)
            if edit.status in _UNCONFIRMED_STATUSES and (lack := image_problem(sample.input_images)):
                edit = edit._replace(status=EditStatus.IMPOSSIBLE, reason=lack)
            yield edit


class FolderMetadata(NamedTuple):
    """What is known of the edits in a folder: how each sample's came about or why it is missing, and who made them.

    `other_draws` are by sample and draw, where each sample was edited several times.
    """

    edits: Mapping[str, Edit] = MappingProxyType({})
    provenance: EditProvenance | None = None
    other_draws: Mapping[str, Mapping[int, Edit]] = MappingProxyType({})

    def draws(self, sample: str) -> dict[int, Edit]:
        """Return what is known of a sample's edits, by draw."""
        first = {0: self.edits[sample]} if sample in self.edits else {}
        return {**first, **self.other_draws.get(sample, {})}


def read_folder_metadata(folder: Path, model: str, samples: Sequence[Sample]) -> FolderMetadata:
    """Return what is known of a model's edits in a folder; nothing if `creval edit` did not make them."""
    try:
        opened = RunLookup(folder)
    except UnusableDatabaseError:
        raise
    except CrevalError:  # there is no database, nothing was finished yet, or it is somebody else's
        return FolderMetadata()
    with opened as run:
        if EDITOR_KEY not in run.manifest:
            return FolderMetadata()
        edits = {edit.key: edit for edit in run.all_edits()}
        manifest = run.manifest
    names = {sample.id for sample in samples}
    several = manifest.get("draws", 1) > 1  # otherwise other draws are candidates
    whole = [edit for key, edit in edits.items() if bool(key.draw) == several and key.sample in names]
    picking = sum((read_call_costs(part) for part in sorted((folder / SELECTION_FOLDER).glob("*/run"))), CallCosts())
    maker = EditProvenance(
        str(manifest[EDITOR_KEY]),
        str(manifest.get("strategy", "direct")),
        sum(edit.image is not None for edit in whole),
        read_call_costs(folder),
        picking,
        read_call_costs(folder / PLANS_FOLDER),
        str(manifest.get("judge", "")),
    )
    found: dict[str, dict[int, Edit]] = {}
    for edit in whole:
        found.setdefault(edit.key.sample, {})[edit.key.draw] = with_ancestors(edit, edits, folder, model)
    if several:
        return FolderMetadata({}, maker, found)
    return FolderMetadata({sample: draws[0] for sample, draws in found.items()}, maker)


def _parse_folder_argument(given: str | Path) -> tuple[str, Path]:
    folder = Path(given)
    name = ""
    if not folder.exists() and "=" in str(given):
        name, _, rest = str(given).partition("=")
        folder = Path(rest)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise CrevalError(f"`edits` {folder} {what}; give a folder of edited pictures.")
    name = replace_lone_surrogates(name.strip() or folder.resolve().name)
    if not name:
        raise CrevalError(f"`edits` {folder} has no name; give NAME={folder}.")
    return name, folder


def _samples_by_stem(samples: Sequence[Sample]) -> dict[str, str]:
    """Return the sample that a stem stands for: its id, or its source's stem if that is nobody else's."""
    sources: dict[str, set[str]] = {}
    for sample in samples:
        if sample.source is not None:
            sources.setdefault(sample.source.stem, set()).add(sample.id)
        # The last part of an id will do where it is nobody else's.
        sources.setdefault(sample.id.rpartition("/")[2], set()).add(sample.id)
    stems = {stem: min(ids) for stem, ids in sources.items() if len(ids) == 1}
    return stems | {sample.id: sample.id for sample in samples}


def _match_images(
    folder: Path,
    stems: dict[str, str],
    ids: Container[str],
    match_edit_file: EditFileMatcher | None,
    declared_edits: Mapping[str, Edit],
    unmatched: list[str],
    *,
    may_be_empty: bool,
) -> dict[str, ImagesBySample]:
    """Return the images in a folder by strategy, as far as they belong to a sample."""
    listed = {identity: edit.image for identity, edit in declared_edits.items() if edit.image is not None}
    found: dict[str, ImagesBySample] = {}
    for identity, path in listed.items():
        found.setdefault("", {})[identity] = {0: path}
    taken = set(listed.values())
    names = sorted(os.listdir(folder))  # noqa: PTH208 (names are all that is needed)
    deep = match_edit_file is not None or any("/" in stem for stem in stems)
    images = [
        name
        for name in (list_files(folder) if deep else names)
        if name.rpartition(".")[2].casefold() in _IMAGE_SUFFIXES and not name.rpartition("/")[2].startswith(".")
    ]
    strangers = []
    for name in images:
        if folder / name in taken:
            continue
        stem = name.rpartition(".")[0]
        stem, draw, strategy = _match_stem(stem, ids, stems, match_edit_file)
        if stem not in stems:
            strangers.append(f"{folder}/{name}")
            continue
        declared = declared_edits.get(stems[stem])
        if declared is not None and declared.status is EditStatus.UNSUPPORTED:
            raise CrevalError(
                f"{folder} holds {name}, and says that it has none: {declared.reason}. Take one of them away."
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
            _raise_no_match(folder, names, images, stems)
        found[""] = {}
    unmatched += strangers
    return found


def _match_stem(
    stem: str, ids: Container[str], stems: Container[str], match_edit_file: EditFileMatcher | None
) -> EditFile:
    """Return the edit that a file's path stands for, without its suffix; perhaps of no sample."""
    exact = EditFile(*parse_edit_filename(stem, ids))
    if exact.sample in ids:
        return exact
    placed = match_edit_file(stem) if match_edit_file is not None else None
    return placed or EditFile(*parse_edit_filename(stem, stems))


def _raise_no_match(folder: Path, names: list[str], images: list[str], stems: dict[str, str]) -> None:
    example = next(iter(stems), "SAMPLE")
    if images:
        raise CrevalError(
            f"no picture in {folder} has the name of a sample: it holds {images[0]}, a sample "
            f"is called {example!r}. Are these edits of this benchmark, and is this the model's "
            "folder rather than one inside it?"
        )
    inside = [name for name in names if (folder / name).is_dir() and not name.startswith(".")]
    if inside:
        shown = " ".join(quote(f"{folder}/{name}") for name in inside[:_MAX_FOLDERS])
        more = f" and {len(inside) - _MAX_FOLDERS} more" if len(inside) > _MAX_FOLDERS else ""
        raise CrevalError(f"{folder} holds no images, but folders. Give each model's own: `edits` {shown}{more}")
    raise CrevalError(f"{folder} holds no pictures, such as {example}.png.")
