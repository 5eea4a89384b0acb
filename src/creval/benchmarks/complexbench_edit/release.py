"""Reader of ComplexBench-Edit's released instructions.

Layout: `data/instructions/SUBSET/final_update_v2.json` maps a key to `img_path`, `new_ins` (one line per step) and
`edit pair` (edit type, old and new object of each step). Source images are named `KEY-IMG_PATH` and can be anywhere in
the folder. A sample's id is `SUBSET/KEY`, because five keys occur in two subsets. The objects' boxes come from `bbox`
in the edit pairs, or from COCO annotations in the folder. `creval build` adds `made` (provenance) and, after a review,
`dropped`.
"""

from __future__ import annotations

import filecmp
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complexbench_edit.coco_boxes import (
    AnnotatedObject,
    boxes_for_name,
    find_annotation_files,
    read_objects_by_id,
)
from creval.core.benchmark import Dataset, EditFile, IssueList
from creval.core.errors import CrevalError
from creval.core.files import clean_text, coerce_text, dig, is_dropped, list_files, read_json, replace_lone_surrogates
from creval.core.images import ImageError, read_image_size
from creval.core.release_source import GITHUB, ReleaseSource
from creval.core.sample import Box, InstructionStep, Sample
from creval.core.schema import Level

# In the paper's order, with the paper's names.
SUBSETS = {
    "COCO-three-obj": "Parallel, Obj.",
    "COCO-two-obj-one-attr": "Parallel, Obj.-At.",
    "COCO-obj-attr-global": "Parallel, Obj.-At.-G.",
    "two-chain": "Two-chain",
    "three-chain": "Three-chain",
}
PARALLEL_ANY = "parallel-any"
"""An optional subset of built benchmarks, which the release does not have: three parallel steps of any types."""
ALL_SUBSETS = (*SUBSETS, PARALLEL_ANY)
GLOBAL_SUBSET = "COCO-obj-attr-global"
"""The subset in which a step changes the whole image."""
# The steps that each step depends on, in the subsets with dependencies.
STEP_DEPENDENCIES: dict[str, tuple[tuple[int, ...], ...]] = {
    "two-chain": ((), (0,), ()),
    "three-chain": ((), (0,), (1,)),
}
EDIT_TYPES = (
    "add object",
    "change object",
    "delete object",
    "color",
    "pose",
    "material",
    "content",
    "text",
    "change background",
    "change style",
)
EDIT_TYPE_CATEGORIES = {"object": EDIT_TYPES[:3], "attribute": EDIT_TYPES[3:8], "global": EDIT_TYPES[8:]}
"""The paper's levels of edit types."""
LEVELS = (Level("overall", "overall", ("overall",), mean_of="subset"), Level("subset", "subsets", tuple(SUBSETS)))
_INSTRUCTIONS_FILE = "final_update_v2.json"
_IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
_RESULT_PATH = re.compile(rf"(?:.*/)?({'|'.join(ALL_SUBSETS)})/testResults_([0-9]+)/([^/]+)/\3_1")
SOURCE = ReleaseSource(
    kind=GITHUB,
    repository="llllly26/ComplexBench-Edit",
    revisions=("820ce27d6f4f70bfa6b0356203b5bc1df21d7114",),
    files=("data/instructions/*",),
    sha256={
        f"data/instructions/{subset}/{_INSTRUCTIONS_FILE}": digest
        for subset, digest in {
            "COCO-three-obj": "c0ecb43dbc0b5864e95b2c35eced65fbd12c490369e2fbd68782d63121f716b5",
            "COCO-two-obj-one-attr": "9ca0f3405ea1998a21b1ebcd7b23ac4bdb21e426fa058d174447bff35fe20a45",
            "COCO-obj-attr-global": "dc6725f546c0a55af7a60655de6dd002922fdaaeca0ff2f119a9dac1065d8e33",
            "two-chain": "5a2ca28373fa4508ba5175ef49deb1b050674fc76b3f02110c8a0b4ac1b69a72",
            "three-chain": "29c7e818eb52e56927d90dd663644d5dd6a458c754bfb3961a079eb1482fcc1e",
        }.items()
    },
    license="MIT",
    size="0.5 MB of instructions",
    contents="the folder data/instructions",
    also="source images: from the folder on Google Drive that the repository's README names, into "
    "data/more-object-no-multi3",
    layout="data/instructions/SUBSET/final_update_v2.json, source images KEY-IMG_PATH anywhere inside",
)
"""The authors' release."""


def find_complexbench_folder(path: Path) -> Path | None:
    """Return `path` or its parent, whichever contains the subsets' instructions. None if neither does."""
    for folder in (path, path.parent):
        if any(_instructions_file(folder, subset) for subset in ALL_SUBSETS):
            return folder
    return None


def _instructions_file(folder: Path, subset: str) -> Path | None:
    """Return the file of a subset, preferring the one to which the authors' script added boxes, or None."""
    paths = (
        inside / "instructions" / subset / f"{start}{_INSTRUCTIONS_FILE}"
        for inside in (folder, folder / "data")
        for start in ("updated_", "")
    )
    return next((path for path in paths if path.is_file()), None)


def load_complexbench_dataset(folder: Path) -> Dataset:
    """Load the samples of all available subsets. Problems become issues of the dataset."""
    folder = folder.resolve()
    findings = IssueList()
    samples: list[Sample] = []
    images = _find_images(folder)
    own = _instructions_file(folder, PARALLEL_ANY) is not None
    entries = {subset: _read_entries(folder, subset, findings) for subset in (ALL_SUBSETS if own else SUBSETS)}
    files = find_annotation_files(folder)
    numbers = {_coco_id(entry) for found in entries.values() for entry in found.values()}
    objects = read_objects_by_id(files, numbers) if files else {}
    for subset, found in entries.items():
        for key, entry in found.items():
            if is_dropped(entry):
                continue  # dropped in a review
            annotated = objects.get(_coco_id(entry), ())
            sample = _parse_sample(subset, replace_lone_surrogates(key), entry, folder, images, annotated, findings)
            if sample is not None:
                samples.append(sample)
    if not samples:
        raise CrevalError(f"{folder} contains no usable sample.")
    return Dataset(
        "complexbench-edit",
        folder,
        tuple(samples),
        issues=tuple(findings),
        authored_by=_find_writer(entries),
        levels=(LEVELS[0], Level("subset", "subsets", ALL_SUBSETS)) if own else LEVELS,
        match_edit_file=match_complexbench_edit_file,
        operation_categories=EDIT_TYPE_CATEGORIES,
    )


def _read_entries(folder: Path, subset: str, issues: IssueList) -> dict[str, Any]:
    path = _instructions_file(folder, subset)
    if path is None:
        issues.add("no subset", subset, "the subset is missing; the overall mean is over the other subsets")
        return {}
    entries = read_json(path)
    if not isinstance(entries, dict):
        raise CrevalError(f"{path} must contain an object that maps keys to samples.")
    return entries


def _find_writer(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the model that wrote the instructions, by its role; empty unless `creval build` recorded exactly one."""
    made = (dig(entry, "made", "writer") for found in entries.values() for entry in found.values())
    writers = set(map(coerce_text, made)) - {""}
    return {"writer": writers.pop()} if len(writers) == 1 else {}


def match_complexbench_edit_file(path: str) -> EditFile | None:
    """Return the sample and the draw of an edit in the authors' layout of results, or None.

    >>> match_complexbench_edit_file("two-chain/testResults_42/198641/198641_1")
    EditFile(sample='two-chain/198641', draw=42, strategy='')
    """
    match = _RESULT_PATH.fullmatch(path)
    return EditFile(f"{match[1]}/{match[3]}", int(match[2])) if match else None


def _find_images(folder: Path) -> dict[str, list[Path]]:
    """Return the images in a folder by file name. Of files with the same name and content, only one is listed."""
    found: dict[str, list[Path]] = {}
    for name in list_files(folder):
        path = folder / name
        if path.suffix.casefold() in _IMAGE_SUFFIXES:
            same_name = found.setdefault(path.name, [])
            if not any(filecmp.cmp(path, other, shallow=False) for other in same_name):
                same_name.append(path)
    return found


def _coco_id(entry: Any) -> int:
    """Return the COCO id of an image: its file name as a number, or -1 if it is none."""
    stem = Path(coerce_text(dig(entry, "img_path"))).stem
    return int(stem) if re.fullmatch("[0-9]{1,12}", stem) else -1


def _object_name(pair: Any, name: str) -> str:
    text = clean_text(dig(pair, name))
    return "" if text.casefold() == "nothing" else text


def _parse_box(given: Any) -> tuple[Box, ...]:
    """Return a box as the authors' script writes it. Texts such as `not detected` are ignored."""
    if not isinstance(given, list) or len(given) != 4:
        return ()
    try:
        left, top, right, bottom = map(float, given)
    except (TypeError, ValueError):
        return ()
    return ((left, top, right, bottom),) if math.isfinite(left + top + right + bottom) else ()


def _image_size(source: Path) -> tuple[int, int]:
    try:
        return read_image_size(source)
    except (ImageError, OSError):  # reported when the image is used
        return 0, 0


def _parse_sample(
    subset: str,
    key: str,
    entry: Any,
    folder: Path,
    images: Mapping[str, Sequence[Path]],
    annotated: Sequence[AnnotatedObject],
    issues: IssueList,
) -> Sample | None:
    where = f"{subset}/{key}"
    if not isinstance(entry, dict) or not isinstance(entry.get("edit pair"), list):
        issues.add("broken entry", where, "the entry has no list `edit pair`; left out")
        return None
    lines = [line.strip() for line in coerce_text(entry.get("new_ins")).splitlines() if line.strip()]
    pairs = entry["edit pair"]
    if not lines or len(lines) != len(pairs):
        note = f"{len(lines)} instructions and {len(pairs)} edit types; left out"
        issues.add("steps that do not match", where, note)
        return None
    needs = STEP_DEPENDENCIES.get(subset, ())
    if needs and len(lines) != len(needs):
        note = f"a chain of {len(lines)} steps, but {len(needs)} are expected; left out"
        issues.add("steps that do not match", where, note)
        return None
    name = coerce_text(entry.get("img_path")).strip()
    candidates = images.get(f"{key}-{name}") or images.get(name) or ()
    if len(candidates) > 1:
        shown = " and ".join(str(path.relative_to(folder)) for path in candidates[:2])
        note = f"the source is ambiguous: {shown}; keep one of them in the folder"
        issues.add("several images of one name", where, note)
    # If there is no image, use the expected path: the missing file is reported when it is used.
    source = candidates[0] if len(candidates) == 1 else folder / f"{key}-{name}"
    size = _image_size(source) if annotated else (0, 0)
    steps = []
    for at, (line, pair) in enumerate(zip(lines, pairs, strict=True)):
        kind = coerce_text(dig(pair, "edit_type")).strip()
        if kind == "chain two":
            issues.add("edit type", where, "", f"step {at + 1}", kind, "add object")
            kind = "add object"
        elif kind not in EDIT_TYPES:
            note = f"the edit type {kind!r} is not one of the ten; the step counts in no edit type"
            issues.add("unknown edit type", where, note, f"step {at + 1}")
        old, new = (_object_name(pair, name) for name in ("ori obj", "new_obj"))
        boxes = _parse_box(dig(pair, "bbox"))
        boxes = boxes or (boxes_for_name(annotated, old, size) if any(size) else ())
        steps.append(InstructionStep(line, kind, needs[at] if needs else (), boxes, old, new))
    return Sample(where, "\n".join(lines), source, {"subset": subset}, steps=tuple(steps))
