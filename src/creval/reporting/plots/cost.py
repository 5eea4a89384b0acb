"""Cost plot: score of each model over the cost or time of an edit, with strategies of one editor joined."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from creval.core.errors import CrevalError
from creval.core.formatting import format_money, format_seconds
from creval.reporting.edit_costs import ProvenanceByModel
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.label_placement import draw_labelled_point, place_labels
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOG_SCALE_RATIO = 8.0  # the axis is logarithmic if the largest value is this many times the smallest


@canvas.plot_style()
def cost(card: Scorecard, provenances: ProvenanceByModel, *, about: str = "") -> Figure:
    """Draw each model's score over the cost of an edit or, if no cost is known, its time."""
    rank = card.table.schema.ranking_column
    scored = [name for name in card.models if card.cell(name, rank).value is not None]
    costs = {name: provenances[name].cost_per_edit for name in scored if name in provenances}
    in_money = any(costs.values())
    if not in_money:
        costs = {name: provenances[name].seconds_per_edit for name in costs}
    drawn = {name: found for name, found in costs.items() if found is not None}
    if not drawn:
        raise CrevalError(
            "the cost and time of this run's edits are unknown. They are recorded for edits made by `creval edit` and "
            "judged from its output folder."
        )
    what = "cost" if in_money else "time"
    cells = [card.cell(name, rank) for name in drawn]
    missing = [name for name in card.models if name not in drawn]
    unknown = "cost" if in_money else "time"
    absent = f"Not shown, {unknown} unknown: {', '.join(model_labels(missing).values())}. "
    lines = _strategy_lines(card, provenances, drawn, rank)
    joined = "Lines join the strategies of one editor. " if lines else ""
    made_up, body = canvas.make_figure(
        f"{escape_plot_text(rank)} and {what} per edit of each model",
        f"{about}Bars: 95 % intervals over samples. {joined}{canvas.hollow_note(cells)}"
        f"{absent if missing else ''}The {what} includes all calls behind an edit: candidates, picking and planning. "
        "Axes may show only a part of their range.",
        4.2,
        alt_text=f"{selection.values_text(card, [rank])} {_costs_text(drawn, in_money)}",
        width=6.2,
    )
    axes = body.add_subplot()
    for across, up, colour in lines:
        axes.plot(across, up, color=colour, linewidth=1.0, alpha=0.55, zorder=1)
    shown = model_labels(drawn, 22, 2)
    spots = [
        draw_labelled_point(axes, drawn[name], card.cell(name, rank), canvas.series_style(at), shown[name], zorder=3)
        for at, name in enumerate(card.models)
        if name in drawn
    ]
    metric = card.table.schema.find_metric(rank)
    axes.set_xlabel("US dollars per edit" if in_money else "seconds of calls per edit")
    axes.set_ylabel(selection.axis_label(metric, rank))
    axes.margins(0.14)
    _set_cost_scale(axes, list(drawn.values()))
    axes.set_ylim(selection.clip_to_range(axes.get_ylim(), metric))
    axes.grid()
    joins = [(*one, *two) for across, up, _ in lines for one, two in pairwise(zip(across, up, strict=True))]
    place_labels(made_up, axes, spots, lines=joins)
    return made_up


StrategyLine = tuple[list[float], list[float], str]
"""X values, y values and a colour."""


def _strategy_lines(
    card: Scorecard, provenances: ProvenanceByModel, drawn: dict[str, float], rank: str
) -> list[StrategyLine]:
    """Return a line per editor through its strategies, cheapest first."""
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


def _set_cost_scale(axes: Axes, values: list[float]) -> None:
    """Set a logarithmic axis if values differ by a large factor."""
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
    return f"Per edit: {', '.join(parts)}."
