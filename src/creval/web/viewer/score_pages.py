"""The start page and a model's page: scores that lead to the samples that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from creval.core import formatting
from creval.core.schema import Level
from creval.reporting import edit_costs, numbers, sentences
from creval.reporting.tables import best_and_second, visible_columns
from creval.stats.scorecard import Scorecard, ScoreEstimate
from creval.store.provenance import read_provenance
from creval.web.common.pages import link
from creval.web.viewer.filters import Filters, filter_items, resolve_name
from creval.web.viewer.snapshot import RESAMPLES, AnswerState, Snapshot

_SHADE_STEPS = 8
_MAX_MISSING = 200  # edits that are not there
_MIN_HEAVY_WEIGHT = 3.0  # from this weight on, a question is worth a look of its own


class IntervalBar(NamedTuple):
    """Where a value and its interval lie between the ends of its metric, in percent."""

    low: float
    value: float
    high: float


class ScoreCell(NamedTuple):
    """A cell as it is shown: `rank` is 1 where it is the best, 2 the second; `shade` from 0 to 8
    says how good it is beside the others of its table."""

    value: str
    interval: str = ""
    coverage: str = ""
    rank: int = 0
    bar: IntervalBar | None = None
    shade: int = 0
    href: str = ""


class ScoreRow(NamedTuple):
    """A row of a table, and where its name leads."""

    name: str
    href: str
    cells: Sequence[ScoreCell]


class GroupTable(NamedTuple):
    """The groups of a level: a row each."""

    level: str
    plural: str
    headers: Sequence[tuple[str, str]]
    rows: Sequence[ScoreRow]


class CountedLink(NamedTuple):
    """Something worth a look, with how many questions it is about."""

    label: str
    total: int
    href: str


def start_page(snapshot: Snapshot, column_name: str) -> dict[str, Any]:
    """What the start page shows; `column_name` is the column of its tables by group."""
    scores = snapshot.scores
    column = resolve_name("metric", column_name, snapshot.schema.columns) or snapshot.schema.ranking_column
    if scores is None:
        return {"rows": [], "grids": [], "column": column, "looks": suggested_links(snapshot), "costs": None}
    shown = visible_columns(scores)
    made = read_provenance(snapshot.manifest)
    return {
        "costs": edit_costs.cost_table(scores, made) if made else None,
        "decided": sentences.decided_sentence(scores),
        "basis": sentences.basis_sentence(scores, snapshot.manifest, RESAMPLES, "bold is best, underlined is second"),
        "heads": [(name, snapshot.schema.find_metric(name).label, _direction_hint(snapshot, name)) for name in shown],
        "rows": [
            ScoreRow(model, link("/model", name=model), [_overall_cell(scores, model, name) for name in shown])
            for model in scores.models
        ],
        "column": column,
        "columns": [(name, link("/", column=name) + "#groups") for name in shown],
        "grids": [
            _table_by_model(scores, level, column)
            for level in snapshot.schema.levels
            if level.name != "overall" and scores.groups(level.name)
        ],
        "looks": suggested_links(snapshot),
    }


def model_page(snapshot: Snapshot, model: str) -> dict[str, Any]:
    """What a model's page shows: each group of each level in each metric."""
    counts = snapshot.states[:, snapshot.models.index(model)]
    ended = [
        CountedLink(words, int(np.count_nonzero(counts == state)), _questions_url(model, outcome))
        for words, outcome, state in _outcome_states(snapshot)
    ]
    maker = read_provenance(snapshot.manifest).get(model)
    more = {
        "model": model,
        "ended": [look for look in ended if look.total],
        "maker": edit_costs.describe_provenance(maker) if maker else "",
        **_missing_edits(snapshot, model),
    }
    scores = snapshot.scores
    if scores is None or model not in scores.models:
        return {**more, "heads": [], "grids": [], "place": ""}
    shown = visible_columns(scores)
    first, last = scores.rank_ranges[model]
    place = f"{first}" if first == last else f"{first} to {last}"
    return {
        **more,
        "place": f"{place} of {len(scores.models)}" if len(scores.models) > 1 else "",
        "heads": [(name, snapshot.schema.find_metric(name).label, _direction_hint(snapshot, name)) for name in shown],
        "grids": [
            _table_by_metric(scores, level, model, shown)
            for level in snapshot.schema.levels
            if scores.groups(level.name)
        ],
    }


def _missing_edits(snapshot: Snapshot, model: str) -> dict[str, Any]:
    """A model's edits that are not there, each with its sample, what became of it, and why."""
    gone = [one for one in snapshot.missing if one.edit.model == model]
    lines = [
        (one.edit.sample, link("/sample", id=one.edit.sample, model=model), str(one.status), one.reason)
        for one in gone[:_MAX_MISSING]
    ]
    return {"missing": lines, "unlisted": len(gone) - len(lines)}


def suggested_links(snapshot: Snapshot) -> list[CountedLink]:
    """Where a reader may want to begin."""
    heaviest = max(snapshot.distinct_weights, default=0.0)
    wanted = [("Questions on which models disagree", Filters(split="yes"))]
    if heaviest >= _MIN_HEAVY_WEIGHT:
        words = f"Questions of weight {heaviest:g} that some model has wrong"
        wanted.append((words, Filters(outcome="wrong", weight=f"{heaviest:g}")))
    wanted.append(("Questions without an answer", Filters(outcome="unanswered")))
    found = [
        CountedLink(words, len(filter_items(choice, snapshot)), link("/questions", **choice.params))
        for words, choice in wanted
    ]
    return [look for look in found if look.total]


def _outcome_states(snapshot: Snapshot) -> Sequence[tuple[str, str, AnswerState]]:
    words = outcome_labels(snapshot)
    return (
        (words["right"], "right", AnswerState.RIGHT),
        (words["wrong"], "wrong", AnswerState.WRONG),
        (words["unanswered"], "unanswered", AnswerState.UNANSWERED),
        (words["unasked"], "unasked", AnswerState.UNASKED),
    )


def outcome_labels(snapshot: Snapshot) -> dict[str, str]:
    """How outcomes are called: grades on a scale are not simply right or wrong."""
    right, wrong = ("upper half", "lower half") if snapshot.has_grades else ("right", "wrong")
    unanswered, unasked = "unanswered", "not asked yet"
    if snapshot.measured_only:
        unanswered, unasked = "not measured", "not measured yet"
    return {"right": right, "wrong": wrong, "unanswered": unanswered, "unasked": unasked}


def _questions_url(model: str, outcome: str) -> str:
    return link("/questions", **Filters(model=model, outcome=outcome).params)


def _overall_cell(scores: Scorecard, model: str, column: str) -> ScoreCell:
    place = best_and_second(scores, "overall", "overall", column, {}).get(model, 0)
    choice = Filters(model=model, metric=column, order="worst")
    cell = scores.cell(model, column)
    return _score_cell(scores, cell, column, place, href=link("/samples", **choice.params))


def _table_by_model(scores: Scorecard, level: Level, column: str) -> GroupTable:
    """A row a group, a column a model, in one metric."""
    heads = [(model, link("/model", name=model)) for model in scores.models]
    cells = {
        group: [scores.cell(model, column, group, level.name) for model in scores.models]
        for group in scores.groups(level.name)
    }
    shade = _CellShading(scores, column, [cell for row in cells.values() for cell in row])
    lines = []
    for group, row in cells.items():
        marks = best_and_second(scores, level.name, group, column, {})
        shown = [
            _score_cell(
                scores,
                cell,
                column,
                marks.get(model, 0),
                shade(cell),
                level,
                _samples_url(level, group, model=model, metric=column, order="worst"),
            )
            for model, cell in zip(scores.models, row, strict=True)
        ]
        lines.append(ScoreRow(_group_label(level, group), _samples_url(level, group), shown))
    return GroupTable(level.name, level.plural, heads, lines)


def _table_by_metric(scores: Scorecard, level: Level, model: str, shown: Sequence[str]) -> GroupTable:
    """A row a group, a column a metric, of one model."""
    groups = scores.groups(level.name)
    shades = {
        column: _CellShading(scores, column, [scores.cell(model, column, g, level.name) for g in groups])
        for column in shown
    }
    lines = []
    for group in groups:
        cells = []
        for column in shown:
            cell = scores.cell(model, column, group, level.name)
            href = _samples_url(level, group, model=model, metric=column, order="worst")
            shade = shades[column](cell) if len(groups) > 1 else 0
            cells.append(_score_cell(scores, cell, column, 0, shade, level, href))
        href = _samples_url(level, group, model=model, order="worst")
        lines.append(ScoreRow(_group_label(level, group), href, cells))
    return GroupTable(level.name, level.plural, [], lines)


def _group_label(level: Level, group: str) -> str:
    return "all samples" if level.name == "overall" else group


def _samples_url(level: Level, group: str, **more: str) -> str:
    """Where a group leads: a difference between groups leads nowhere."""
    if level.difference_of is not None:
        return ""
    where = "" if level.name == "overall" else f"{level.name}:{group}"
    return link("/samples", **Filters(group=where, **more).params)


def _score_cell(
    scores: Scorecard,
    cell: ScoreEstimate,
    column: str,
    place: int,
    shade: int = 0,
    level: Level | None = None,
    href: str = "",
) -> ScoreCell:
    metric = scores.table.schema.find_metric(column)
    minus = level is not None and level.difference_of is not None
    sign = "+" if minus else ""
    return ScoreCell(
        formatting.format_value(cell.value, metric.digits, sign),
        formatting.format_interval(cell.low, cell.high, metric.digits, sign),
        numbers.format_coverage(cell),
        place,
        None if minus else _interval_bar(cell, metric.low, metric.high),
        shade,
        href if cell.total else "",
    )


def _interval_bar(cell: ScoreEstimate, low: float, high: float) -> IntervalBar | None:
    if cell.value is None:
        return None

    def at(value: float) -> float:
        return round(100.0 * min(1.0, max(0.0, (value - low) / (high - low))), 1)

    ends = (cell.value, cell.value) if cell.low is None or cell.high is None else cell.interval
    return IntervalBar(at(ends[0] or 0.0), at(cell.value), at(ends[1] or 0.0))


class _CellShading:
    """How good a cell is beside the others of its table, from 0 to 8."""

    def __init__(self, scores: Scorecard, column: str, cells: Sequence[ScoreEstimate]) -> None:
        there = [cell.value for cell in cells if cell.value is not None]
        self._low, self._high = min(there, default=0.0), max(there, default=0.0)
        self._up = scores.table.schema.higher_is_better(column)

    def __call__(self, cell: ScoreEstimate) -> int:
        if cell.value is None or self._high <= self._low:
            return 0
        share = (cell.value - self._low) / (self._high - self._low)
        return round(_SHADE_STEPS * (share if self._up else 1.0 - share))


def _direction_hint(snapshot: Snapshot, column: str) -> str:
    """What is better, where it is not more."""
    return "" if snapshot.schema.higher_is_better(column) else "less is better"
