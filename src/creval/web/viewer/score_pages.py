"""The start page and a model's page: scores that lead to the samples that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from creval.core import formatting
from creval.core.schema import Level
from creval.report import costs, numbers, sentences
from creval.report.tables import columns, places
from creval.stats.scorecard import Cell, Scorecard
from creval.store.provenance import makers
from creval.web.common.pages import link
from creval.web.viewer.filters import Choice, chosen_items, known
from creval.web.viewer.snapshot import RESAMPLES, Snapshot, State

_SHADES = 8
_LISTED = 200  # edits that are not there
_HEAVY = 3.0  # from this weight on, a question is worth a look of its own


class Bar(NamedTuple):
    """Where a value and its interval lie between the ends of its metric, in percent."""

    low: float
    value: float
    high: float


class Shown(NamedTuple):
    """A cell as it is shown: `place` is 1 where it is the best, 2 the second; `shade` from 0 to 8
    says how good it is beside the others of its table."""

    value: str
    ends: str = ""
    coverage: str = ""
    place: int = 0
    bar: Bar | None = None
    shade: int = 0
    href: str = ""


class Line(NamedTuple):
    """A row of a table, and where its name leads."""

    name: str
    href: str
    cells: Sequence[Shown]


class Grid(NamedTuple):
    """The groups of a level: a row each."""

    level: str
    plural: str
    heads: Sequence[tuple[str, str]]
    lines: Sequence[Line]


class Look(NamedTuple):
    """Something worth a look, with how many questions it is about."""

    words: str
    total: int
    href: str


def start(at: Snapshot, given: str) -> dict[str, Any]:
    """What the start page shows; `given` is the column of its tables by group."""
    scores = at.scores
    column = known("metric", given, at.card.columns) or at.card.ranking
    if scores is None:
        return {"rows": [], "grids": [], "column": column, "looks": looks(at), "costs": None}
    shown = columns(scores)
    made = makers(at.manifest)
    return {
        "costs": costs.grid(scores, made) if made else None,
        "decided": sentences.decided(scores),
        "basis": sentences.basis(
            scores, at.manifest, RESAMPLES, "bold is best, underlined is second"
        ),
        "heads": [(name, at.card.metric(name).label, _arrow(at, name)) for name in shown],
        "rows": [
            Line(
                system,
                link("/model", name=system),
                [_overall(scores, system, name) for name in shown],
            )
            for system in scores.systems
        ],
        "column": column,
        "columns": [(name, link("/", column=name) + "#groups") for name in shown],
        "grids": [
            _by_model(scores, level, column)
            for level in at.card.levels
            if level.name != "overall" and scores.groups(level.name)
        ],
        "looks": looks(at),
    }


def model(at: Snapshot, system: str) -> dict[str, Any]:
    """What a model's page shows: each group of each level in each metric."""
    counts = at.states[:, at.systems.index(system)]
    ended = [
        Look(words, int(np.count_nonzero(counts == state)), _answers(system, outcome))
        for words, outcome, state in _endings(at)
    ]
    maker = makers(at.manifest).get(system)
    more = {
        "model": system,
        "ended": [look for look in ended if look.total],
        "maker": costs.in_words(maker) if maker else "",
        **_missing(at, system),
    }
    scores = at.scores
    if scores is None or system not in scores.systems:
        return {**more, "heads": [], "grids": [], "place": ""}
    shown = columns(scores)
    first, last = scores.places[system]
    place = f"{first}" if first == last else f"{first} to {last}"
    return {
        **more,
        "place": f"{place} of {len(scores.systems)}" if len(scores.systems) > 1 else "",
        "heads": [(name, at.card.metric(name).label, _arrow(at, name)) for name in shown],
        "grids": [
            _by_metric(scores, level, system, shown)
            for level in at.card.levels
            if scores.groups(level.name)
        ],
    }


def _missing(at: Snapshot, system: str) -> dict[str, Any]:
    """A model's edits that are not there, each with its sample, what became of it, and why."""
    gone = [one for one in at.missing if one.edit.system == system]
    lines = [
        (one.edit.sample, link("/sample", id=one.edit.sample, model=system), str(one.status),
         one.reason)
        for one in gone[:_LISTED]
    ]  # fmt: skip
    return {"missing": lines, "unlisted": len(gone) - len(lines)}


def looks(at: Snapshot) -> list[Look]:
    """Where a reader may want to begin."""
    heaviest = max(at.known_weights, default=0.0)
    wanted = [("Questions on which models disagree", Choice(split="yes"))]
    if heaviest >= _HEAVY:
        words = f"Questions of weight {heaviest:g} that some model has wrong"
        wanted.append((words, Choice(outcome="wrong", weight=f"{heaviest:g}")))
    wanted.append(("Questions without an answer", Choice(outcome="unanswered")))
    found = [
        Look(words, len(chosen_items(choice, at)), link("/questions", **choice.given))
        for words, choice in wanted
    ]
    return [look for look in found if look.total]


def _endings(at: Snapshot) -> Sequence[tuple[str, str, State]]:
    words = outcome_words(at)
    return (
        (words["right"], "right", State.RIGHT),
        (words["wrong"], "wrong", State.WRONG),
        (words["unanswered"], "unanswered", State.UNANSWERED),
        (words["unasked"], "unasked", State.UNASKED),
    )


def outcome_words(at: Snapshot) -> dict[str, str]:
    """How outcomes are called: grades on a scale are not simply right or wrong."""
    right, wrong = ("upper half", "lower half") if at.graded else ("right", "wrong")
    unanswered, unasked = "unanswered", "not asked yet"
    if at.measured_only:
        unanswered, unasked = "not measured", "not measured yet"
    return {"right": right, "wrong": wrong, "unanswered": unanswered, "unasked": unasked}


def _answers(system: str, outcome: str) -> str:
    return link("/questions", **Choice(model=system, outcome=outcome).given)


def _overall(scores: Scorecard, system: str, column: str) -> Shown:
    place = places(scores, "overall", "overall", column, {}).get(system, 0)
    choice = Choice(model=system, metric=column, order="worst")
    cell = scores.cell(system, column)
    return _shown(scores, cell, column, place, href=link("/samples", **choice.given))


def _by_model(scores: Scorecard, level: Level, column: str) -> Grid:
    """A row a group, a column a model, in one metric."""
    heads = [(system, link("/model", name=system)) for system in scores.systems]
    cells = {
        group: [scores.cell(system, column, group, level.name) for system in scores.systems]
        for group in scores.groups(level.name)
    }
    shade = _Shade(scores, column, [cell for row in cells.values() for cell in row])
    lines = []
    for group, row in cells.items():
        marks = places(scores, level.name, group, column, {})
        shown = [
            _shown(
                scores, cell, column, marks.get(system, 0), shade(cell), level,
                _samples(level, group, model=system, metric=column, order="worst"),
            )
            for system, cell in zip(scores.systems, row, strict=True)
        ]  # fmt: skip
        lines.append(Line(_named(level, group), _samples(level, group), shown))
    return Grid(level.name, level.plural, heads, lines)


def _by_metric(scores: Scorecard, level: Level, system: str, shown: Sequence[str]) -> Grid:
    """A row a group, a column a metric, of one model."""
    groups = scores.groups(level.name)
    shades = {
        column: _Shade(scores, column, [scores.cell(system, column, g, level.name) for g in groups])
        for column in shown
    }
    lines = []
    for group in groups:
        cells = []
        for column in shown:
            cell = scores.cell(system, column, group, level.name)
            href = _samples(level, group, model=system, metric=column, order="worst")
            shade = shades[column](cell) if len(groups) > 1 else 0
            cells.append(_shown(scores, cell, column, 0, shade, level, href))
        href = _samples(level, group, model=system, order="worst")
        lines.append(Line(_named(level, group), href, cells))
    return Grid(level.name, level.plural, [], lines)


def _named(level: Level, group: str) -> str:
    return "all samples" if level.name == "overall" else group


def _samples(level: Level, group: str, **more: str) -> str:
    """Where a group leads: a difference between groups leads nowhere."""
    if level.minus is not None:
        return ""
    where = "" if level.name == "overall" else f"{level.name}:{group}"
    return link("/samples", **Choice(group=where, **more).given)


def _shown(
    scores: Scorecard,
    cell: Cell,
    column: str,
    place: int,
    shade: int = 0,
    level: Level | None = None,
    href: str = "",
) -> Shown:
    metric = scores.table.card.metric(column)
    minus = level is not None and level.minus is not None
    sign = "+" if minus else ""
    return Shown(
        formatting.value(cell.value, metric.digits, sign),
        formatting.interval(cell.low, cell.high, metric.digits, sign),
        numbers.coverage(cell),
        place,
        None if minus else _bar(cell, metric.low, metric.high),
        shade,
        href if cell.total else "",
    )


def _bar(cell: Cell, low: float, high: float) -> Bar | None:
    if cell.value is None:
        return None

    def at(value: float) -> float:
        return round(100.0 * min(1.0, max(0.0, (value - low) / (high - low))), 1)

    ends = (cell.value, cell.value) if cell.low is None or cell.high is None else cell[1:3]
    return Bar(at(ends[0] or 0.0), at(cell.value), at(ends[1] or 0.0))


class _Shade:
    """How good a cell is beside the others of its table, from 0 to 8."""

    def __init__(self, scores: Scorecard, column: str, cells: Sequence[Cell]) -> None:
        there = [cell.value for cell in cells if cell.value is not None]
        self._low, self._high = min(there, default=0.0), max(there, default=0.0)
        self._up = scores.table.card.higher_is_better(column)

    def __call__(self, cell: Cell) -> int:
        if cell.value is None or self._high <= self._low:
            return 0
        share = (cell.value - self._low) / (self._high - self._low)
        return round(_SHADES * (share if self._up else 1.0 - share))


def _arrow(at: Snapshot, column: str) -> str:
    """What is better, where it is not more."""
    return "" if at.card.higher_is_better(column) else "less is better"
