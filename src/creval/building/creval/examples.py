"""Users' example instructions of CREval's dimensions, which the writer sees instead of the shipped ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.building.creval.dimensions import DIMENSIONS
from creval.building.creval.rules import find_instruction_violations
from creval.building.creval.sources import read_table_rows
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text, read_json, read_text
from creval.parsing.written_instructions import WrittenInstruction

MAX_EXAMPLES = 20
"""Examples of a dimension. All of them are part of each request."""
SHIPPED = "shipped"
_TEXT_SUFFIXES = (".txt", ".md")


class ExampleSet(NamedTuple):
    """Example instructions by dimension, and their version: `SHIPPED`, or a digest of the user's examples."""

    by_dimension: Mapping[str, tuple[str, ...]]
    version: str = SHIPPED

    @property
    def words_per_dimension(self) -> float:
        """Mean number of words of a dimension's examples."""
        return sum(len(text.split()) for texts in self.by_dimension.values() for text in texts) / len(self.by_dimension)


SHIPPED_EXAMPLES = ExampleSet({name: dimension.examples for name, dimension in DIMENSIONS.items()})


def read_examples(path: Path | None) -> ExampleSet:
    """Read a user's examples. A dimension without examples of the user keeps the shipped ones.

    Accepted files:

    - CSV, JSON or JSONL with the columns dimension and instruction
    - a JSON object from dimension to a list of instructions
    - a folder with a text file for each dimension, named after the dimension, with one instruction per line

    Each example must follow the rules for instructions, since the writer imitates it.
    """
    if path is None:
        return SHIPPED_EXAMPLES
    found: dict[str, list[str]] = {}
    for place, dimension, given in _read_rows(path):
        text = " ".join(given.split())
        try:
            require_known("dimension", dimension, CLASS_DIMENSIONS)
        except CrevalError as error:
            raise CrevalError(f"{path}, {place}: {error}") from error
        if violations := find_instruction_violations(WrittenInstruction(text)):
            raise CrevalError(f"{path}, {place}: the example breaks a rule: {violations[0].message}.")
        if text not in found.setdefault(dimension, []):
            found[dimension].append(text)
    if not found:
        raise CrevalError(f"{path} contains no examples.")
    for dimension, texts in found.items():
        if len(texts) > MAX_EXAMPLES:
            raise CrevalError(f"{path} has {len(texts)} examples of {dimension}. The limit is {MAX_EXAMPLES}.")
    version = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]
    return ExampleSet(
        {**SHIPPED_EXAMPLES.by_dimension, **{name: tuple(texts) for name, texts in found.items()}}, version
    )


def _read_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the place, dimension and instruction of each example."""
    if path.is_dir():
        for file in sorted(one for one in path.iterdir() if one.suffix.casefold() in _TEXT_SUFFIXES):
            lines = _read_lines(file)
            yield from (
                (f"{file.name}, line {at}", file.stem, line) for at, line in enumerate(lines, 1) if line.strip()
            )
        return
    content = read_json(path) if path.suffix.casefold() == ".json" else None
    if isinstance(content, dict):
        for name, texts in content.items():
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise CrevalError(f"{path}: {name!r} must be a list of instructions.")
            yield from ((f"{name} {number}", name, text) for number, text in enumerate(texts, 1))
        return
    for number, row in enumerate(read_table_rows(path, "dimension", "instruction"), 1):
        yield f"row {number}", coerce_text(row.get("dimension")).strip(), coerce_text(row.get("instruction"))


def _read_lines(path: Path) -> list[str]:
    try:
        return read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CrevalError(f"{path} cannot be read: {error}.") from error


def format_examples(examples: ExampleSet, dimension: str = "") -> str:
    """Return all examples of a dimension, one per line. Without a dimension, return the first example of each."""
    if dimension:
        chosen = list(examples.by_dimension[dimension])
    else:
        chosen = [examples.by_dimension[name][0] for name in CLASS_DIMENSIONS]
    return "\n".join(f"- {text}" for text in chosen)
