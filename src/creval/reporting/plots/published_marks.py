"""Published numbers on a plot: open narrow diamonds, always named as published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.analysis.published_scores import PublishedScores, PublishedSeries
from creval.core.errors import CrevalError
from creval.reporting.plots import canvas
from creval.reporting.plots.names import escape_plot_text, wrap_label
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 7.5


class PublishedMarks:
    """The published series shown in a plot, of one judge and one subset."""

    def __init__(self, found: PublishedScores, card: Scorecard, groups: Sequence[tuple[str, str]]) -> None:
        if len(found.subsets) > 1 and card.table.subset not in found.subsets:
            raise CrevalError(
                f"numbers are published separately for {' and '.join(found.subsets)}. Give `subset` to plot them."
            )
        judges, chosen = {one.judge for one in found.series if one.judge}, found.judge
        series = [one for one in found.in_groups(groups) if one.judge in (chosen, "")]
        self.own = {name: one for one in series for name in one.own}
        """The series by the run's models."""
        self.others = [one for one in series if not one.own]
        """The series of models that the run does not have."""
        by = f", judge {escape_plot_text(chosen)}" if chosen else ""
        others = f", one of {len(judges)} judges" if len(judges) > 1 else ""
        self.note = (
            f"Open diamonds: published ({escape_plot_text(found.publication.citation)}{by}{others}), not measured "
            "here, without intervals and not ranked. "
            if series
            else "No numbers are published for what this plot shows. "
        )

    def value(self, name: str, level: str, group: str, column: str) -> float | None:
        """Return the published value of a model of the run, if there is one."""
        found = self.own[name].values.get((level, group, column)) if name in self.own else None
        return None if found is None else found.value


def published_label(one: PublishedSeries, width: int = 22, lines: int = 2) -> str:
    """Return the label of a model that has only published numbers."""
    return wrap_label(f"{one.model} (published)", width, lines)


def draw_published(axes: Axes, x: float, y: float, colour: str = canvas.FOREGROUND) -> None:
    """Draw a published value."""
    style: Any = {"marker": "d", "markersize": _SIZE, "markeredgecolor": colour, "markerfacecolor": "none"}
    axes.plot(x, y, linestyle="", zorder=4, markeredgewidth=1.0, alpha=0.85, **style)
