"""Scores of the same models by several sources (judges, protocols, metrics), with a panel for each source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creval.reporting.plots import canvas
from creval.reporting.plots.forest import draw_values
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.reporting.plots.selection import values_text
from creval.stats.source_agreement import SourceComparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW_HEIGHT = 0.36  # inches of a model
_PANELS = 4  # side by side


@canvas.plot_style()
def sources(comparison: SourceComparison, *, about: str = "") -> Figure:
    """Draw a row for each model, ordered by mean rank, and a panel for each run or score file."""
    shown = comparison.sources
    rows = -(-len(shown) // _PANELS)
    cells = [source.score(name) for source in shown for name in source.ranked_models]
    made, body = canvas.make_figure(
        "The same models by several sources of scores",
        f"{about}Bars through values: 95 % intervals over samples. {canvas.hollow_note(cells)}"
        "Models by their mean rank. Each panel has its own scale; where lower is better, it runs from right to left. "
        "The number behind a value is the model's rank.",
        rows * (len(comparison.models) * _ROW_HEIGHT + 0.85),
        alt_text=" ".join(f"{source.name}: {values_text(source.card, [source.column])}" for source in shown),
    )
    labels = list(model_labels(comparison.models, 22, 2).values())
    for at, axes in enumerate(canvas.iter_panels(body, len(shown), _PANELS)):
        source = shown[at]
        ranks = {name: rank for rank, name in enumerate(source.ranked_models, 1)}
        draw_values(axes, source.card, source.column, comparison.models, ranks)
        if not source.higher_is_better:
            axes.invert_xaxis()
        heading = escape_plot_text(source.name)
        canvas.style_rows(axes, labels, heading, first=at % _PANELS == 0, top=-0.75, margin=0.16)
    return made
