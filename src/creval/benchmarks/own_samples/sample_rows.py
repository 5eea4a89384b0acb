"""Parsing of rows of samples.csv or samples.jsonl into samples."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.core.benchmark import IssueList
from creval.core.files import clean_text, filename_stem
from creval.core.sample import CAPTION_KINDS, Box, InstructionStep, Sample
from creval.core.table_files import TableRow, column_name

COLUMNS = ("id", "source", "instruction", "mask", "references", "source_caption", "target_caption", "steps")
"""The columns besides tags, in the order in which `creval init samples` writes them."""
ALIASES = {"sample": "id", "image": "source", "file_name": "source", "prompt": "instruction"}
"""Alternative names of columns."""
TAG_PREFIX = "tag:"
RESERVED_TAGS = frozenset({"overall", "sample", "samples"})
_NESTED_FIELDS = frozenset({"tags", "captions", "questions"})
"""Fields that are only possible in JSONL."""
_MAX_TAGS, _MAX_TAG_LENGTH = 100, 200
_SEPARATORS = re.compile(r"[|;]")


def field_name(column: str) -> str:
    """Return the name of the field in a column: without the tag prefix, and with aliases resolved.

    >>> field_name("image"), field_name("tag:weather"), field_name("weather")
    ('source', 'weather', 'weather')
    """
    return ALIASES.get(column, column.removeprefix(TAG_PREFIX))


def is_tag(column: str) -> bool:
    """Return True if a column is a tag."""
    return column.startswith(TAG_PREFIX) or field_name(column) not in (*COLUMNS, *_NESTED_FIELDS)


class _UnusableRowError(Exception):
    """An error that makes a row unusable: the violated rule, a note on what to do, and the sample's id."""

    def __init__(self, rule: str, note: str, item: str = "") -> None:
        super().__init__(note)
        self.rule, self.item = rule, item[:200]


class SampleParser:
    """Parser of rows. Problems become issues, and unusable rows are left out.

    If `has_sources`, a row without a source is an error. Otherwise all images are generated from text alone.
    """

    def __init__(self, folder: Path, file: str, issues: IssueList, *, has_sources: bool) -> None:
        self.folder, self.file, self.issues, self.has_sources = folder, file, issues, has_sources
        self._folders: dict[str, bool] = {}
        self._tags: set[str] = set()

    def parse(self, row: TableRow) -> tuple[Sample, Any] | None:
        """Return the sample of a row and the row's field `questions`, or None if the row is unusable."""
        try:
            return self._parse(row)
        except _UnusableRowError as error:
            self.issues.add(error.rule, f"{self.file}, line {row.line}", f"{error}; the row is left out", error.item)
            return None

    def _parse(self, row: TableRow) -> tuple[Sample, Any]:
        if row.problem:
            raise _UnusableRowError("unreadable row", row.problem)
        fields = {field_name(column): value for column, value in row.cells.items() if not is_tag(column)}
        steps = self._parse_steps(row, fields.get("steps"))
        instruction = clean_text(fields.get("instruction")) or " ".join(step.text for step in steps)
        name = clean_text(fields.get("source"))
        identity = clean_text(fields.get("id")) or filename_stem(name)
        if not identity:
            raise _UnusableRowError("no id", "name an image in the column 'source', or give an id")
        if not instruction:
            raise _UnusableRowError("no instruction", "write what to change in the column 'instruction'", identity)
        if not name and self.has_sources:
            raise _UnusableRowError("no source", "name its image in the column 'source'", identity)
        source = self._resolve_image(row, identity, "source", name) if name else None
        mask_name, reference_names = clean_text(fields.get("mask")), split_cell(fields.get("references"))
        mask = self._resolve_image(row, identity, "mask", mask_name) if mask_name else None
        references = [self._resolve_image(row, identity, "reference", one) for one in reference_names]
        sample = Sample(
            identity,
            instruction,
            source,
            self._parse_tags(row, identity),
            steps=steps,
            mask=mask,
            references=tuple(references),
            captions=_parse_captions(fields),
        )
        return sample, fields.get("questions")

    def _resolve_image(self, row: TableRow, identity: str, what: str, name: str) -> Path:
        """Return the path of an image, even if the file does not exist."""
        path = os.path.normpath(os.path.join(self.folder, name.replace("\\", "/")))  # noqa: PTH118 (100,000 times)
        if "\0" in name or not self._is_inside(path):
            note = f"{name[:200]!r} is outside the folder: put it inside, or use `creval init samples`"
            raise _UnusableRowError("image outside", note, identity)
        if not os.path.isfile(path):  # noqa: PTH113
            note = f"its {what} {name[:200]!r} is not in the folder: put it there"
            self.issues.add(f"missing {what}", f"{self.file}, line {row.line}", note, identity[:200])
        return Path(path)

    def _is_inside(self, path: str) -> bool:
        """Return True if a path is inside the folder after resolving links."""
        parent, _ = os.path.split(path)
        if parent not in self._folders:
            self._folders[parent] = Path(os.path.realpath(parent)).is_relative_to(self.folder)
        inside = self._folders[parent]
        return inside and (not os.path.islink(path) or Path(os.path.realpath(path)).is_relative_to(self.folder))  # noqa: PTH114

    def _parse_tags(self, row: TableRow, identity: str) -> dict[str, str]:
        nested = row.cells.get("tags")
        given = {column: value for column, value in row.cells.items() if is_tag(column)}
        if isinstance(nested, Mapping):
            given |= {TAG_PREFIX + column_name(str(name)): value for name, value in nested.items()}
        elif nested is not None:
            self._note_tag(row, identity, "tags", 'it must be an object, such as {"weather": "rain"}')
        tags = {}
        for column, value in given.items():
            name, text = column.removeprefix(TAG_PREFIX), " ".join(clean_text(value).split())
            if not text:
                continue
            if name in RESERVED_TAGS or not name or not name.isprintable() or "," in name:
                self._note_tag(row, identity, name, "this is not allowed as the name of a tag: rename the column")
            elif len(text) > _MAX_TAG_LENGTH or len(name) > _MAX_TAG_LENGTH:
                self._note_tag(row, identity, name, f"a tag has at most {_MAX_TAG_LENGTH} characters")
            elif name not in self._tags and len(self._tags) == _MAX_TAGS:
                self._note_tag(row, identity, name, f"there are more than {_MAX_TAGS} tags")
            else:
                self._tags.add(name)
                tags[name] = text
        return tags

    def _note_tag(self, row: TableRow, identity: str, name: str, note: str) -> None:
        where = f"{self.file}, line {row.line}"
        self.issues.add("unusable tag", where, f"{note}; the tag is left out", identity[:200], name[:100])

    def _parse_steps(self, row: TableRow, given: object) -> tuple[InstructionStep, ...]:
        """Return the steps of an instruction: texts, or objects as required by ComplexBench-Edit's protocol."""
        entries = given if isinstance(given, list) else split_cell(given, "|")
        try:
            return tuple(_parse_step(entry, at) for at, entry in enumerate(entries))
        except (ValueError, TypeError) as error:
            self.issues.add("unusable steps", f"{self.file}, line {row.line}", f"{error}; its steps are left out")
            return ()


def split_cell(given: object, separators: str = "|;") -> list[str]:
    """Return the texts of a list, or the parts of a cell between separators."""
    parts = given if isinstance(given, list) else re.split(f"[{re.escape(separators)}]", clean_text(given))
    return [text for part in parts if (text := clean_text(part))]


def _parse_captions(fields: Mapping[str, Any]) -> dict[str, str]:
    nested = fields.get("captions")
    found = {}
    for kind in sorted(CAPTION_KINDS):
        given = fields.get(f"{kind}_caption") or (nested.get(kind) if isinstance(nested, Mapping) else "")
        if text := clean_text(given):
            found[kind] = text
    return found


def _parse_step(entry: object, position: int) -> InstructionStep:
    if not isinstance(entry, Mapping):
        text = clean_text(entry)
        if not text:
            raise ValueError("a step must be a text, or an object with a text")
        return InstructionStep(text)
    fields = {name: clean_text(entry.get(name)) for name in ("text", "kind", "old", "new")}
    needs = entry.get("needs") or ()
    if not fields["text"]:
        raise ValueError("a step has no text")
    if not isinstance(needs, Sequence) or not all(type(step) is int and 1 <= step <= position for step in needs):
        raise ValueError("a step's `needs` must be numbers of earlier steps, counted from 1")
    return InstructionStep(
        **fields, needs=tuple(step - 1 for step in needs), boxes=tuple(_iter_boxes(entry.get("boxes")))
    )


def _iter_boxes(given: object) -> Iterator[Box]:
    for box in given if isinstance(given, list) else ():
        numbers = [float(side) for side in box if isinstance(side, int | float)] if isinstance(box, list) else []
        if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
            raise ValueError("a step's box must be [left, top, right, bottom] in pixels")
        yield (numbers[0], numbers[1], numbers[2], numbers[3])
