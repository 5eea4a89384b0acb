"""Reader of your own samples: a folder with samples.csv or samples.jsonl, and optional questions.

The table has one row per sample: instruction, source, and optionally id, mask, references, captions, steps. All other
columns are tags. Image paths are relative to the folder. `questions.csv` or `questions.jsonl` has one row per
question: sample, metric, question, reference, weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.own_samples.question_rows import QuestionCollector
from creval.benchmarks.own_samples.sample_rows import SampleParser, field_name
from creval.core.benchmark import Dataset, IssueList
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Level
from creval.core.table_files import TableRow, read_table

NAME = "own-samples"
SAMPLE_FILES = ("samples.csv", "samples.jsonl")
QUESTION_FILES = ("questions.csv", "questions.jsonl")
MAX_GROUPS = 50
"""Maximum number of values of a tag that becomes a level."""
MAX_LEVELS = 12
_MAX_GROUP_LENGTH = 80
"""Maximum length of a group's name in characters."""


def find_samples_folder(path: Path) -> Path | None:
    """Return the folder if it contains a table of samples, or None."""
    return path if any((path / name).is_file() for name in SAMPLE_FILES) else None


def find_table(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the file with one of these names in a folder, or None. Raises `CrevalError` if the folder has several."""
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise CrevalError(f"{folder} contains both {' and '.join(names)}. Keep one of them.")
    return found[0] if found else None


class OwnSamples(NamedTuple):
    """The content of a folder: the table, its number of rows, the usable samples, and the metrics."""

    table: Path
    rows: int
    samples: tuple[Sample, ...]
    metrics: tuple[str, ...]


def load_own_samples(folder: Path) -> Dataset:
    """Load all usable samples. Problems become issues of the dataset."""
    folder, issues = folder.resolve(), IssueList()
    found = read_own_samples(folder, issues)
    if not found.samples:
        shown = "; ".join(f"{issue.location}: {issue.rule}, {issue.note}" for issue in issues[:3])
        raise CrevalError(f"{found.table} contains no usable sample{f' ({shown})' if shown else ''}.")
    return Dataset(
        NAME,
        folder,
        found.samples,
        issues=tuple(issues),
        levels=(OVERALL, *find_levels(found.samples)),
        title=folder.name,
        metrics=found.metrics,
    )


def read_own_samples(folder: Path, issues: IssueList) -> OwnSamples:
    """Return the content of a resolved folder, and add problems to `issues`."""
    table = find_table(folder, SAMPLE_FILES)
    if table is None:
        raise CrevalError(f"{folder} contains neither {' nor '.join(SAMPLE_FILES)}.")
    rows = read_table(table)
    parser = SampleParser(folder, table.name, issues, has_sources=names_sources(rows))
    samples: dict[str, Sample] = {}
    question_fields: dict[str, tuple[object, str]] = {}
    for row in rows:
        parsed = parser.parse(row)
        if parsed is None:
            continue
        sample, where = parsed[0], f"{table.name}, line {row.line}"
        if sample.id in samples:
            note = "an earlier row has this id or image: give each row its own id; the row is left out"
            issues.add("repeated id", where, note, sample.id[:200])
            continue
        samples[sample.id] = sample
        question_fields[sample.id] = parsed[1], where
    collected = QuestionCollector({name: one.source is not None for name, one in samples.items()}, issues)
    for name, (given, where) in question_fields.items():
        collected.add_field(name, given, where)
    questions = find_table(folder, QUESTION_FILES)
    for row in read_table(questions) if questions else ():
        where = f"{questions.name}, line {row.line}" if questions else ""
        if row.problem:
            issues.add("unreadable row", where, f"{row.problem}; the row is left out")
        else:
            collected.add_row(row.cells, where)
    asked = (replace(one, questions=tuple(collected.questions.get(name, ()))) for name, one in samples.items())
    return OwnSamples(table, len(rows), tuple(asked), tuple(collected.metrics))


def names_sources(rows: Iterable[TableRow]) -> bool:
    """Return True if any row names a source. If no row does, the benchmark is for generation from text alone."""
    return any(field_name(column) == "source" for row in rows for column in row.cells)


def find_levels(samples: Iterable[Sample]) -> list[Level]:
    """Return the levels that are created from tags.

    A tag becomes a level if it has at most `MAX_GROUPS` values and several samples share one of them. Only the first
    `MAX_LEVELS` such tags are used. Values that are all numbers are sorted; others keep the order of first occurrence.
    """
    counts: dict[str, Counter[str]] = {}
    for sample in samples:
        for tag, value in sample.tags.items():
            counts.setdefault(tag, Counter())[value] += 1
    levels = []
    for tag, found in counts.items():
        fits = len(found) <= MAX_GROUPS and max(map(len, found)) <= _MAX_GROUP_LENGTH
        if fits and max(found.values()) > 1:
            levels.append(Level(tag, tag, tuple(_ordered(found))))
    return levels[:MAX_LEVELS]


def _ordered(values: Iterable[str]) -> list[str]:
    found = list(values)
    try:
        return sorted(found, key=float)
    except ValueError:
        return found
