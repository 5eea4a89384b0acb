"""Plots of a report, each with the numbers it shows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from creval.analysis.published_scores import PublishedScores
from creval.core.errors import CrevalError
from creval.reporting import edit_costs, plots, tables
from creval.reporting.commands.sensitivity_output import sensitivity_output
from creval.reporting.commands.sources_output import sources_output
from creval.reporting.output import OutputTable, select_columns
from creval.reporting.plots.plane import consistency_column
from creval.stats.scorecard import Scorecard
from creval.stats.source_agreement import SourceComparison
from creval.stats.weight_sensitivity import analyse_sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RADAR_GROUPS = range(3, 32)  # numbers of groups that a radar plot can show


@dataclass(frozen=True)
class Chart:
    """A plot as SVG with its caption and the tables of its numbers.

    `text` are sentences about the plot. `cost_table` is a further table with costs, if they are known.
    """

    id: str
    title: str
    svg: str
    caption: str = ""
    text: str = ""
    tables: tuple[OutputTable, ...] = ()
    cost_table: OutputTable | None = None


def build_charts(
    card: Scorecard, about: str, provenances: edit_costs.ProvenanceByModel, published: PublishedScores | None = None
) -> list[Chart]:
    """Return every plot that the scorecard and the provenance of the edits have data for."""
    if published is not None and len(published.subsets) > 1:
        published = None  # a plot shows scores of one subset only
    drawn: list[Callable[[], Chart]] = [lambda: _forest_chart(card, about, published)]
    for level in card.table.schema.levels:
        # Groups computed from other groups are shown in the table of scores.
        if level.name != "overall" and level.mean_of is None and card.groups(level.name):
            drawn.append(partial(_level_chart, card, level.name, about, published))
    if provenances:
        drawn.insert(1, lambda: _cost_chart(card, about, provenances))
    drawn.append(lambda: _plane_chart(card, about, published))
    weighed = card.table.schema.composite
    if weighed is not None and len(weighed.weights) == 3 and len(card.models) > 1:
        drawn.append(lambda: _weights_chart(card, about))
    found = []
    for draw in drawn:
        with suppress(CrevalError):  # no data to draw
            found.append(draw())
    return found


def sources_chart(comparison: SourceComparison) -> Chart:
    """Return the plot of the scores of several runs and score files, side by side."""
    output = sources_output(comparison)
    first = comparison.sources[0].name
    text = " ".join(output.sentences[: sum(pair.first == first for pair in comparison.pairs)])
    made = plots.sources(comparison)
    return _make_chart("sources", "Other runs and scores", made, tables=tuple(output.tables), text=text)


def _forest_chart(card: Scorecard, about: str, published: PublishedScores | None) -> Chart:
    made = plots.forest(card, about=about, published=published)
    return _make_chart("forest", "Scores with intervals", made, tables=_overall_tables(card))


def _plane_chart(card: Scorecard, about: str, published: PublishedScores | None) -> Chart:
    numbers = _overall_tables(card, "IF", consistency_column(card))
    made = plots.plane(card, about=about, published=published)
    return _make_chart("plane", "Instruction following and consistency", made, tables=numbers)


def _overall_tables(card: Scorecard, *columns: str) -> tuple[OutputTable, ...]:
    """Return the table of overall scores, with all columns or the given ones."""
    (grid,) = tables.score_tables(card, [("overall", "overall")], {})
    wanted = [at for at, head in enumerate(grid.headers) if at == 0 or not columns or head in columns]
    return (replace(select_columns(grid, wanted), section_starts=frozenset()),)


def _level_chart(card: Scorecard, level: str, about: str, published: PublishedScores | None) -> Chart:
    """Return the plot of a level: a line plot for complexity, otherwise a radar plot or panels."""
    groups = card.groups(level)
    behind = tuple(tables.tables_by_group(card, level))
    if level == "complexity" and len(groups) > 1:
        made = plots.complexity(card, about=about, published=published)
    elif card.table.schema.find_level(level).groups_samples and len(groups) in _RADAR_GROUPS:
        made = plots.radar(card, level, about=about)
    else:
        made = plots.groups(card, level, about=about, published=published)
    return _make_chart(f"by-{level}", f"By {level.replace('_', ' ')}", made, tables=behind)


def _cost_chart(card: Scorecard, about: str, provenances: edit_costs.ProvenanceByModel) -> Chart:
    """Return the plot of cost or time against scores."""
    table = edit_costs.cost_table(card, provenances)
    drawn = caption = ""
    with suppress(CrevalError):  # neither cost nor time is known
        figure = plots.cost(card, provenances, about=about)
        drawn, caption = plots.figure_svg(figure), plots.caption(figure)
    words = " ".join(edit_costs.cost_sentences(card, provenances))
    return Chart("cost", "Cost per edit", drawn, caption, words, cost_table=table)


def _weights_chart(card: Scorecard, about: str) -> Chart:
    """Return the plot of the best model under other weights of three metrics."""
    found = analyse_sensitivity(card)
    said = sensitivity_output(found, {})
    figure = plots.ternary(found, about=about)
    words = " ".join(said.sentences)
    return _make_chart("weights", "Best model under other weights", figure, words, tuple(said.tables))


def _make_chart(name: str, title: str, figure: Figure, text: str = "", tables: tuple[OutputTable, ...] = ()) -> Chart:
    return Chart(name, title, plots.figure_svg(figure), plots.caption(figure), text, tables)
