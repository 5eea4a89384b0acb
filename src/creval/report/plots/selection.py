"""What a plot shows of a scorecard: which models, columns and groups, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from creval.core.errors import CrevalError, known_name
from creval.core.formatting import interval, value, visible
from creval.core.schema import Metric
from creval.report.plots.names import harmless, wrapped
from creval.report.sentences import samples
from creval.report.tables import columns
from creval.stats.scorecard import Scorecard


def scale(metric: Metric) -> str:
    """What a metric's numbers are: their range, and which end is good where that may surprise."""
    low = "" if metric.higher_is_better else ", lower is better"
    return f"{metric.low:g} to {metric.high:g}{low}"


def heading(card: Scorecard, column: str, level: str = "overall", panels: int = 4) -> str:
    """A column by its name, its words and its range; of a level of differences, what they are.

    So wide that as many panels as there are can stand side by side.
    """
    metric = card.table.card.metric(column)
    words = wrapped(f"{column}: {metric.label}", 100 // panels, 3)
    if card.table.card.level(level).minus is not None:
        return f"{words}\n(differences, of {metric.low:g} to {metric.high:g})"
    return f"{words}\n({scale(metric)})"


def about(card: Scorecard, manifest: Mapping[str, Any]) -> str:
    """What a plot rests on: the benchmark, the judge, the samples, and how columns are made."""
    table = card.table
    asked = manifest.get("protocol", manifest["benchmark"])
    protocol = f", asked as {asked}" if asked != manifest["benchmark"] else ""
    judge = f"judge {manifest['judge']}" if manifest["judge"] else "measured"
    strict = ", strict" if table.strict else ""
    formula = f" {table.card.formula}." if table.card.formula else ""
    return harmless(
        f"{manifest['benchmark']}{protocol}, {judge}, {samples(table)}{strict}.{formula} "
    )


def told(card: Scorecard, columns: Sequence[str]) -> str:
    """The models' values in some columns, for those who cannot see a plot."""
    parts = []
    for column in columns:
        digits = card.table.card.metric(column).digits
        cells = {name: card.cell(name, column) for name in card.systems}
        values = (
            f"{visible(n)} {value(c.value, digits)} {interval(c.low, c.high, digits)}".rstrip()
            for n, c in cells.items()
        )
        parts.append(f"{visible(column)} overall: {', '.join(values)}.")
    return " ".join(parts)


def there(
    card: Scorecard, level: str, groups: Sequence[str], metrics: Sequence[str] = ()
) -> list[str]:
    """The columns that some group of a level has a value of, the one that ranks first; or those
    that are named."""
    for name in metrics:
        known_name("metric", name, card.table.card.columns)
    rank = card.table.card.ranking
    wanted = metrics or sorted(columns(card), key=lambda column: column != rank)
    cells = ((column, system, group) for column in wanted for system in card.systems
             for group in groups)  # fmt: skip
    found = {
        column: None
        for column, system, group in cells
        if card.cell(system, column, group, level).value is not None
    }
    if not found:
        what = ", ".join(wanted) if metrics else "anything"
        raise CrevalError(f"no model has a value of {what} here yet, so there is nothing to draw.")
    return list(found)


def finest(card: Scorecard, level: str, fewest: int = 1) -> str:
    """A level by its name or, without one, the finest that groups samples."""
    levels = card.table.card.levels
    if level:
        found = card.table.card.level(level).name
    else:
        tagged = [one.name for one in levels if one.tagged and card.groups(one.name)]
        if not tagged:
            raise CrevalError(
                "this run's samples are in no groups, so there is nothing to set side by side: "
                "`creval plot RUN forest` draws the whole."
            )
        found = tagged[-1]
    if len(card.groups(found)) < fewest:
        others = ", ".join(one.name for one in levels if len(card.groups(one.name)) >= fewest)
        more = f"give --level, one of: {others}" if others else "`creval plot RUN groups` draws it"
        raise CrevalError(
            f"the level {found} has {len(card.groups(found))} groups with samples, and this plot "
            f"needs {fewest}: {more}."
        )
    return found


def chosen(card: Scorecard, most: int) -> tuple[tuple[str, ...], str]:
    """The best models, as many as can be told apart, and a sentence where that is not all."""
    shown = card.systems[:most]
    if len(shown) == len(card.systems):
        return shown, ""
    return shown, (
        f"Of {len(card.systems)} models the first {most} by {harmless(card.table.card.ranking)}; "
        "--models chooses others. "
    )
