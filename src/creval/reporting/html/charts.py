"""The plots of a page, each with the numbers behind it."""

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
from creval.reporting.output import OutputTable, select_columns
from creval.reporting.plots.plane import consistency_column
from creval.stats.scorecard import Scorecard
from creval.stats.weight_sensitivity import analyse_sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RADAR_GROUPS = range(3, 32)  # groups that a circle can show


@dataclass(frozen=True)
class Chart:
    """A plot as an element of a page and its caption, what it says, a table beside it, and the numbers behind it."""

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
    """Every plot that a scorecard, and who made the edits, has something for."""
    if published is not None and len(published.subsets) > 1:
        published = None  # a plot shows one of them
    drawn: list[Callable[[], Chart]] = [lambda: _forest_chart(card, about, published)]
    for level in card.table.schema.levels:
        # What is made of other groups stands in the table of scores.
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
        with suppress(CrevalError):  # there is nothing to draw, or not yet
            found.append(draw())
    return found


def _forest_chart(card: Scorecard, about: str, published: PublishedScores | None) -> Chart:
    made = plots.forest(card, about=about, published=published)
    return _make_chart("forest", "How sure it is", made, tables=_overall_tables(card))


def _plane_chart(card: Scorecard, about: str, published: PublishedScores | None) -> Chart:
    numbers = _overall_tables(card, "IF", consistency_column(card))
    made = plots.plane(card, about=about, published=published)
    return _make_chart("plane", "Following and keeping", made, tables=numbers)


def _overall_tables(card: Scorecard, *columns: str) -> tuple[OutputTable, ...]:
    """The numbers behind a plot of whole scores: of all columns, or of some."""
    (grid,) = tables.score_tables(card, [("overall", "overall")], {})
    wanted = [at for at, head in enumerate(grid.headers) if at == 0 or not columns or head in columns]
    return (replace(select_columns(grid, wanted), section_starts=frozenset()),)


def _level_chart(card: Scorecard, level: str, about: str, published: PublishedScores | None) -> Chart:
    """The groups of a level: over an ordered one a line, around a circle, or side by side."""
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
    """What edits cost beside what they score."""
    table = edit_costs.cost_table(card, provenances)
    drawn = caption = ""
    with suppress(CrevalError):  # neither money nor time is known
        figure = plots.cost(card, provenances, about=about)
        drawn, caption = plots.figure_svg(figure), plots.caption(figure)
    words = " ".join(edit_costs.cost_sentences(card, provenances))
    return Chart("cost", "What each cost", drawn, caption, words, cost_table=table)


def _weights_chart(card: Scorecard, about: str) -> Chart:
    """What other weights of three metrics would say."""
    found = analyse_sensitivity(card)
    said = sensitivity_output(found, {})
    figure = plots.ternary(found, about=about)
    words = " ".join(said.sentences)
    return _make_chart("weights", "What other weights would say", figure, words, tuple(said.tables))


def _make_chart(name: str, title: str, figure: Figure, text: str = "", tables: tuple[OutputTable, ...] = ()) -> Chart:
    return Chart(name, title, plots.figure_svg(figure), plots.caption(figure), text, tables)
