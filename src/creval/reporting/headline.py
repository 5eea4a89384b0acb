"""Headline of a report: the best model, and each model's strengths and weaknesses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from creval.core import formatting
from creval.core.schema import Digits
from creval.reporting import numbers
from creval.reporting.output import OutputTable
from creval.reporting.sentences import join_names
from creval.stats.aggregate import nan_mean
from creval.stats.bootstrap import bootstrap_tables
from creval.stats.score_table import Floats
from creval.stats.scorecard import Scorecard

_RESAMPLES = 500  # for the spread of leads
_MAX_CANDIDATES = 4  # candidates for the best model that are named


def headline_sentence(card: Scorecard) -> str:
    """Name the best model in the ranking column, or the candidates if that is not decided."""
    rank = card.table.schema.ranking_column
    scored = [name for name in card.models if card.cell(name, rank).value is not None]
    if not scored:
        return f"No model has a value in {rank} yet."
    if len(scored) == 1:
        return f"{_format_score(card, scored[0])}; there is nothing to compare it with."
    first = [name for name in scored if card.rank_ranges[name][0] == 1]
    if len(first) == 1:
        best = _format_score(card, first[0])
        return f"{best} is the best of {len(card.models)} models in {rank}. Its lead is statistically significant."
    candidates = [_format_score(card, name) for name in first[:_MAX_CANDIDATES]]
    if more := len(first) - len(candidates):
        candidates.append(formatting.pluralise(more, "more model"))
    return f"It is not decided which model is best in {rank}. Candidates: {join_names(candidates)}."


def _format_score(card: Scorecard, name: str) -> str:
    rank = card.table.schema.ranking_column
    shown = numbers.format_estimate(card.cell(name, rank), card.table.schema.find_metric(rank).digits)
    return f"{formatting.escape_control(name)} ({shown})"


def strengths_and_weaknesses(card: Scorecard) -> OutputTable:
    """Return a table of each model's rank, and of where it is furthest above and below the other models' mean.

    Only significant differences are shown. A single model is shown with its best and its worst metric and group.
    """
    levels = [one.name for one in card.table.schema.levels if one.groups_samples and len(card.groups(one.name)) > 1]
    finest = levels[-1] if levels else ""
    heads = ["model", "rank", "strongest metric", "weakest metric"]
    if finest:
        shown = finest.replace("_", " ")
        heads += [f"strongest {shown}", f"weakest {shown}"]
    (draws,) = bootstrap_tables([card.table], _RESAMPLES, seed=0)
    rows = []
    for name in card.models:
        row = [name, numbers.format_places(*card.rank_ranges[name])]
        row += _strongest_and_weakest(card, _metric_leads(card, draws, name))
        if finest:
            rank = card.table.schema.ranking_column
            leads = {group: _lead(card, draws, name, rank, group, finest) for group in card.groups(finest)}
            known = {group: lead for group, lead in leads.items() if lead is not None}
            row += _strongest_and_weakest(card, known, rank)
        rows.append(row)
    if len(rows) == 1:
        return OutputTable(heads, rows, text_columns=len(heads))
    of = _supported_level(card)
    plural = card.table.schema.find_level(of).plural.replace("_", " ") if of else ""
    over = f", over the {plural} that it and at least one other model support" if of else ""
    return OutputTable(
        heads,
        rows,
        caption=f"In parentheses: the difference to the mean of the other models{over}, with its interval (95 % "
        "for all metrics or all groups of a row together). A dash: no significant difference.",
        text_columns=len(heads),
    )


class _Lead(NamedTuple):
    """A model's lead over the mean of the other models (positive is better).

    `draws` are the leads in the bootstrap resamples.
    """

    value: float
    draws: Floats

    def interval(self, leads: int) -> tuple[float, float]:
        """Return an interval with joint 95 % coverage for this number of leads (Bonferroni, normal)."""
        there = self.draws[~np.isnan(self.draws)]
        scatter = float(there.std()) if len(there) > 1 else math.inf
        reach = NormalDist().inv_cdf(1 - 0.05 / (2 * leads)) * scatter
        return self.value - reach, self.value + reach


def _metric_leads(card: Scorecard, draws: Mapping[str, Floats], name: str) -> dict[str, _Lead]:
    """Return a model's lead over the others in each metric."""
    found = {}
    of = _supported_level(card)
    for metric in card.table.schema.metrics:
        places = [(group, of) for group in card.groups(of)] if of else [("overall", "overall")]
        leads = (_lead(card, draws, name, metric.name, *place) for place in places)
        if there := [lead for lead in leads if lead is not None]:
            mean = sum(lead.value for lead in there) / len(there)
            found[metric.name] = _Lead(mean, nan_mean(np.stack([lead.draws for lead in there]), 0))
    return found


def _supported_level(card: Scorecard) -> str:
    """Return the level whose groups a model's lead is averaged over; an empty string if all samples are supported.

    A lead is a model's difference to the mean of the other models. An unsupported group counts 0 in the overall
    score, which would look like a weakness, so leads are computed in supported groups and averaged.
    """
    return card.table.schema.find_level("overall").mean_of or "" if any(card.table.unsupported.values()) else ""


def _lead(card: Scorecard, draws: Mapping[str, Floats], name: str, column: str, group: str, level: str) -> _Lead | None:
    """Return a model's lead over the mean of the other models in a group; with a single model, its own value.

    `draws` has the resampled scores by level. The leads in the resamples are NaN if there are too few samples for an
    interval. Returns None if there is nothing to compare.
    """
    cells = {other: card.cell(other, column, group, level) for other in card.models}
    there = [other for other, cell in cells.items() if cell.value is not None and other != name]
    own = cells[name]
    if own.value is None or (len(cells) > 1 and not there):
        return None
    schema, models = card.table.schema, card.table.models
    if len(cells) == 1:
        return _Lead(own.value, np.zeros(1))
    at = schema.find_level(level).groups.index(group), schema.columns.index(column)
    drawn = draws[level][:, at[0], :, at[1]]
    sign = 1 if schema.higher_is_better(column) else -1
    mean = sum(cells[other].value or 0.0 for other in there) / len(there)
    others = nan_mean(drawn[:, [models.index(other) for other in there]], 1)
    scatter = sign * (drawn[:, models.index(name)] - others)
    return _Lead(sign * (own.value - mean), scatter if own.low is not None else np.full_like(scatter, np.nan))


def _strongest_and_weakest(card: Scorecard, leads: Mapping[str, _Lead], column: str = "") -> list[str]:
    """Return the largest significant lead above and below the mean, or dashes.

    `leads` are of groups in the metric `column` or, if `column` is empty, of metrics.
    """
    if len(card.models) == 1:
        names = sorted(leads, key=lambda name: -leads[name].value)
        shown = [_format_lead(card, name, leads[name], column, "") for name in names]
        return [shown[0], shown[-1] if len(shown) > 1 else "–"] if shown else ["–", "–"]
    found = []
    for side in (1, -1):
        apart = {name: lead for name, lead in leads.items() if min(side * end for end in lead.interval(len(leads))) > 0}
        best = max(apart, key=lambda name: side * apart[name].value, default="")
        found.append(_format_lead(card, best, apart[best], column, "+", len(leads)) if best else "–")
    return found


def _format_lead(card: Scorecard, name: str, lead: _Lead, column: str, sign: str, leads: int = 0) -> str:
    digits = Digits(*[card.table.schema.find_metric(column or name).digits.ends] * 2)
    ends = f" {formatting.format_interval(*lead.interval(leads), digits, sign)}" if leads else ""
    return f"{formatting.escape_control(name)} ({formatting.format_value(lead.value, digits, sign)}{ends})"
