"""Reader of Complex-Edit's dataset.

The dataset is a folder of Parquet files, a folder saved by the library `datasets`, or the rows that `creval build`
writes (module `rows`). A row has `image` and `edit`, which contains the `sequence` of atomic operations and the
`compound` instructions, one per complexity. Splits are `test_real` and `test_syn`. A sample is one compound instruction
of one row. Its id is `SPLIT/C3/0007`, where 7 is the number of the row, counted from 0.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from creval.benchmarks.complex_edit.atomic_operations import CATEGORIES, match_operation
from creval.benchmarks.complex_edit.rows import ComplexEditRow, find_row_files, has_row_files, read_row_files
from creval.core.benchmark import Dataset, EditFile, IssueList
from creval.core.cache import cached_folder
from creval.core.errors import CrevalError
from creval.core.filenames import parse_edit_filename
from creval.core.files import clean_text, is_dropped, is_file, parse_json, read_bytes, read_json
from creval.core.release_source import HUB, ReleaseSource
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import OVERALL, Level

LOG = logging.getLogger(__name__)
SPLITS = ("test_real", "test_syn")
_COLUMNS = {"image", "edit"}
_SHARD = re.compile(r"(.+)-([0-9]{1,9})-of-([0-9]{1,9})")
_NAME = re.compile(r"\w[\w.-]*")
_ROWS_PER_READ = 64  # limits the number of images in memory
_SUFFIXES = {b"\xff\xd8\xff": ".jpg", b"\x89PNG": ".png", b"RIFF": ".webp"}
_SPLIT_ALIASES = {"real": "test_real", "syn": "test_syn", "synthetic": "test_syn"}
_STRATEGY_BY_FOLDER = {"direct": "", "sequential": "sequential"}
_COMPLEXITY = re.compile("C[0-9]+")
_NUMBER = re.compile(r"[0-9]+")
SOURCE = ReleaseSource(
    kind=HUB,
    repository="UCSC-VLAA/Complex-Edit",
    files=("*.parquet",),
    # The hub itself converts datasets of other formats to Parquet on the second branch.
    revisions=("main", "refs/convert/parquet"),
    contents="the Parquet files of the splits test_real and test_syn (also on its branch refs/convert/parquet)",
    layout="Parquet files such as data/test_real-00000-of-00001.parquet or default/test_real/0000.parquet",
)
"""The authors' release."""


def find_complex_edit_folder(path: Path) -> Path | None:
    """Return the folder if it contains a Complex-Edit dataset, or None."""
    if has_row_files(path):
        return path
    splits = _find_data_files(path)
    damaged = False
    for file in (file for files in splits.values() for file in files[:1]):
        try:
            if _column_names(file) >= _COLUMNS:
                return path
        except Exception:  # the file cannot be read, for any reason
            damaged = True
    # The split names match Complex-Edit's. `load` raises the error for the damaged files.
    return path if damaged and splits.keys() & set(SPLITS) else None


def load_complex_edit_dataset(folder: Path) -> Dataset:
    """Load the samples of all available splits. Problems become issues of the dataset."""
    folder = folder.resolve()
    findings = IssueList()
    samples: list[Sample] = []
    if has_row_files(folder):
        splits = {
            split: list(read_row_files(split, files, findings)) for split, files in find_row_files(folder).items()
        }
        writers = {row.writer for rows in splits.values() for row in rows if row.writer}
    else:
        splits, writers = _read_release(folder), {"gpt-4o"}
    for split, rows in splits.items():
        for row in rows:
            if row.source is None:
                findings.add("no image", f"{split}/{row.number:04d}", "the row is left out")
            else:
                samples += _iter_samples(split, row.number, row.edit, row.source, findings)
    if not samples:
        raise CrevalError(f"{folder} contains no usable sample.")
    most = max(len(sample.steps) for sample in samples)
    names = tuple(f"C{number}" for number in range(1, most + 1))
    levels = [OVERALL, Level("complexity", "complexity", names)]
    if most > 1:
        first, last = names[0], names[-1]
        ends = ("complexity", last, first)
        levels.append(Level("delta", "deltas", (f"{last}-{first}",), difference_of=ends))
    return Dataset(
        "complex-edit",
        folder,
        tuple(samples),
        subsets={
            split: frozenset(sample.id for sample in samples if sample.tags["split"] == split) for split in splits
        },
        issues=tuple(findings),
        authored_by={"writer": writers.pop()} if len(writers) == 1 else {},
        levels=tuple(levels),
        match_edit_file=partial(match_complex_edit_file, tuple(splits)),
        operation_categories=CATEGORIES,
    )


def _read_release(folder: Path) -> dict[str, list[ComplexEditRow]]:
    """Return the rows of a release by split. Their images are unpacked into the cache."""
    splits = _find_data_files(folder)
    for files in splits.values():
        _require_complete(files)
    images = cached_folder(
        "complex-edit", [file for files in splits.values() for file in files], partial(_unpack, splits, folder)
    )
    found = {}
    for split, files in splits.items():
        if not (images / split).is_dir():
            raise CrevalError(f"{images} is damaged. Delete it; it will be created again.")
        sources = {path.stem: path for path in (images / split).iterdir()}
        edits = (edit for file in files for edit in _read_column(file, "edit"))
        found[split] = [ComplexEditRow(number, sources.get(f"{number:04d}"), edit) for number, edit in enumerate(edits)]
    return found


def match_complex_edit_file(splits: Sequence[str], path: str) -> EditFile | None:
    """Return the sample, draw and strategy of an edit, from its path (split, mode, complexity and file name).

    >>> match_complex_edit_file(["test_real"], "sequential/C3/0007")
    EditFile(sample='test_real/C3/0007', draw=0, strategy='sequential')
    """
    *folders, stem = path.split("/")
    split = splits[0] if len(splits) == 1 else ""
    complexity = mode = ""
    for name in folders:
        named = _SPLIT_ALIASES.get(name, name)
        if named in splits:
            split = named
        elif named in SPLITS and len(splits) == 1:
            continue  # the benchmark's only split has another name
        elif name in _STRATEGY_BY_FOLDER:
            mode = _STRATEGY_BY_FOLDER[name]
        elif _COMPLEXITY.fullmatch(name) and not complexity:
            complexity = name
        else:
            return None
    number, draw = parse_edit_filename(stem)
    if not (_NUMBER.fullmatch(number) and split and complexity):
        return None
    return EditFile(f"{split}/{complexity}/{int(number):04d}", draw, mode)


def _find_data_files(folder: Path) -> dict[str, list[Path]]:
    """Return the data files of each split, with the paper's splits first."""
    found: dict[str, list[Path]] = {}
    for pattern in ("*.parquet", "*/*.parquet", "*/*/*.parquet", "data-*.arrow", "*/data-*.arrow"):
        for file in sorted(folder.glob(pattern)):
            # Skip files of an earlier save, which are not in the list.
            if is_file(file) and (file.suffix != ".arrow" or file.name in (_listed_files(file.parent) or {file.name})):
                found.setdefault(_split_name(file), []).append(file)
        if found:
            break
    return {split: found[split] for split in (*SPLITS, *sorted(found)) if split in found}


def _split_name(file: Path) -> str:
    match = _SHARD.fullmatch(file.stem)
    named: object = match[1] if match else "" if file.stem.isdigit() else file.stem
    if file.suffix == ".arrow":
        named = _read_state(file.parent).get("_split")
    return named if isinstance(named, str) and _NAME.fullmatch(named) else file.parent.name


def _read_state(folder: Path) -> dict[str, Any]:
    """Return the state that `datasets` saved in a folder, or an empty dict."""
    try:
        content = read_json(folder / "state.json")
    except CrevalError:
        return {}
    return content if isinstance(content, dict) else {}


def _listed_files(folder: Path) -> list[str]:
    files = _read_state(folder).get("_data_files")
    entries = files if isinstance(files, list) else []
    return [str(entry["filename"]) for entry in entries if isinstance(entry, dict) and "filename" in entry]


def _require_complete(files: Sequence[Path]) -> None:
    """Raise `CrevalError` if a file of a split is missing, because the rows after it would get wrong numbers."""
    first = files[0]
    present = {file.name for file in files if file.parent == first.parent}
    lost = [name for name in _listed_files(first.parent) if name not in present]
    parts = [match for file in files if (match := _SHARD.fullmatch(file.stem))]
    counts = {int(match[3]) for match in parts}
    if len(counts) > 1 or (parts and len(parts) < len(files)):
        raise CrevalError(
            f"{first.parent} contains files of one split from different saves, such as "
            f"{first.name} and {files[-1].name}. Keep only the files of one save."
        )
    for count in counts if not lost else ():
        numbers = {int(match[2]) for match in parts}
        first_lost = next((n for n in range(count) if n not in numbers), None)
        lost = [f"file {first_lost:05d}-of-{count:05d}"] if first_lost is not None else []
    if lost:
        raise CrevalError(f"{first.parent} is incomplete: {lost[0]} is missing.")


def _column_names(file: Path) -> set[str]:
    """Return the names of a file's columns."""
    import polars

    if file.suffix == ".parquet":
        return set(polars.scan_parquet(file, glob=False).collect_schema())
    # The columns of a stream are only known after reading it. `datasets` writes them into another file.
    content = read_json(file.parent / "dataset_info.json")
    return set(content["features"])


def _read_column(file: Path, name: str, start: int | None = None) -> list[Any]:
    """Return a column of a file. For a Parquet file, `start` selects a block of rows."""
    import polars

    try:
        if file.suffix == ".arrow":
            return polars.read_ipc_stream(file, columns=[name])[name].to_list()
        frame = polars.scan_parquet(file, glob=False).select(name)
        frame = frame if start is None else frame.slice(start, _ROWS_PER_READ)
        return frame.collect()[name].to_list()
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{file} cannot be read: {reason}.") from error


def _unpack(splits: Mapping[str, Sequence[Path]], folder: Path, into: Path) -> None:
    """Write the images to files `SPLIT/0007.jpg`, byte for byte."""
    LOG.info("unpacking the images of %s (only once)", folder)
    for split, files in splits.items():
        (into / split).mkdir()
        for row, image in enumerate(_iter_images(files)):
            content = _image_bytes(image, folder)
            if content:
                suffixes = (end for start, end in _SUFFIXES.items() if content.startswith(start))
                (into / split / f"{row:04d}{next(suffixes, '.img')}").write_bytes(content)


def _iter_images(files: Iterable[Path]) -> Iterator[Any]:
    """Yield the images in the files, with at most one file in memory."""
    for file in files:
        start = 0
        while rows := _read_column(file, "image", start):
            yield from rows
            start += _ROWS_PER_READ
            if file.suffix == ".arrow":
                break


def _image_bytes(image: Any, folder: Path) -> bytes:
    """Return the bytes of an image, from its row or from the file that the row names.

    The file must be in the folder.
    """
    if not isinstance(image, dict):
        return b""
    if isinstance(image.get("bytes"), bytes) and image["bytes"]:
        return bytes(image["bytes"])
    path = folder / str(image.get("path") or ".")
    if not (is_file(path) and path.resolve().is_relative_to(folder)):
        return b""
    try:
        return read_bytes(path)
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error


def _iter_samples(split: str, row: int, edit: Any, source: Path, issues: IssueList) -> Iterator[Sample]:
    if isinstance(edit, str):
        try:
            edit = parse_json(edit)
        except (ValueError, RecursionError):
            edit = None
    edit = edit if isinstance(edit, dict) else {}
    compound, sequence = (_as_records(edit.get(name)) for name in ("compound", "sequence"))
    steps = [_parse_step(entry) for entry in sequence]
    whole = next((at for at, entry in enumerate(sequence) if is_dropped(entry)), len(compound))
    if not compound:
        issues.add("no compound instruction", f"{split}/{row:04d}", "the row is left out")
    for number, entry in enumerate(compound[:whole], 1):
        if is_dropped(entry):
            continue
        name = f"{split}/C{number}/{row:04d}"
        instruction = _clean_field(entry, "compound_instruction")
        if not instruction:
            issues.add("no instruction", name, "the sample is left out")
        elif number > len(steps):
            note = f"it has {len(steps)} atomic operations, not {number}; the sample is left out"
            issues.add("steps that do not match", name, note)
        else:
            tags = {"complexity": f"C{number}", "split": split}
            yield Sample(name, instruction, source, tags, steps=tuple(steps[:number]))


def _parse_step(entry: Any) -> InstructionStep:
    name = _clean_field(entry, "name")
    return InstructionStep(_clean_field(entry, "instruction"), match_operation(name) or name)


def _as_records(given: Any) -> list[Any]:
    """Return a list of records. It may be given as a record of lists, as `datasets` stores it."""
    if isinstance(given, dict):
        columns = {name: column for name, column in given.items() if isinstance(column, list)}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=False)]
    return given if isinstance(given, list) else []


def _clean_field(entry: Any, name: str) -> str:
    return clean_text(entry.get(name) if isinstance(entry, dict) else entry)
