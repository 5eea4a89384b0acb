"""Selection and labelling of the models, columns and groups in a plot."""

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
    """Return a metric's range, with a note if lower is better."""
    low = "" if metric.higher_is_better else ", lower is better"
    return f"{metric.low:g} to {metric.high:g}{low}"


def axis_label(metric: Metric, column: str) -> str:
    """Return the label of an axis of a metric's values."""
    name = "" if metric.label == column else f"{escape_plot_text(column)}, "
    return f"{escape_plot_text(metric.label)} ({name}{format_metric_scale(metric)})"


def clip_to_range(limits: tuple[float, float], metric: Metric) -> tuple[float, float]:
    """Clip axis limits to the metric's range with a small margin."""
    more = 0.05 * (metric.high - metric.low)
    return max(limits[0], metric.low - more), min(limits[1], metric.high + more)


def column_heading(card: Scorecard, column: str, level: str = "overall", panels: int = 4) -> str:
    """Return a column's title and range, wrapped so that `panels` panels fit side by side."""
    metric = card.table.schema.find_metric(column)
    words = wrap_label(metric.title, 100 // panels, 3)
    if card.table.schema.find_level(level).difference_of is not None:
        return f"{words}\n(differences; scale {metric.low:g} to {metric.high:g})"
    return f"{words}\n({format_metric_scale(metric)})"


def describe_basis(card: Scorecard, manifest: Mapping[str, Any]) -> str:
    """Describe the benchmark, the judge, the samples and the formula behind a plot."""
    table = card.table
    judge = f"judge {describe_judge(manifest['judge'])}" if manifest["judge"] else "measured"
    strict = ", strict scoring" if table.strict else ""
    formula = f" {table.schema.formula}." if table.schema.formula else ""
    return escape_plot_text(f"{benchmark_phrase(manifest)}, {judge}, {samples_phrase(table)}{strict}.{formula} ")


def values_text(card: Scorecard, columns: Sequence[str]) -> str:
    """Return the models' values in some columns as text for screen readers."""
    parts = []
    for column in columns:
        digits = card.table.schema.find_metric(column).digits
        cells = {name: card.cell(name, column) for name in card.models}
        values = (f"{escape_control(name)} {format_estimate(cell, digits)}" for name, cell in cells.items())
        parts.append(f"{escape_control(column)} overall: {', '.join(values)}.")
    return " ".join(parts)


def columns_with_values(card: Scorecard, level: str, groups: Sequence[str], metrics: Sequence[str] = ()) -> list[str]:
    """Return the columns with a value in some group of a level, the ranking column first.

    `metrics` restricts the columns and sets their order.
    """
    for name in metrics:
        require_known("metric", name, card.table.schema.columns)
    rank = card.table.schema.ranking_column
    wanted = metrics or sorted(visible_columns(card), key=lambda column: column != rank)
    cells = ((column, model, group) for column in wanted for model in card.models for group in groups)
    found = {column: None for column, model, group in cells if card.cell(model, column, group, level).value is not None}
    if not found:
        what = f" in {', '.join(wanted)}" if metrics else ""
        raise CrevalError(f"no model has a value{what} yet, so there is nothing to draw.")
    return list(found)


def resolve_level(card: Scorecard, level: str, min_groups: int = 1) -> str:
    """Return the level of this name or, if the name is empty, the finest level that groups samples."""
    levels = card.table.schema.levels
    if level:
        found = card.table.schema.find_level(level).name
    else:
        tagged = [one.name for one in levels if one.groups_samples and card.groups(one.name)]
        if not tagged:
            raise CrevalError(
                "this run's samples have no groups to compare. `creval plot RUN forest` draws the overall scores."
            )
        found = tagged[-1]
    if len(card.groups(found)) < min_groups:
        others = ", ".join(one.name for one in levels if len(card.groups(one.name)) >= min_groups)
        more = f"Give `level`, one of: {others}" if others else "`creval plot RUN groups` draws it"
        raise CrevalError(
            f"the level {found} has {len(card.groups(found))} groups with samples, but this plot "
            f"needs at least {min_groups}. {more}."
        )
    return found


def top_models(card: Scorecard, limit: int) -> tuple[tuple[str, ...], str]:
    """Return the best models up to the limit, and a sentence if models are left out."""
    shown = card.models[:limit]
    if len(shown) == len(card.models):
        return shown, ""
    return shown, (
        f"The first {limit} of {len(card.models)} models by {escape_plot_text(card.table.schema.ranking_column)}; "
        "`models` selects others. "
    )
