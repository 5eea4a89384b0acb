"""The plots of a page, each with the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from creval.core.errors import CrevalError
from creval.report import costs, plots, tables
from creval.report.commands.sensitivity import weights
from creval.report.output import Grid
from creval.stats.scorecard import Scorecard
from creval.stats.sensitivity import sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RADAR = range(3, 32)  # groups that a circle can show


@dataclass(frozen=True)
class Chart:
    """A plot as an element of a page and its caption, what it says, a table beside it, and the
    numbers behind it."""

    id: str
    title: str
    svg: str
    caption: str = ""
    words: str = ""
    grids: tuple[Grid, ...] = ()
    table: Grid | None = None


def charts(card: Scorecard, about: str, made: costs.Makers) -> list[Chart]:
    """Every plot that a scorecard, and who made the edits, has something for."""
    drawn: list[Callable[[], Chart]] = [
        lambda: _chart(
            "forest", "How sure it is", plots.forest(card, about=about), grids=_overall(card)
        )
    ]
    for level in card.table.card.levels:
        # What is made of other groups stands in the table of scores.
        if level.name != "overall" and level.of is None and card.groups(level.name):
            drawn.append(partial(_by_level, card, level.name, about))
    if made:
        drawn.insert(1, lambda: _cost(card, about, made))
    columns = card.table.card.columns
    if "IF" in columns and ("VC" in columns or "IP" in columns):
        keeping = "VC" if "VC" in columns else "IP"
        drawn.append(
            lambda: _chart(
                "plane",
                "Following and keeping",
                plots.plane(card, about=about),
                grids=_overall(card, "IF", keeping),
            )
        )
    weighed = card.table.card.composite
    if weighed is not None and len(weighed.weights) == 3 and len(card.systems) > 1:
        drawn.append(lambda: _weights(card, about))
    found = []
    for draw in drawn:
        with suppress(CrevalError):  # there is nothing to draw yet
            found.append(draw())
    return found


def _overall(card: Scorecard, *columns: str) -> tuple[Grid, ...]:
    """The numbers behind a plot of whole scores: of all columns, or of some."""
    (grid,) = tables.grids(card, [("overall", "overall")], {})
    wanted = [0, *(at for at, head in enumerate(grid.heads) if not columns or head in columns)]
    wanted = list(dict.fromkeys(wanted))
    rows = [[row[at] for at in wanted] for row in grid.rows]
    return (Grid([grid.heads[at] for at in wanted], rows),)


def _by_level(card: Scorecard, level: str, about: str) -> Chart:
    """The groups of a level: over an ordered one a line, around a circle, or side by side."""
    groups = card.groups(level)
    behind = tuple(tables.by_group(card, level))
    if level == "complexity" and len(groups) > 1:
        made = plots.complexity(card, about=about)
    elif card.table.card.level(level).tagged and len(groups) in _RADAR:
        made = plots.radar(card, level, about=about)
    else:
        made = plots.groups(card, level, about=about)
    return _chart(f"by-{level}", f"By {level.replace('_', ' ')}", made, grids=behind)


def _cost(card: Scorecard, about: str, made: costs.Makers) -> Chart:
    """What edits cost beside what they score."""
    table = costs.grid(card, made)
    drawn = caption = ""
    with suppress(CrevalError):  # neither money nor time is known
        figure = plots.cost(card, made, about=about)
        drawn, caption = plots.svg(figure), plots.caption(figure)
    words = " ".join(costs.told(card, made))
    return Chart("cost", "What each cost", drawn, caption, words, table=table)


def _weights(card: Scorecard, about: str) -> Chart:
    """What other weights of three metrics would say."""
    found = sensitivity(card)
    said = weights(found, {})
    return _chart(
        "weights",
        "What other weights would say",
        plots.ternary(found, about=about),
        " ".join(said.sentences),
        tuple(said.grids),
    )


def _chart(
    name: str, title: str, made: Figure, words: str = "", grids: tuple[Grid, ...] = ()
) -> Chart:
    return Chart(name, title, plots.svg(made), plots.caption(made), words, grids)
