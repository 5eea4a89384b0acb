"""The start page and the page of a model: scores with links to their samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from creval.core import formatting
from creval.core.schema import Level
from creval.providers.catalog import describe_judge
from creval.reporting import edit_costs, numbers, sentences
from creval.reporting.tables import best_and_second, visible_columns
from creval.stats.scorecard import Scorecard, ScoreEstimate
from creval.store.provenance import read_provenance
from creval.web.common.pages import link
from creval.web.viewer.filters import OUTCOMES, Filters, filter_items, outcome_labels, resolve_name
from creval.web.viewer.snapshot import RESAMPLES, Snapshot

_SHADE_STEPS = 8
_MAX_MISSING = 200  # missing edits listed on a model's page
_MIN_HEAVY_WEIGHT = 3.0  # wrong questions of at least this weight get a link on the start page


class IntervalBar(NamedTuple):
    """Positions of a value and its interval within the range of the metric, in percent."""

    low: float
    value: float
    high: float


class ScoreCell(NamedTuple):
    """A table cell. `rank` is 1 for the best value and 2 for the second; `shade` goes from 0 (worst) to 8 (best)."""

    value: str
    interval: str = ""
    coverage: str = ""
    rank: int = 0
    bar: IntervalBar | None = None
    shade: int = 0
    href: str = ""


class ScoreRow(NamedTuple):
    """A row of a table, with a link for its name."""

    name: str
    href: str
    cells: Sequence[ScoreCell]


class GroupTable(NamedTuple):
    """A table with one row for each group of a level."""

    level: str
    plural: str
    headers: Sequence[tuple[str, str]]
    rows: Sequence[ScoreRow]


class CountedLink(NamedTuple):
    """A link to a list of questions, with their number."""

    label: str
    total: int
    href: str


def start_page(snapshot: Snapshot, column_name: str) -> dict[str, Any]:
    """Return the template variables of the start page. `column_name` is the column of the tables by group."""
    scores = snapshot.scores
    column = resolve_name("metric", column_name, snapshot.schema.columns) or snapshot.schema.ranking_column
    judge = describe_judge(str(snapshot.manifest["judge"]))
    if scores is None:
        looks = suggested_links(snapshot)
        return {"judge": judge, "rows": [], "grids": [], "column": column, "looks": looks, "costs": None}
    shown = visible_columns(scores)
    made = read_provenance(snapshot.manifest)
    models = [(model, link("/model", name=model)) for model in scores.models]
    return {
        "judge": judge,
        "costs": edit_costs.cost_table(scores, made) if made else None,
        "decided": sentences.decided_sentence(scores),
        "basis": sentences.basis_sentence(scores, snapshot.manifest, RESAMPLES, "Bold: best; underlined: second"),
        "heads": [_column_head(snapshot, name) for name in shown],
        "rows": [
            ScoreRow(model, href, [_overall_cell(scores, model, name) for name in shown]) for model, href in models
        ],
        "column": column,
        "columns": [(name, link("/", column=name) + "#groups") for name in shown],
        "grids": [
            _group_table(scores, level, scores.models, [column], models)
            for level in snapshot.schema.levels
            if level.name != "overall" and scores.groups(level.name)
        ],
        "looks": suggested_links(snapshot),
    }


def model_page(snapshot: Snapshot, model: str) -> dict[str, Any]:
    """Return the template variables of a model's page: all metrics for each group of each level."""
    counts = snapshot.states[:, snapshot.models.index(model)]
    ended = [
        CountedLink(
            outcome_labels(snapshot)[outcome],
            int(np.count_nonzero(counts == state)),
            link("/questions", **Filters(model=model, outcome=outcome).params),
        )
        for outcome, state in OUTCOMES.items()
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
    place = numbers.format_places(*scores.rank_ranges[model])
    return {
        **more,
        "place": f"{place} of {len(scores.models)}" if len(scores.models) > 1 else "",
        "heads": [_column_head(snapshot, name) for name in shown],
        "grids": [
            _group_table(scores, level, [model], shown) for level in snapshot.schema.levels if scores.groups(level.name)
        ],
    }


def _missing_edits(snapshot: Snapshot, model: str) -> dict[str, Any]:
    """Return the missing edits of a model: sample, link, status and reason of each."""
    missing = [one for one in snapshot.missing if one.edit.model == model]
    lines = [
        (one.edit.sample, link("/sample", id=one.edit.sample, model=model), str(one.status), one.reason)
        for one in missing[:_MAX_MISSING]
    ]
    return {"missing": lines, "unlisted": len(missing) - len(lines)}


def suggested_links(snapshot: Snapshot) -> list[CountedLink]:
    """Return links to questions that a reader may want to check first."""
    heaviest = max(snapshot.distinct_weights, default=0.0)
    wanted = [("Questions on which models disagree", Filters(split="yes"))]
    if heaviest >= _MIN_HEAVY_WEIGHT:
        words = f"Questions of weight {heaviest:g} that some model gets wrong"
        wanted.append((words, Filters(outcome="wrong", weight=f"{heaviest:g}")))
    wanted.append(("Questions without an answer", Filters(outcome="unanswered")))
    found = [
        CountedLink(words, len(filter_items(choice, snapshot)), link("/questions", **choice.params))
        for words, choice in wanted
    ]
    return [look for look in found if look.total]


def _overall_cell(scores: Scorecard, model: str, column: str) -> ScoreCell:
    place = best_and_second(scores, "overall", "overall", column, {}).get(model, 0)
    choice = Filters(model=model, metric=column, order="worst")
    cell = scores.cell(model, column)
    return _score_cell(scores, cell, column, place, href=link("/samples", **choice.params))


def _group_table(
    scores: Scorecard,
    level: Level,
    models: Sequence[str],
    columns: Sequence[str],
    headers: Sequence[tuple[str, str]] = (),
) -> GroupTable:
    """Return a table with a row per group, and a cell for each column and model.

    With `headers`, the best and second best model of each group and column are marked.
    """
    groups = scores.groups(level.name)
    compared = {c: [scores.cell(m, c, g, level.name).value for g in groups for m in models] for c in columns}
    rows = []
    for group in groups:
        cells = []
        for column in columns:
            marks = best_and_second(scores, level.name, group, column, {}) if headers else {}
            for model in models:
                cell = scores.cell(model, column, group, level.name)
                href = _samples_url(level, group, model=model, metric=column, order="worst")
                shade = _shade(cell.value, compared[column], scores.table.schema.higher_is_better(column))
                cells.append(_score_cell(scores, cell, column, marks.get(model, 0), shade, level, href))
        href = _samples_url(level, group) if headers else _samples_url(level, group, model=models[0], order="worst")
        rows.append(ScoreRow("all samples" if level.name == "overall" else group, href, cells))
    return GroupTable(level.name, level.plural, headers, rows)


def _samples_url(level: Level, group: str, **more: str) -> str:
    """Return the link to the samples of a group, or "" for a difference between groups."""
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


def _shade(value: float | None, compared: Sequence[float | None], higher_is_better: bool) -> int:
    """Return the shade of a value relative to the other values of its column, from 0 (worst) to 8 (best)."""
    known = [one for one in compared if one is not None]
    if value is None or max(known) <= min(known):
        return 0
    share = (value - min(known)) / (max(known) - min(known))
    return round(_SHADE_STEPS * (share if higher_is_better else 1.0 - share))


def _column_head(snapshot: Snapshot, column: str) -> tuple[str, str, str]:
    """Return a column's name and label, and a note if lower values are better."""
    better = "" if snapshot.schema.higher_is_better(column) else "lower is better"
    return column, snapshot.schema.find_metric(column).label, better
