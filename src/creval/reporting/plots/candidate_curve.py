"""Best-of-N plot: each metric over the number of candidates, a line for each editor and strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.core.errors import CrevalError
from creval.editing.strategies import BEST_OF, DIRECT, parse_strategy
from creval.reporting.edit_costs import ProvenanceByModel
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.names import escape_plot_text
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Line(NamedTuple):
    """Models of one editor and strategy by their number of candidates."""

    name: str
    models: Mapping[int, str]


@canvas.plot_style()
def best_of(card: Scorecard, provenances: ProvenanceByModel, *, metrics: Sequence[str] = (), about: str = "") -> Figure:
    """Draw a line for each editor and strategy over the number of candidates, with bands for intervals."""
    lines = _find_lines(card, provenances)
    if not any(len(line.models) > 1 for line in lines):
        raise CrevalError(
            "the plot best-of needs edits of one editor with different numbers of candidates. Create them by `creval "
            f"edit` with `strategy` {BEST_OF}:N, each N in its own folder, and judge all folders in one run."
        )
    columns = selection.columns_with_values(card, "overall", ["overall"], metrics)
    counts = sorted({count for line in lines for count in line.models})
    cells = [card.cell(name, column) for line in lines for name in line.models.values() for column in columns]
    across = min(2, len(columns))
    made, body = canvas.make_figure(
        f"{', '.join(map(escape_plot_text, columns))} by number of candidates",
        f"{about}1: without selection. Bands: 95 % intervals over samples; they are of each score, not of differences "
        f"between numbers of candidates. {canvas.hollow_note(cells)}Each panel has its own scale.",
        math.ceil(len(columns) / across) * 2.5,
        entries=canvas.legend_entries([escape_plot_text(line.name) for line in lines], lines=True),
        alt_text=selection.values_text(card, columns),
    )
    for at, axes in enumerate(canvas.iter_panels(body, len(columns), across)):
        for number, line in enumerate(lines):
            _draw_line(axes, card, columns[at], counts, line, number)
        axes.set_title(selection.column_heading(card, columns[at], panels=across).replace("\n", " "))
        axes.set_xticks(range(len(counts)), [f"{count}" for count in counts])
        axes.grid(axis="y")
        if at + across >= len(columns):
            axes.set_xlabel("candidates")
    return made


def _find_lines(card: Scorecard, provenances: ProvenanceByModel) -> list[_Line]:
    """Return a line for each editor and strategy, in the order of the models."""
    found: dict[str, dict[int, str]] = {}
    for name in card.models:
        made = provenances.get(name)
        if made is None:
            continue
        strategy = parse_strategy(made.strategy)
        base = strategy._replace(best_of=1).name
        line = made.editor if base == DIRECT else f"{made.editor}, {base}"
        found.setdefault(line, {}).setdefault(strategy.best_of, name)
    return [_Line(name, dict(sorted(models.items()))) for name, models in found.items()]


def _draw_line(axes: Any, card: Scorecard, column: str, counts: Sequence[int], line: _Line, number: int) -> None:
    colour, mark, dash, size, width = canvas.series_style(number)
    places = [counts.index(count) for count in line.models]
    cells = [card.cell(name, column) for name in line.models.values()]
    value, low, high = (
        [math.nan if (end := getattr(cell, what)) is None else end for cell in cells]
        for what in ("value", "low", "high")
    )
    axes.fill_between(places, low, high, color=colour, alpha=0.16, linewidth=0)
    axes.plot(places, value, color=colour, linestyle=dash, linewidth=width, zorder=2)
    for place, cell in zip(places, cells, strict=True):
        if cell.value is not None:
            style = canvas.series_style(number)._replace(marker=mark)
            canvas.draw_point(axes, place, cell.value, style, 0.8 * size)
