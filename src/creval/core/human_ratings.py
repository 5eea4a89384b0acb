"""What people said and what metrics scored, from CSV or JSONL files that anyone may have written.

Ratings: `rater, sample, model, metric, rating, scale`. Choices: `rater, sample, first, second, metric, choice`, where
a choice is a model's name or `tie`. Scores: `sample, model, metric, score`; `source` may name the image that a
sample is of. A row that cannot be taken as it stands is left out and counted, never mended.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.files import MAX_JSON_BYTES, coerce_text, is_json_lines, read_bytes, read_json_lines

OVERALL_METRIC = "overall"
"""What is rated where a file names no metric."""
TIE = "tie"
_SCALE_PATTERN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)\s*")
T = TypeVar("T")


class SkippedRows(NamedTuple):
    """Why rows of a file were not taken, how many, and the line of the first."""

    reason: str
    rows: int
    line: int


class ScoreRow(NamedTuple):
    """A metric's score of one edit, in its own unit; `source` is the image by which samples belong together."""

    sample: str
    model: str
    metric: str
    score: float
    source: str = ""


@dataclass(frozen=True)
class HumanRatings:
    """What people said: ratings in percent of their scale, or choices between two edits."""

    ratings: tuple[Rating, ...]
    skipped_rows: tuple[SkippedRows, ...] = ()


@dataclass(frozen=True)
class ScoreFile:
    """What automatic metrics scored."""

    rows: tuple[ScoreRow, ...]
    skipped_rows: tuple[SkippedRows, ...] = ()


class _RowError(Exception):
    """Why one row cannot be taken."""


class RatingScale(NamedTuple):
    """The lowest and the highest rating that a person could give."""

    low: float
    high: float

    def to_percent(self, rating: str) -> float:
        value = _parse_number(rating, "rating")
        if not self.low <= value <= self.high:
            raise _RowError("the rating lies outside its scale")
        return 100 * (value - self.low) / (self.high - self.low)


def parse_rating_scale(text: str) -> RatingScale:
    """Return the scale that `1-5` or `0-1` stands for."""
    match = _SCALE_PATTERN.fullmatch(text)
    scale = RatingScale(float(match[1]), float(match[2])) if match else RatingScale(0, 0)
    if not scale.low < scale.high < math.inf:
        raise CrevalError(f"{text!r} is no scale; give the lowest and the highest, such as 1-5.")
    return scale


def read_human_ratings(path: str | Path, scale: RatingScale | None = None) -> HumanRatings:
    """Ratings or choices; `scale` is that of ratings whose row states none."""
    columns, rows = _read_rows(path)
    if {"first", "second", "choice"} <= columns:
        ratings, left_out = _collect_rows(rows, _parse_choice)
    elif {"model", "rating"} <= columns:
        if scale is None and "scale" not in columns:
            raise CrevalError(
                f"{path} does not say on which scale people rated: add a column `scale` with a "
                "scale such as 1-5 in each row, or give `scale` 1-5."
            )
        ratings, left_out = _collect_rows(rows, lambda row: _parse_rating(row, scale))
    else:
        raise CrevalError(
            f"{path} is no file of ratings (rater, sample, model, metric, rating, scale) or of "
            f"choices (rater, sample, first, second, metric, choice). It has {_format_columns(columns)}."
        )
    if not ratings:
        raise CrevalError(f"{path} holds no rating that can be taken. {_format_first_problems(left_out)}")
    return HumanRatings(tuple(ratings), left_out)


def read_score_file(path: str | Path) -> ScoreFile:
    """Scores of any automatic metrics."""
    columns, rows = _read_rows(path)
    if not {"model", "score"} <= columns:
        raise CrevalError(
            f"{path} is no file of scores (sample, model, metric, score). It has {_format_columns(columns)}."
        )
    scores, left_out = _collect_rows(rows, _parse_score)
    if not scores:
        raise CrevalError(f"{path} holds no score that can be taken. {_format_first_problems(left_out)}")
    return ScoreFile(tuple(scores), left_out)


def _read_rows(path: str | Path) -> tuple[set[str], Iterator[tuple[int, dict[str, str]]]]:
    """Return the columns of a file, and its rows with their lines."""
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
        raise CrevalError(f"{path} is separated by semicolons; separate its cells by commas.")
    if len(set(names)) < len(names):
        raise CrevalError(f"{path} names a column twice: {', '.join(names)}.")

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


def _row_from_object(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return an object of a JSONL file as a row; what is no text and no number is as good as absent."""
    return {name.strip().casefold(): coerce_text(value).strip() for name, value in entry.items() if value is not None}


def _collect_rows(
    rows: Iterator[tuple[int, dict[str, str]]], read: Callable[[Mapping[str, str]], tuple[Hashable, T]]
) -> tuple[list[T], tuple[SkippedRows, ...]]:
    """Return what the rows hold, and what was left out: of two that say different things, both."""
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
                raise _RowError("the same thing is said in two ways")
            if key in found:
                raise _RowError("the same thing is said again")
            found[key], lines[key] = value, line
        except _RowError as why:
            reasons.setdefault(str(why), []).append(line)
    for key in doubtful:
        del found[key]
        reasons["the same thing is said in two ways"].append(lines[key])
    left_out = (SkippedRows(why, len(at), min(at)) for why, at in reasons.items())
    return list(found.values()), tuple(left_out)


def _parse_rating(row: Mapping[str, str], scale: RatingScale | None) -> tuple[Hashable, Rating]:
    stated = row.get("scale", "")
    if stated:
        try:
            scale = parse_rating_scale(stated)
        except CrevalError as error:
            raise _RowError("the scale is none, such as 1-5 would be") from error
    if scale is None:
        raise _RowError("the row states no scale")
    edit = EditKey(_require_model_name(row, "model"), row.get("sample", ""))
    value = scale.to_percent(row.get("rating", ""))
    rating = Rating(row.get("rater", ""), (edit,), row.get("metric") or OVERALL_METRIC, value)
    return (rating.rater, edit, rating.metric), rating


def _parse_choice(row: Mapping[str, str]) -> tuple[Hashable, Rating]:
    pair = _require_model_name(row, "first"), _require_model_name(row, "second")
    if pair[0] == pair[1]:
        raise _RowError("both models are the same")
    choice = row.get("choice", "")
    if choice not in pair:
        if choice.casefold() != TIE:
            raise _RowError("the choice is neither of the two models, nor `tie`")
        choice = ""
    sample, rater = row.get("sample", ""), row.get("rater", "")
    edits = tuple(EditKey(model, sample) for model in sorted(pair))
    rating = Rating(rater, edits, row.get("metric") or OVERALL_METRIC, choice=choice)
    return (rater, edits, rating.metric), rating


def _parse_score(row: Mapping[str, str]) -> tuple[Hashable, ScoreRow]:
    score = _parse_number(row.get("score", ""), "score")
    edit = row.get("sample", ""), _require_model_name(row, "model"), row.get("metric") or "score"
    return edit, ScoreRow(*edit, score, row.get("source", ""))


def _require_model_name(row: Mapping[str, str], column: str) -> str:
    if not row.get(column):
        raise _RowError("the row names no model")
    return row[column]


def _parse_number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise _RowError(f"the {what} is no number") from error
    if not math.isfinite(value):
        raise _RowError(f"the {what} is no number")
    return value


def _format_columns(columns: set[str]) -> str:
    return ", ".join(sorted(columns - {""})[:12]) or "no columns"


def _format_first_problems(left_out: tuple[SkippedRows, ...]) -> str:
    found = "; ".join(f"line {line}: {reason}" for reason, _, line in left_out[:3])
    return f"What is wrong first: {found}." if found else "It has no rows."


@dataclass(frozen=True)
class Rating:
    """A person's rating of one edit (`value`) or of two (`choice`: the better one's model, empty if neither is)."""

    rater: str
    edits: tuple[EditKey, ...]
    metric: str
    value: float | None = None
    choice: str | None = None
