"""What a score costs: models by the price or the time of an edit, and one model's strategies."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from creval.core.errors import CrevalError
from creval.core.formatting import format_money, format_seconds
from creval.reporting.edit_costs import ProvenanceByModel
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.label_placement import LabelledPoint, Segment, place_labels
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOG_SCALE_RATIO = 8.0  # times the least, from which on an axis is logarithmic


@canvas.with_plot_style
def cost(card: Scorecard, provenances: ProvenanceByModel, *, about: str = "") -> Figure:
    """Each model's score over what an edit costs or, where no cost is known, over how long it
    takes; the same editor's strategies are joined."""
    rank = card.table.schema.ranking_column
    scored = [name for name in card.models if card.cell(name, rank).value is not None]
    costs = {name: provenances[name].cost_per_edit for name in scored if name in provenances}
    in_money = any(costs.values())
    if not in_money:
        costs = {name: provenances[name].seconds_per_edit for name in costs}
    drawn = {name: found for name, found in costs.items() if found is not None}
    if not drawn:
        raise CrevalError(
            "this run knows neither the cost nor the time of its edits: it does of what `creval "
            "edit` made, judged from the folder that it made."
        )
    what = "costs" if in_money else "takes"
    cells = [card.cell(name, rank) for name in drawn]
    missing = [name for name in card.models if name not in drawn]
    unknown = "Cost" if in_money else "Time"
    absent = f"{unknown} not known, so not shown: {', '.join(model_labels(missing).values())}. "
    lines = _strategy_lines(card, provenances, drawn, rank)
    joined = "Lines join one editor's strategies. " if lines else ""
    made_up, body = canvas.make_figure(
        f"{escape_plot_text(rank)} of each model, and what an edit {what}",
        f"{about}Bars: 95 % intervals over samples. {joined}{canvas.hollow_note(cells)}"
        f"{absent if missing else ''}All calls behind an edit count: candidates, picking, "
        "planning. The axes may show a part of their range.",
        4.2,
        alt_text=f"{selection.values_text(card, [rank])} {_costs_text(drawn, in_money)}",
        width=6.2,
    )
    axes = body.add_subplot()
    for across, up, colour in lines:
        axes.plot(across, up, color=colour, linewidth=1.0, alpha=0.55, zorder=1)
    shown = model_labels(drawn, 22, 2)
    spots = []
    for at, name in enumerate(card.models):
        if name in drawn:
            spots.append(_draw_model(axes, card, name, drawn[name], canvas.series_style(at), shown[name]))
    metric = card.table.schema.find_metric(rank)
    axes.set_xlabel("US dollars an edit" if in_money else "seconds of calls an edit")
    axes.set_ylabel(
        f"{escape_plot_text(metric.label)} ({escape_plot_text(rank)}, {selection.format_metric_scale(metric)})"
    )
    axes.margins(0.14)
    _set_cost_scale(axes, list(drawn.values()))
    low, high = axes.get_ylim()
    more = 0.05 * (metric.high - metric.low)
    axes.set_ylim(max(low, metric.low - more), min(high, metric.high + more))
    axes.grid()
    place_labels(made_up, axes, spots, lines=[part for line in lines for part in _line_segments(line)])
    return made_up


StrategyLine = tuple[list[float], list[float], str]
"""Places across and up, and a colour."""


def _strategy_lines(
    card: Scorecard, provenances: ProvenanceByModel, drawn: dict[str, float], rank: str
) -> list[StrategyLine]:
    """From one strategy of an editor to the next dearer one."""
    found: dict[str, list[tuple[float, float, int]]] = {}
    for at, name in enumerate(card.models):
        if name in drawn:
            up = card.cell(name, rank).value or 0.0
            found.setdefault(provenances[name].editor, []).append((drawn[name], up, at))
    lines = []
    for several in found.values():
        if len(several) > 1:
            points = sorted(several)
            colour = canvas.series_style(points[0][2]).colour
            lines.append(([p[0] for p in points], [p[1] for p in points], colour))
    return lines


def _line_segments(line: StrategyLine) -> list[Segment]:
    across, up, _ = line
    ends = list(zip(across, up, strict=True))
    return [(*one, *two) for one, two in pairwise(ends)]


def _draw_model(
    axes: Axes, card: Scorecard, name: str, across: float, series: canvas.SeriesStyle, words: str
) -> LabelledPoint:
    cell = card.cell(name, card.table.schema.ranking_column)
    up, ends = cell.value or 0.0, canvas.error_bar(cell)
    if ends is not None:
        axes.errorbar(across, up, yerr=ends, fmt="none", ecolor=series.colour, elinewidth=1.1, capsize=2.5, zorder=2)
    axes.plot(
        across,
        up,
        marker=series.marker,
        linestyle="",
        markersize=1.2 * series.size,
        markeredgecolor=series.colour,
        markerfacecolor=series.colour if ends else "none",
        zorder=3,
    )
    bars = [(across, cell.low, across, cell.high)] if cell.low is not None is not cell.high else []
    return LabelledPoint(across, up, words, bars)


def _set_cost_scale(axes: Axes, values: list[float]) -> None:
    """Logarithmic where values lie far apart, from zero where they do not."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    least, most = min(values), max(values)
    if least > 0 and most / least >= _LOG_SCALE_RATIO:
        axes.set_xscale("log")
        steps = (1.0, 2.0, 5.0) if most / least < 1000 else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0 if least == 0 else None)


def _costs_text(drawn: dict[str, float], in_money: bool) -> str:
    parts = (f"{escape_plot_text(n)} {format_money(v) if in_money else format_seconds(v)}" for n, v in drawn.items())
    return f"An edit: {', '.join(parts)}."
