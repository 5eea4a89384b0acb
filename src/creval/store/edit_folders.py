"""Reading of edits from folders. The folder's name is the model, and the file's stem is the sample."""

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
from creval.core.rehearsal import REHEARSAL_SUFFIX, has_rehearsal
from creval.core.sample import Sample
from creval.store.connection import UnusableDatabaseError
from creval.store.lineage import with_ancestors
from creval.store.lookup import RunLookup
from creval.store.provenance import CallCosts, EditProvenance, read_call_costs

_MAX_FOLDERS = 50  # listed in an error
# HEIC cannot be opened, but listing it gives a clear error instead of a missing edit.
_IMAGE_SUFFIXES = frozenset(
    "jpg jpeg jfif png webp avif gif bmp tif tiff jp2 ppm heic heif".split()  # noqa: SIM905
)
EDITOR_KEY = "editor"
"""Manifest key of the editor that created a folder of edits."""
# These statuses become `impossible` if an input image of the benchmark cannot be opened.
_UNCONFIRMED_STATUSES = frozenset({EditStatus.ABSENT, EditStatus.UNSUPPORTED})
SELECTION_FOLDER, PLANS_FOLDER = ".judged", ".plans"
"""Subfolders of a folder of edits: the runs that picked candidates, and the replies of the planner."""


@dataclass
class FoundEdits:
    """Edits found in folders, files that match no sample, and each model's provenance if known.

    A sample without a file has an edit with a status such as absent, refused or failed.
    """

    models: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    edits: list[Edit] = field(default_factory=list)
    unmatched_files: list[str] = field(default_factory=list)
    provenance: dict[str, EditProvenance] = field(default_factory=dict)


EditFileMatcher = Callable[[str], EditFile | None]
"""Function from a file's path without suffix to its edit."""
ModelOutputReader = Callable[[Path, Sequence[Sample]], Mapping[str, Edit]]
"""Function that reads a folder's own metadata: for each sample, the edit with its image or the reason for none."""
ImagesBySample = dict[str, dict[int, Path]]
"""A model's images, by sample and draw."""


def find_edits(
    folders: Sequence[str | Path],
    samples: Sequence[Sample],
    match_edit_file: EditFileMatcher | None = None,
    read_model_outputs: ModelOutputReader | None = None,
) -> FoundEdits:
    """Return the edits in these folders, each given as `DIR` or `NAME=DIR`.

    A file is assigned to a sample by the first of these that applies:

    1. `read_model_outputs`, the folder's own metadata.
    2. The sample's id as the file's stem (for ids with slashes, as the path inside the folder).
    3. `match_edit_file`, for a benchmark with its own layout.
    4. The stem of the sample's source.

    Edits by a strategy form a separate model, such as `OmniGen+sequential`. Edits made by the
    rehearsal server are marked in the model's name (`OmniGen+rehearsal`), and cannot be combined with other edits.

    A link may only point into one of the folders or to the sample's source, because images are sent to judges.
    """
    if not folders:
        raise CrevalError("give the folders of edited images: `edits` outputs/ModelA ...")
    found = FoundEdits()
    stems, ids = _samples_by_stem(samples), {sample.id for sample in samples}
    places: dict[str, Path] = {}
    rehearsals: list[bool] = []
    lacking = cache(partial(missing_image_reason, check=check_header))  # the same for all models
    for given in folders:
        name, folder = _parse_folder_argument(given)
        if name in places:
            raise CrevalError(
                f"{places[name]} and {folder} have the same name {name!r}. Give one of them another "
                f"name: `edits` {name}-2={folder}"
            )
        places[name] = folder
        found.folders += (folder,)
        said = {} if read_model_outputs is None else read_model_outputs(folder, samples)
        known = read_folder_metadata(folder, name, samples)
        known = known._replace(edits={**known.edits, **said})
        rehearsals.append(known.is_rehearsal)
        name = f"{name}{REHEARSAL_SUFFIX}" if known.is_rehearsal else name
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
                raise CrevalError(f"there are two models {model!r}. Give {folder} another name.")
            found.models += (model,)
            if not strategy and known.provenance is not None:
                found.provenance[model] = known.provenance
            mine = FolderMetadata() if strategy else known
            found.edits += _build_edits(model, samples, there, mine, lacking)
    if len(set(rehearsals)) > 1:
        folder = found.folders[rehearsals.index(True)]
        raise CrevalError(
            f"`edits`: {folder} was created by creval's rehearsal server. Give rehearsed edits in a separate command, "
            "without those of real models."
        )
    _refuse_links_outside(found, samples)
    return found


def _refuse_links_outside(found: FoundEdits, samples: Sequence[Sample]) -> None:
    """Raise `CrevalError` if an image is a link, or in a linked folder, that points outside of the given folders.

    Links to the sample's source are allowed.
    """
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
                f"the folder, or give the folder that contains them: `edits` {edit.key.model}={target.parent}"
            )


def _build_edits(
    model: str,
    samples: Sequence[Sample],
    images: ImagesBySample,
    metadata: FolderMetadata,
    image_problem: Callable[[tuple[Path, ...]], str],
) -> Iterator[Edit]:
    """Yield each sample's edits with their metadata.

    `image_problem` returns the reason why a sample's input images cannot be used, or an empty string.
    """
    reason = "the folder has no image for it"
    for sample in samples:
        there, known = images.get(sample.id, {}), metadata.draws(sample.id)
        for draw, path in sorted(there.items()):
            # The run may be opened later from another working directory.
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
    """Stored metadata of a folder of edits: one edit per sample, and the model's provenance.

    `other_draws` has the edits by sample and draw if each sample was edited several times (a draw is one such edit).
    """

    edits: Mapping[str, Edit] = MappingProxyType({})
    provenance: EditProvenance | None = None
    other_draws: Mapping[str, Mapping[int, Edit]] = MappingProxyType({})

    @property
    def is_rehearsal(self) -> bool:
        """True if the edits were made by the rehearsal server."""
        return self.provenance is not None and has_rehearsal(self.provenance.editor)

    def draws(self, sample: str) -> dict[int, Edit]:
        """Return a sample's stored edits by draw."""
        first = {0: self.edits[sample]} if sample in self.edits else {}
        return {**first, **self.other_draws.get(sample, {})}


def read_folder_metadata(folder: Path, model: str, samples: Sequence[Sample]) -> FolderMetadata:
    """Return the stored metadata of a model's edits; empty if the folder was not created by `creval edit`."""
    try:
        opened = RunLookup(folder)
    except UnusableDatabaseError:
        raise
    except CrevalError:  # no database, an unfinished one, or one of another program
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
    model = f"{model}{REHEARSAL_SUFFIX}" if has_rehearsal(str(manifest[EDITOR_KEY])) else model
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
        raise CrevalError(f"`edits` {folder} {what}. Give a folder of edited images.")
    name = replace_lone_surrogates(name.strip() or folder.resolve().name)
    if not name:
        raise CrevalError(f"`edits` {folder} has no name. Give NAME={folder}.")
    return name, folder


def _samples_by_stem(samples: Sequence[Sample]) -> dict[str, str]:
    """Map file stems to sample ids.

    The stems are the ids themselves and, if they belong to one sample only, the last parts of ids and the stems of
    sources.
    """
    sources: dict[str, set[str]] = {}
    for sample in samples:
        if sample.source is not None:
            sources.setdefault(sample.source.stem, set()).add(sample.id)
        # The last part of an id is enough if it is unique.
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
    """Return the images in a folder by strategy, and add the files that match no sample to `unmatched`."""
    listed = {identity: edit.image for identity, edit in declared_edits.items() if edit.image is not None}
    found: dict[str, ImagesBySample] = {}
    for identity, path in listed.items():
        found.setdefault("", {})[identity] = {0: path}
    taken = set(listed.values())
    names = sorted(os.listdir(folder))  # noqa: PTH208 (only the names are needed)
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
                f"{folder} contains {name}, but its metadata declares no image for this sample: {declared.reason}. "
                "Remove the image, or this entry of the metadata."
            )
        draws = found.setdefault(strategy, {}).setdefault(stems[stem], {})
        if draw in draws:
            raise CrevalError(
                f"{folder} contains two images for sample {stems[stem]!r}: "
                f"{draws[draw].relative_to(folder)} and {name}. Remove one of the two."
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
    """Return the edit that a file's path without suffix stands for. Its sample need not be in the benchmark."""
    exact = EditFile(*parse_edit_filename(stem, ids))
    if exact.sample in ids:
        return exact
    placed = match_edit_file(stem) if match_edit_file is not None else None
    return placed or EditFile(*parse_edit_filename(stem, stems))


def _raise_no_match(folder: Path, names: list[str], images: list[str], stems: dict[str, str]) -> None:
    example = next(iter(stems), "SAMPLE")
    if images:
        raise CrevalError(
            f"no image in {folder} has the name of a sample: it contains {images[0]}, while a sample "
            f"has the id {example!r}. Check that the edits are of this benchmark, and that this is the model's "
            "folder, not a subfolder."
        )
    inside = [name for name in names if (folder / name).is_dir() and not name.startswith(".")]
    if inside:
        shown = " ".join(quote(f"{folder}/{name}") for name in inside[:_MAX_FOLDERS])
        more = f" and {len(inside) - _MAX_FOLDERS} more" if len(inside) > _MAX_FOLDERS else ""
        raise CrevalError(f"{folder} contains only folders, no images. Give one per model: `edits` {shown}{more}")
    raise CrevalError(f"{folder} contains no images, such as {example}.png.")
