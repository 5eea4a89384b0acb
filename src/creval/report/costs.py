"""What edits cost beside what they score: models, and the same model used in several ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creval.core import formatting
from creval.report import numbers
from creval.report.output import STRONG, Grid, Row, Spot
from creval.stats.scorecard import Difference, Scorecard
from creval.store.provenance import Maker

DIRECT = "direct"
Makers = Mapping[str, Maker]
"""Who made each system's edits, of those of which that is known."""


def grid(card: Scorecard, made: Makers) -> Grid:
    """A row a model, those of one editor together, the cheaper first: what an edit took, and what
    it scored."""
    rank = card.table.card.ranking
    digits = card.table.card.metric(rank).digits
    compared = {name: _over_direct(card, made, name) for name in card.systems}
    heads = ["model", "editor", "strategy", "edits", "calls an edit", "cost an edit",
             "time an edit", rank]  # fmt: skip
    if any(compared.values()):
        heads.append(f"{rank} over direct")
    rows: list[Row] = []
    breaks = set()
    before = None
    for name in ordered(card, made):
        maker, cell = made.get(name), card.cell(name, rank)
        editor = maker.editor if maker else None
        if editor != before:
            breaks.add(len(rows))
        before = editor
        row: Row = [name, *_facts(maker)]
        row.append(
            Spot(
                formatting.value(cell.value, digits),
                formatting.interval(cell.low, cell.high, digits),
            )
        )
        found = compared[name]
        if found is not None:
            ends = formatting.interval(found.low, found.high, digits, "+")
            mark = STRONG if found.decided else ""
            row.append(Spot(formatting.value(found.value, digits, "+"), ends, mark))
        row += [""] * (len(heads) - len(row))
        rows.append(row)
    bold = (
        " Bold over direct: decided, on the samples that both have."
        if any(compared.values())
        else ""
    )
    return Grid(heads, rows, caption=_caption(made) + bold, left=3, breaks=frozenset(breaks))


def ordered(card: Scorecard, made: Makers) -> list[str]:
    """The models, those of one editor together and the cheapest first, unknown ones last."""
    first: dict[str | None, int] = {}
    for at, name in enumerate(card.systems):
        first.setdefault(made[name].editor if name in made else None, at)

    def place(name: str) -> tuple[int, float, float]:
        if name not in made:
            return len(card.systems), 0.0, 0.0
        maker = made[name]
        unknown = float("inf")
        cost = unknown if maker.cost is None else maker.cost
        return first[maker.editor], cost, unknown if maker.seconds is None else maker.seconds

    return sorted(card.systems, key=place)


def in_words(maker: Maker) -> str:
    """Who made a model's edits, how, and what one took."""
    took = [
        formatting.money(maker.cost) if maker.cost is not None else "an unknown cost",
        formatting.seconds(maker.seconds) if maker.seconds is not None else "an unknown time",
    ]
    return f"made by {maker.editor}, {maker.strategy}: {' and '.join(took)} an edit"


def _facts(maker: Maker | None) -> list[str | Spot]:
    if maker is None:
        return ["not known", "", "", "", "unknown", "unknown"]
    each = max(maker.edits, 1)
    helpers = (maker.picking.calls + maker.planning.calls) / each
    calls = Spot(f"{maker.editing.calls / each:.3g}", f"helpers {helpers:.3g}" if helpers else "")
    cost = "unknown" if maker.cost is None else formatting.money(maker.cost)
    time = "unknown" if maker.seconds is None else formatting.seconds(maker.seconds)
    return [maker.editor, maker.strategy, f"{maker.edits:,}", calls, Spot(cost, _helpers(maker)),
            time]  # fmt: skip


def _helpers(maker: Maker) -> str:
    """What of the cost went to those who help, where that is not nothing."""
    parts = []
    for bill, what in ((maker.picking, "picking"), (maker.planning, "planning")):
        if bill.cost and maker.whole.cost:
            parts.append(f"{100 * bill.cost / maker.whole.cost:.0f} % {what}")
    return ", ".join(parts)


def _caption(made: Makers) -> str:
    words = "An edit's cost and time are those of all calls behind it, candidates that were not "
    words += "picked, picking and planning among them, divided by the pictures that there are."
    if any(maker.cost is None for maker in made.values()):
        words += " Where nobody said what a call costs, the cost is unknown."
    return words


def _over_direct(card: Scorecard, made: Makers, name: str) -> Difference | None:
    """How far a strategy is ahead of the same editor used directly, where both are there."""
    if name not in made or made[name].strategy == DIRECT:
        return None
    plain = [n for n in card.systems if n in made and n != name
             and (made[n].editor, made[n].strategy) == (made[name].editor, DIRECT)]  # fmt: skip
    return _difference(card, name, plain[0]) if len(plain) == 1 else None


def _difference(card: Scorecard, first: str, second: str) -> Difference | None:
    for found in card.differences:
        if (found.first, found.second) == (first, second):
            return found
        if (found.first, found.second) == (second, first) and found.value is not None:
            ends = [None if end is None else -end for end in (found.high, found.low)]
            return Difference(first, second, -found.value, ends[0], ends[1], found.samples, found.p)
    return None


def told(card: Scorecard, made: Makers) -> list[str]:
    """What each strategy brings over the same editor used directly, and at what price."""
    rank = card.table.card.ranking
    digits = card.table.card.metric(rank).digits
    lines = []
    for name in ordered(card, made):
        found = _over_direct(card, made, name)
        if found is None or found.value is None:
            continue
        maker, plain = made[name], made[found.second]
        decided = "decided" if found.decided else "not decided"
        lines.append(
            f"{formatting.visible(maker.editor)}: {formatting.visible(maker.strategy)} brings "
            f"{numbers.difference(found, digits)} {rank} over direct ({decided})"
            f"{_times(maker, plain)}."
        )
    return lines


def _times(maker: Maker, plain: Maker) -> str:
    """By how much dearer, or else slower, one is."""
    for one, other, what in (
        (maker.cost, plain.cost, "cost"), (maker.seconds, plain.seconds, "time"),
    ):  # fmt: skip
        if one is not None and other:
            return f", at {one / other:.2g} times the {what}"
    return ""


def data(made: Makers) -> dict[str, Any]:
    """The same for another program: null where it is not known."""
    return {
        name: {
            **maker.facts(),
            "cost_per_edit": maker.cost,
            "seconds_per_edit": maker.seconds,
        }
        for name, maker in made.items()
    }
