"""Sample tables for custom benchmarks, from a folder of images or from a table (`creval init samples`)."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from creval.benchmarks import check_title, write_title
from creval.benchmarks.own_samples import question_rows, sample_rows
from creval.benchmarks.own_samples.release import QUESTION_FILES, SAMPLE_FILES, find_table, read_own_samples
from creval.building.creval.sources import safe_filename
from creval.building.image_files import find_image_names
from creval.core.benchmark import DatasetIssue, IssueList
from creval.core.errors import CrevalError
from creval.core.files import atomic_copy, atomic_write, clean_text, filename_stem, replace_lone_surrogates
from creval.core.sample import Sample
from creval.core.table_files import read_table

IMAGES_FOLDER = "images"
_IMAGE_FIELDS = ("source", "mask", "references")


@dataclass(frozen=True)
class SampleTable:
    """Result of checking a sample table: its usable samples, and the problems found in it."""

    path: Path
    rows: int
    samples: tuple[Sample, ...]
    issues: tuple[DatasetIssue, ...]
    written: bool
    copied: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def issue_counts(self) -> dict[str, int]:
        """Number of problems by the rule that they break."""
        return dict(Counter(issue.rule for issue in self.issues))


def init_sample_table(
    folder: Path, images: Path | None = None, table: Path | None = None, *, questions: bool = False, name: str = ""
) -> SampleTable:
    """Write a sample table into a folder unless it has one, and check it.

    The table is samples.csv, or samples.jsonl if `table` is JSONL. Images outside the folder are copied into it. With
    `questions`, a questions.csv is written, too, with an empty question for each sample.
    """
    if folder.exists() and not folder.is_dir():
        raise CrevalError(f"{folder} is a file. Give a folder.")
    check_title(name)
    existing = find_table(folder, SAMPLE_FILES)
    if existing and (images or table):
        raise CrevalError(
            f"{folder} already contains {existing.name}. Leave out `images` and `table` to check it, or give another "
            "folder."
        )
    copied, unreadable = 0, list[str]()
    if existing is None:
        if images is None and table is None and not folder.is_dir():
            raise CrevalError(f"{folder} does not exist. Give `images` FOLDER or `table` FILE.")
        copied, unreadable = _write_table(folder, images, table)
    write_title(folder, name)
    if questions and find_table(folder, QUESTION_FILES) is None:
        _write_questions(folder)
    issues = IssueList()
    found = read_own_samples(folder.resolve(), issues)
    return SampleTable(
        folder / found.table.name, found.rows, found.samples, tuple(issues), existing is None, copied, tuple(unreadable)
    )


def _write_table(folder: Path, images: Path | None, table: Path | None) -> tuple[int, list[str]]:
    """Write a sample table. Return the number of copied images, and why rows are unreadable."""
    if images is not None and not images.is_dir():
        raise CrevalError(f"`images` {images} is not a folder.")
    gathered = _ImageGatherer(folder, [base for base in (images, table and table.parent) if base])
    unreadable, rows = list[str](), list[dict[str, Any]]()
    if table is None:
        found = (images or folder).resolve()
        names = find_image_names(found)
        if not names:
            raise CrevalError(f"{found} contains no images. Give `images` FOLDER or `table` FILE.")
        rows = [{"source": gathered.place((found / name).as_posix())} for name in names]
    else:
        for row in read_table(table):
            if row.problem:
                unreadable.append(f"{table.name}, line {row.line}: {row.problem}")
            else:
                rows.append(_normalise_row(row.cells, gathered))
        if rows and not any({"source", "instruction"} & row.keys() for row in rows):
            columns = ", ".join(list(dict.fromkeys(name for row in rows for name in row))[:8])
            raise CrevalError(
                f"{table} has neither a column 'source' nor 'instruction', but {columns}. Rename its columns."
            )
        if not rows:
            raise CrevalError(f"{table} has no readable row{f': {unreadable[0]}' if unreadable else ''}.")
    _number_ids(rows)
    as_lines = table is not None and table.suffix.casefold() in (".jsonl", ".ndjson")
    path = folder / SAMPLE_FILES[as_lines]
    folder.mkdir(parents=True, exist_ok=True)
    copied = gathered.copy()
    atomic_write(path, _format_lines(rows) if as_lines else _format_csv(rows))
    return copied, unreadable


class _ImageGatherer:
    """Finds the images that a table names, and assigns each of them a path in the benchmark's folder."""

    def __init__(self, folder: Path, bases: Sequence[Path]) -> None:
        self._folder = folder.resolve()
        self._bases = [base.resolve() for base in bases]
        self._names: dict[Path, str] = {}
        self._taken: set[str] = set()
        self._by_stem: dict[str, list[str]] | None = None

    def place(self, named: str) -> str:
        """Return the path of an image in the benchmark, or the given name if the image is not found."""
        path = self._find(named.replace("\\", "/"))
        if path is None:
            return named
        if path.is_relative_to(self._folder):
            return path.relative_to(self._folder).as_posix()
        if path not in self._names:
            self._names[path] = self._free_name(path)
        return self._names[path]

    def _find(self, named: str) -> Path | None:
        """Return the file with a given path, name or stem in one of the folders, or None."""
        if "\0" in named or not named:
            return None
        for base in (self._folder, *self._bases):
            for candidate in (base / named, base / PurePosixPath(named).name):
                path = Path(os.path.realpath(candidate))
                if path.is_relative_to(base) and path.is_file():
                    return path
        if self._by_stem is None:
            self._by_stem = {}
            for name in find_image_names(self._bases[0]) if self._bases and not PurePosixPath(named).suffix else ():
                self._by_stem.setdefault(filename_stem(name), []).append(name)
        matches = self._by_stem.get(named, [])
        return self._bases[0] / matches[0] if len(matches) == 1 else None

    def _free_name(self, path: Path) -> str:
        stem, name, number = safe_filename(path.stem), "", 1
        while not name or name.casefold() in self._taken or (self._folder / name).exists():
            name = f"{IMAGES_FOLDER}/{stem}{f'-{number}' if number > 1 else ''}{path.suffix.lower()}"
            number += 1
        self._taken.add(name.casefold())
        return name

    def copy(self) -> int:
        """Copy the images that are outside the folder. Return their number."""
        for path, name in self._names.items():
            atomic_copy(path, self._folder / name)
        return len(self._names)


def _normalise_row(cells: Mapping[str, Any], gathered: _ImageGatherer) -> dict[str, Any]:
    """Return a row with the column names of a sample table and the paths of its images in the benchmark."""
    row: dict[str, Any] = {}
    for column, value in cells.items():
        tag = sample_rows.is_tag(column)
        name = sample_rows.field_name(column)
        if tag and name in (*sample_rows.COLUMNS, *sample_rows.ALIASES):
            name = column
        row.setdefault(name, value)
    for field in _IMAGE_FIELDS:
        if field in row:
            parts = sample_rows.split_cell(row[field]) if field == "references" else [clean_text(row[field])]
            placed = [gathered.place(part) for part in parts]
            row[field] = placed if field == "references" else placed[0]
    return row


def _number_ids(rows: Iterable[dict[str, Any]]) -> None:
    """Give every row without an id a unique one, from the name of its image."""
    taken = {clean_text(row.get("id")).casefold() for row in rows}
    for row in rows:
        if clean_text(row.get("id")) or not row.get("source"):
            continue
        stem, number = safe_filename(filename_stem(str(row["source"]))), 1
        name = stem
        while name.casefold() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.casefold())
        row["id"] = name


def _format_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    used = dict.fromkeys(name for row in rows for name in row)
    first = ("id", "source", "instruction")
    columns = [*first, *(name for name in sample_rows.COLUMNS if name in used and name not in first)]
    columns += [name for name in used if name not in columns]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: "|".join(cell) if isinstance(cell, list) else cell for name, cell in row.items()})
    return replace_lone_surrogates(out.getvalue())


def _format_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    lines = (json.dumps({"id": "", "instruction": "", **row}, ensure_ascii=False) for row in rows)
    return replace_lone_surrogates("".join(f"{line}\n" for line in lines))


def _write_questions(folder: Path) -> None:
    """Write a question table with one empty question for each row that has an id."""
    table = find_table(folder, SAMPLE_FILES)
    rows = read_table(table) if table else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(question_rows.COLUMNS)
    for row in rows:
        if identity := clean_text(row.cells.get("id")) or filename_stem(clean_text(row.cells.get("source"))):
            writer.writerow([identity, "IF", "", "Yes", 1])
    atomic_write(folder / QUESTION_FILES[0], replace_lone_surrogates(out.getvalue()))
