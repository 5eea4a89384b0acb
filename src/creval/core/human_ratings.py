"""Human ratings and metric scores from CSV or JSONL files.

Columns:

- ratings: `rater, sample, model, metric, rating, scale`
- choices: `rater, sample, first, second, metric, choice`, where `choice` is a model's name or `tie`
- scores: `sample, model, metric, score`, and optionally `source` (the sample's source image)

A score file may also be one that `creval export` or `creval measure --out` wrote (CSV, Parquet or JSON). An invalid row
is skipped and counted, never repaired.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.files import MAX_JSON_BYTES, coerce_text, is_json_lines, read_bytes, read_json, read_json_lines

OVERALL_METRIC = "overall"
"""Metric of ratings in a file that names none."""
TIE = "tie"
_SCALE_PATTERN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)\s*")
_QUOTED = re.compile(r"\A'(?='*[=+\-@\t\r])")
T = TypeVar("T")


class SkippedRows(NamedTuple):
    """Rows of a file that were skipped for the same reason: the reason, their number, and the line of the first."""

    reason: str
    rows: int
    line: int


class ScoreRow(NamedTuple):
    """A metric's score of one edit, in the metric's unit. Samples with the same `source` form a statistical cluster."""

    sample: str
    model: str
    metric: str
    score: float
    source: str = ""


@dataclass(frozen=True)
class HumanRatings:
    """Human ratings in percent of their scale, or choices between two edits."""

    ratings: tuple[Rating, ...]
    skipped_rows: tuple[SkippedRows, ...] = ()


@dataclass(frozen=True)
class ScoreFile:
    """Scores by automatic metrics."""

    rows: tuple[ScoreRow, ...]
    skipped_rows: tuple[SkippedRows, ...] = ()


class _RowError(Exception):
    """An invalid row, with the reason."""


class RatingScale(NamedTuple):
    """The lowest and the highest possible rating."""

    low: float
    high: float

    def to_percent(self, rating: str) -> float:
        value = _parse_number(rating, "rating")
        if not self.low <= value <= self.high:
            raise _RowError("the rating is outside its scale")
        return 100 * (value - self.low) / (self.high - self.low)

    def from_percent(self, percent: float) -> float:
        return self.low + percent * (self.high - self.low) / 100


def parse_rating_scale(text: str) -> RatingScale:
    """Parse a scale such as `1-5` or `0-1`."""
    match = _SCALE_PATTERN.fullmatch(text)
    scale = RatingScale(float(match[1]), float(match[2])) if match else RatingScale(0, 0)
    if not scale.low < scale.high < math.inf:
        raise CrevalError(f"{text!r} is not a scale. Give the lowest and the highest rating, such as 1-5.")
    return scale


def is_rating_file(path: str | Path) -> bool:
    """Return whether a file has the columns of ratings or choices."""
    columns, _ = _read_rows(path)
    return {"first", "second", "choice"} <= columns or {"model", "rating"} <= columns


def read_human_ratings(path: str | Path, scale: RatingScale | None = None) -> HumanRatings:
    """Read ratings or choices. `scale` is the scale of rows that do not state one."""
    columns, rows = _read_rows(path)
    if {"first", "second", "choice"} <= columns:
        ratings, left_out = _collect_rows(rows, _parse_choice)
    elif {"model", "rating"} <= columns:
        if scale is None and "scale" not in columns:
            raise CrevalError(
                f"{path} states no rating scale. Add a column `scale` with a "
                "scale such as 1-5 in each row, or give `scale` 1-5."
            )
        ratings, left_out = _collect_rows(rows, lambda row: _parse_rating(row, scale))
    else:
        raise CrevalError(
            f"{path} has neither the columns of ratings (rater, sample, model, metric, rating, scale) nor those of "
            f"choices (rater, sample, first, second, metric, choice). It has {_format_columns(columns)}."
        )
    if not ratings:
        raise CrevalError(f"{path} has no valid rating. {_format_first_problems(left_out)}")
    return HumanRatings(tuple(ratings), left_out)


def read_score_file(path: str | Path) -> ScoreFile:
    """Read scores of automatic metrics. Scores of several draws of a sample are averaged."""
    columns, rows = _read_rows(path)
    layout = next((of for of in _SCORE_LAYOUTS if {of.model, of.score} <= columns and of.also <= columns), None)
    if layout is None:
        raise CrevalError(
            f"{path} lacks the columns of scores (sample, model, metric, score). It has {_format_columns(columns)}."
        )
    scores, left_out = _collect_rows(rows, lambda row: _parse_score(row, layout))
    found = [row for row in scores if row is not None]
    if not found:
        raise CrevalError(f"{path} has no valid score. {_format_first_problems(left_out)}")
    return ScoreFile(tuple(_average_draws(found)), left_out)


def _average_draws(rows: Sequence[ScoreRow]) -> Iterator[ScoreRow]:
    """Yield a row for each sample, model and metric, with the mean score of its draws."""
    draws: dict[tuple[str, str, str], list[ScoreRow]] = {}
    for row in rows:
        draws.setdefault((row.sample, row.model, row.metric), []).append(row)
    for several in draws.values():
        yield several[0]._replace(score=sum(row.score for row in several) / len(several))


def _read_rows(path: str | Path) -> tuple[set[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return a file's columns, and its rows with their line numbers."""
    if Path(path).suffix.casefold() in (".parquet", ".json"):
        records = {number: _row_from_object(entry) for number, entry in enumerate(_read_records(path), 1)}
        return {name for row in records.values() for name in row}, iter(records.items())
    if is_json_lines(path):
        lines = {number: _row_from_object(entry) for number, entry in read_json_lines(path)}
        return {name for row in lines.values() for name in row}, iter(lines.items())
    try:
        text = read_bytes(path, MAX_JSON_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CrevalError(f"{path} is not text in UTF-8: {error.reason}.") from error
    head = text.partition("\n")[0]
    tabs = "\t" in head and "," not in head
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if tabs else ",")
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
    except csv.Error as error:
        raise CrevalError(f"{path} cannot be read as CSV: {error}.") from error
    if len(names) == 1 and ";" in names[0]:
        raise CrevalError(f"{path} separates its cells by semicolons. Use commas or tabs.")
    if len(set(names)) < len(names):
        raise CrevalError(f"{path} has two columns of the same name: {', '.join(names)}.")

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    short = len(cells) < len(names)
                    row = {} if short else dict(zip(names, map(str.strip, cells), strict=False))
                    yield reader.line_num, row
        except csv.Error as error:
            raise CrevalError(f"{path}, line {reader.line_num}: {error}.") from error

    return set(names), rows()


def _read_records(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file, or of a JSON file with a list of objects."""
    if Path(path).suffix.casefold() == ".parquet":
        return _read_parquet(path)
    entries = read_json(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CrevalError(f"{path} is not a JSON list of objects.")
    return entries


def _read_parquet(path: str | Path) -> list[dict[str, Any]]:
    import polars

    try:
        return polars.read_parquet(read_bytes(path, MAX_JSON_BYTES)).to_dicts()
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (polars.exceptions.PolarsError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{path} cannot be read as Parquet: {reason}.") from error


def _row_from_object(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return an object of a JSONL file as a row; values other than text and numbers become empty."""
    return {name.strip().casefold(): coerce_text(value).strip() for name, value in entry.items() if value is not None}


def _collect_rows(
    rows: Iterator[tuple[int, dict[str, str]]], read: Callable[[Mapping[str, str]], tuple[Hashable, T]]
) -> tuple[list[T], tuple[SkippedRows, ...]]:
    """Return the values of the valid rows, and the skipped rows.

    If two rows contradict each other, both are skipped.
    """
    found: dict[Hashable, T] = {}
    lines: dict[Hashable, int] = {}
    doubtful: set[Hashable] = set()
    reasons: dict[str, list[int]] = {}
    for line, row in rows:
        try:
            if not row:
                raise _RowError("the row has too few cells")
            key, value = read(row)
            if key in doubtful or (key in found and found[key] != value):
                doubtful.add(key)
                raise _RowError("another row contradicts it")
            if key in found:
                raise _RowError("the row repeats another one")
            found[key], lines[key] = value, line
        except _RowError as why:
            reasons.setdefault(str(why), []).append(line)
    for key in doubtful:
        del found[key]
        reasons["another row contradicts it"].append(lines[key])
    left_out = (SkippedRows(why, len(at), min(at)) for why, at in reasons.items())
    return list(found.values()), tuple(left_out)


def _parse_rating(row: Mapping[str, str], scale: RatingScale | None) -> tuple[Hashable, Rating]:
    stated = row.get("scale", "")
    if stated:
        try:
            scale = parse_rating_scale(stated)
        except CrevalError as error:
            raise _RowError("the scale is invalid (a valid one is 1-5)") from error
    if scale is None:
        raise _RowError("the row states no scale")
    edit = EditKey(_require_model_name(row, "model"), row.get("sample", ""))
    value = scale.to_percent(row.get("rating", ""))
    rating = Rating(row.get("rater", ""), (edit,), row.get("metric") or OVERALL_METRIC, value, scale=scale)
    return (rating.rater, edit, rating.metric), rating


def _parse_choice(row: Mapping[str, str]) -> tuple[Hashable, Rating]:
    pair = _require_model_name(row, "first"), _require_model_name(row, "second")
    if pair[0] == pair[1]:
        raise _RowError("both models are the same")
    choice = row.get("choice", "")
    if choice not in pair:
        if choice.casefold() != TIE:
            raise _RowError("the choice is neither one of the two models nor `tie`")
        choice = ""
    sample, rater = row.get("sample", ""), row.get("rater", "")
    edits = tuple(EditKey(model, sample) for model in sorted(pair))
    rating = Rating(rater, edits, row.get("metric") or OVERALL_METRIC, choice=choice)
    return (rater, edits, rating.metric), rating


class _ScoreLayout(NamedTuple):
    """Names of the columns of one kind of score file. A file is of this kind if it also has the columns in `also`."""

    model: str
    metric: str
    score: str
    also: frozenset[str] = frozenset()
    quoted: bool = False
    """Whether creval put an apostrophe before texts that a spreadsheet would read as a formula."""


_SCORE_LAYOUTS = (
    _ScoreLayout("model", "metric", "score"),
    _ScoreLayout("system", "value_name", "value", frozenset({"gauge"}), quoted=True),  # creval measure --out
    _ScoreLayout("model", "metric", "value", frozenset({"level", "group"}), quoted=True),  # creval export: scores
    _ScoreLayout("model", "metric", "value", frozenset({"sample"}), quoted=True),  # creval export: sample_scores
)


def _parse_score(row: Mapping[str, str], layout: _ScoreLayout) -> tuple[Hashable, ScoreRow | None]:
    if layout.quoted:
        row = {name: _QUOTED.sub("", value) for name, value in row.items()}
    if "level" in layout.also and (row.get("level"), row.get("group")) != ("overall", "overall"):
        return tuple(row.items()), None
    if not row.get(layout.score):
        raise _RowError("the row has no score")
    score = _parse_number(row[layout.score], "score")
    edit = row.get("sample", ""), _require_model_name(row, layout.model), row.get(layout.metric) or "score"
    return (*edit, row.get("draw", "")), ScoreRow(*edit, score, row.get("source", ""))


def _require_model_name(row: Mapping[str, str], column: str) -> str:
    if not row.get(column):
        raise _RowError("the row names no model")
    return row[column]


def _parse_number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise _RowError(f"the {what} is not a number") from error
    if not math.isfinite(value):
        raise _RowError(f"the {what} is not a number")
    return value


def _format_columns(columns: set[str]) -> str:
    return ", ".join(sorted(columns - {""})[:12]) or "no columns"


def _format_first_problems(left_out: tuple[SkippedRows, ...]) -> str:
    found = "; ".join(f"line {line}: {reason}" for reason, _, line in left_out[:3])
    return f"First problems: {found}." if found else "It has no rows."


@dataclass(frozen=True)
class Rating:
    """A person's rating of one edit (`value`), or choice between two edits (`choice`: the better model, "" for a tie).

    `value` is in percent of the `scale`.
    """

    rater: str
    edits: tuple[EditKey, ...]
    metric: str
    value: float | None = None
    choice: str | None = None
    scale: RatingScale | None = field(default=None, compare=False)
