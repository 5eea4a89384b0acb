"""What stopping early came to: a sentence that can be quoted, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.formatting import interval, value, visible
from creval.report.output import Findings, Grid
from creval.report.sentences import joined
from creval.stats.early_stopping import OPEN, SETTLED, WITHIN, Outcome
from creval.stats.elimination import RANKING


def stopped(outcome: Outcome) -> Findings:
    """Who is best, or in which order the models stand, how sure, and what it took."""
    sentence = f"{_found(outcome)} {_took(outcome)}"
    return Findings([sentence], [_grid(outcome)], outcome.facts())


def _found(outcome: Outcome) -> str:
    rule, column = outcome.rule, outcome.column
    models = f"{len(outcome.order)} models"
    points = f"{rule.margin:g} points"
    if rule.question == RANKING and outcome.reason in (SETTLED, WITHIN):
        order = ", ".join(map(visible, outcome.order))
        if outcome.reason == SETTLED:
            return f"On {column} the order of {models} is decided: {order}."
        equal = [f"{visible(one)} and {visible(two)}" for one, two in outcome.equal]
        return (
            f"On {column} the order of {models} is decided within {points}: {order}, where these "
            f"count as equal: {_listed(equal)}."
        )
    if rule.question != RANKING and outcome.best is not None:
        best = visible(outcome.best)
        if outcome.reason == SETTLED:
            return f"{best} is the best of {models} on {column}."
        return f"{best} is the best of {models} on {column} within {points}: none is further ahead."
    yet = " yet" if outcome.reason == OPEN else ""
    if rule.question == RANKING:
        pairs = [f"{visible(one)} and {visible(two)}" for one, two in outcome.pairs]
        return f"On {column} the order of {models} is not decided{yet}: open is {_listed(pairs)}."
    names = [visible(name) for name in outcome.undecided]
    return f"Who is best on {column} is not decided{yet} between {joined(names)}."


def _took(outcome: Outcome) -> str:
    share = 100 * outcome.used / outcome.total if outcome.total else 0.0
    margin = f" (margin {outcome.rule.margin:g})" if outcome.rule.margin else ""
    return (
        f"That took {outcome.samples:,} of {outcome.of:,} samples and {outcome.used:,} of "
        f"{outcome.total:,} answers ({share:.1f} %), at a risk of {100 * outcome.rule.alpha:g} % "
        f"to decide falsely{margin}, however often one looked."
    )


def _listed(pairs: Sequence[str], most: int = 5) -> str:
    more = f"; and {len(pairs) - most} more" if len(pairs) > most else ""
    return "; ".join(pairs[:most]) + more


def _grid(outcome: Outcome) -> Grid:
    """A row a model: on how much its place rests, and how far it is from the first."""
    columns = ("samples", "answers", f"{outcome.column} so far", "to the first", "at any look")
    rows = [
        [
            at.model,
            at.state,
            f"{at.samples:,}",
            f"{at.used:,}",
            value(at.value, outcome.digits),
            "" if at.difference is None else value(at.difference, outcome.digits, "+"),
            interval(at.low, at.high, outcome.digits, "+"),
        ]
        for at in outcome.standings
    ]
    return Grid(["model", "state", *columns], rows, left=2)
