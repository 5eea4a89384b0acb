"""What a plot shows of a scorecard: which models, columns and groups, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from creval.core.errors import CrevalError, require_known
from creval.core.formatting import escape_control
from creval.core.schema import Metric
from creval.providers.catalog import describe_judge
from creval.reporting.numbers import format_estimate
from creval.reporting.plots.names import escape_plot_text, wrap_label
from creval.reporting.sentences import benchmark_phrase, samples_phrase
from creval.reporting.tables import visible_columns
from creval.stats.scorecard import Scorecard


def format_metric_scale(metric: Metric) -> str:
    """What a metric's numbers are: their range, and which end is good where that may surprise."""
    low = "" if metric.higher_is_better else ", lower is better"
    return f"{metric.low:g} to {metric.high:g}{low}"


def axis_label(metric: Metric, column: str) -> str:
    """What an axis of a metric's values says."""
    name = "" if metric.label == column else f"{escape_plot_text(column)}, "
    return f"{escape_plot_text(metric.label)} ({name}{format_metric_scale(metric)})"


def clip_to_range(limits: tuple[float, float], metric: Metric) -> tuple[float, float]:
    """The limits of an axis, at most a little outside its metric's range."""
    more = 0.05 * (metric.high - metric.low)
    return max(limits[0], metric.low - more), min(limits[1], metric.high + more)


def column_heading(card: Scorecard, column: str, level: str = "overall", panels: int = 4) -> str:
    """A column by its name, its words and its range, so wide that so many panels can stand side by side."""
    metric = card.table.schema.find_metric(column)
    words = wrap_label(metric.title, 100 // panels, 3)
    if card.table.schema.find_level(level).difference_of is not None:
        return f"{words}\n(differences, of {metric.low:g} to {metric.high:g})"
    return f"{words}\n({format_metric_scale(metric)})"


def describe_basis(card: Scorecard, manifest: Mapping[str, Any]) -> str:
    """What a plot rests on: the benchmark, the judge, the samples, and how columns are made."""
    table = card.table
    judge = f"judge {describe_judge(manifest['judge'])}" if manifest["judge"] else "measured"
    strict = ", strict" if table.strict else ""
    formula = f" {table.schema.formula}." if table.schema.formula else ""
    return escape_plot_text(f"{benchmark_phrase(manifest)}, {judge}, {samples_phrase(table)}{strict}.{formula} ")


def values_text(card: Scorecard, columns: Sequence[str]) -> str:
    """The models' values in some columns, for those who cannot see a plot."""
    parts = []
    for column in columns:
        digits = card.table.schema.find_metric(column).digits
        cells = {name: card.cell(name, column) for name in card.models}
        values = (f"{escape_control(name)} {format_estimate(cell, digits)}" for name, cell in cells.items())
        parts.append(f"{escape_control(column)} overall: {', '.join(values)}.")
    return " ".join(parts)


def columns_with_values(card: Scorecard, level: str, groups: Sequence[str], metrics: Sequence[str] = ()) -> list[str]:
    """The columns that some group of a level has a value of, the one that ranks first; or those that are named."""
    for name in metrics:
        require_known("metric", name, card.table.schema.columns)
    rank = card.table.schema.ranking_column
    wanted = metrics or sorted(visible_columns(card), key=lambda column: column != rank)
    cells = ((column, model, group) for column in wanted for model in card.models for group in groups)
    found = {column: None for column, model, group in cells if card.cell(model, column, group, level).value is not None}
    if not found:
        what = ", ".join(wanted) if metrics else "anything"
        raise CrevalError(f"no model has a value of {what} here yet, so there is nothing to draw.")
    return list(found)


def resolve_level(card: Scorecard, level: str, min_groups: int = 1) -> str:
    """A level by its name or, without one, the finest that groups samples."""
    levels = card.table.schema.levels
    if level:
        found = card.table.schema.find_level(level).name
    else:
        tagged = [one.name for one in levels if one.groups_samples and card.groups(one.name)]
        if not tagged:
            raise CrevalError(
                "this run's samples are in no groups, so there is nothing to set side by side: "
                "`creval plot RUN forest` draws the whole."
            )
        found = tagged[-1]
    if len(card.groups(found)) < min_groups:
        others = ", ".join(one.name for one in levels if len(card.groups(one.name)) >= min_groups)
        more = f"give `level`, one of: {others}" if others else "`creval plot RUN groups` draws it"
        raise CrevalError(
            f"the level {found} has {len(card.groups(found))} groups with samples, and this plot "
            f"needs {min_groups}: {more}."
        )
    return found


def top_models(card: Scorecard, limit: int) -> tuple[tuple[str, ...], str]:
    """The best models, as many as can be told apart, and a sentence where that is not all."""
    shown = card.models[:limit]
    if len(shown) == len(card.models):
        return shown, ""
    return shown, (
        f"Of {len(card.models)} models the first {limit} by {escape_plot_text(card.table.schema.ranking_column)}; "
        "`models` chooses others. "
    )
