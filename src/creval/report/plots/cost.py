"""What a score costs: models by the price or the time of an edit, and one model's strategies."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from creval.core.errors import CrevalError
from creval.core.formatting import money, seconds
from creval.report.costs import Makers
from creval.report.plots import canvas, selection
from creval.report.plots.label_placement import Segment, Spot, place
from creval.report.plots.names import harmless, names
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE = 8.0  # times the least, from which on an axis is logarithmic


@canvas.styled
def cost(card: Scorecard, made: Makers, *, about: str = "") -> Figure:
    """Each model's score over what an edit costs or, where no cost is known, over how long it
    takes; the same editor's strategies are joined."""
    rank = card.table.card.ranking
    scored = [name for name in card.systems if card.cell(name, rank).value is not None]
    costs = {name: made[name].cost for name in scored if name in made}
    in_money = any(costs.values())
    if not in_money:
        costs = {name: made[name].seconds for name in costs}
    drawn = {name: found for name, found in costs.items() if found is not None}
    if not drawn:
        raise CrevalError(
            "this run knows neither the cost nor the time of its edits: it does of what `creval "
            "edit` made, judged from the folder that it made."
        )
    what = "costs" if in_money else "takes"
    cells = [card.cell(name, rank) for name in drawn]
    missing = [name for name in card.systems if name not in drawn]
    unknown = "Cost" if in_money else "Time"
    absent = f"{unknown} not known, so not shown: {', '.join(names(missing).values())}. "
    lines = _lines(card, made, drawn, rank)
    joined = "Lines join one editor's strategies. " if lines else ""
    made_up, body = canvas.sheet(
        f"{harmless(rank)} of each model, and what an edit {what}",
        f"{about}Bars: 95 % intervals over samples. {joined}{canvas.hollow(cells)}"
        f"{absent if missing else ''}All calls behind an edit count: candidates, picking, "
        "planning. The axes may show a part of their range.",
        4.2,
        told=f"{selection.told(card, [rank])} {_told(drawn, in_money)}",
        wide=6.2,
    )
    axes = body.add_subplot()
    for across, up, colour in lines:
        axes.plot(across, up, color=colour, linewidth=1.0, alpha=0.55, zorder=1)
    shown = names(drawn, 22, 2)
    spots = []
    for at, name in enumerate(card.systems):
        if name in drawn:
            spots.append(_point(axes, card, name, drawn[name], canvas.look(at), shown[name]))
    metric = card.table.card.metric(rank)
    axes.set_xlabel("US dollars an edit" if in_money else "seconds of calls an edit")
    axes.set_ylabel(f"{harmless(metric.label)} ({harmless(rank)}, {selection.scale(metric)})")
    axes.margins(0.14)
    _scale(axes, list(drawn.values()))
    low, high = axes.get_ylim()
    more = 0.05 * (metric.high - metric.low)
    axes.set_ylim(max(low, metric.low - more), min(high, metric.high + more))
    axes.grid()
    place(made_up, axes, spots, lines=[part for line in lines for part in _parts(line)])
    return made_up


Line = tuple[list[float], list[float], str]
"""Places across and up, and a colour."""


def _lines(card: Scorecard, made: Makers, drawn: dict[str, float], rank: str) -> list[Line]:
    """From one strategy of an editor to the next dearer one."""
    found: dict[str, list[tuple[float, float, int]]] = {}
    for at, name in enumerate(card.systems):
        if name in drawn:
            up = card.cell(name, rank).value or 0.0
            found.setdefault(made[name].editor, []).append((drawn[name], up, at))
    lines = []
    for several in found.values():
        if len(several) > 1:
            points = sorted(several)
            colour = canvas.look(points[0][2]).colour
            lines.append(([p[0] for p in points], [p[1] for p in points], colour))
    return lines


def _parts(line: Line) -> list[Segment]:
    across, up, _ = line
    ends = list(zip(across, up, strict=True))
    return [(*one, *two) for one, two in pairwise(ends)]


def _point(
    axes: Axes, card: Scorecard, name: str, across: float, seen: canvas.Look, words: str
) -> Spot:
    cell = card.cell(name, card.table.card.ranking)
    up, ends = cell.value or 0.0, canvas.reach(cell)
    if ends is not None:
        axes.errorbar(across, up, yerr=ends, fmt="none", ecolor=seen.colour, elinewidth=1.1,
                      capsize=2.5, zorder=2)  # fmt: skip
    axes.plot(
        across, up, marker=seen.mark, linestyle="", markersize=1.2 * seen.size,
        markeredgecolor=seen.colour, markerfacecolor=seen.colour if ends else "none", zorder=3,
    )  # fmt: skip
    bars = [(across, cell.low, across, cell.high)] if cell.low is not None is not cell.high else []
    return Spot(across, up, words, bars)


def _scale(axes: Axes, values: list[float]) -> None:
    """Logarithmic where values lie far apart, from zero where they do not."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    least, most = min(values), max(values)
    if least > 0 and most / least >= _WIDE:
        axes.set_xscale("log")
        steps = (1.0, 2.0, 5.0) if most / least < 1000 else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0 if least == 0 else None)


def _told(drawn: dict[str, float], in_money: bool) -> str:
    parts = (f"{harmless(n)} {money(v) if in_money else seconds(v)}" for n, v in drawn.items())
    return f"An edit: {', '.join(parts)}."
