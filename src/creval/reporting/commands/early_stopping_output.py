"""What stopping early came to: a sentence that can be quoted, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.formatting import escape_control, format_interval, format_value
from creval.reporting.output import CommandOutput, OutputTable
from creval.reporting.sentences import join_names
from creval.stats.early_stopping import NOT_FINISHED, SETTLED, WITHIN_MARGIN, StoppingOutcome
from creval.stats.elimination import RANKING


def early_stopping_output(outcome: StoppingOutcome) -> CommandOutput:
    """Who is best, or in which order the models stand, how sure, and what it took."""
    sentence = f"{_result_sentence(outcome)} {_effort_sentence(outcome)}"
    return CommandOutput([sentence], [_standings_table(outcome)], outcome.to_dict())


def _result_sentence(outcome: StoppingOutcome) -> str:
    rule, column = outcome.rule, outcome.column
    models = f"{len(outcome.ranking)} models"
    points = f"{rule.margin:g} points"
    if rule.question == RANKING and outcome.reason in (SETTLED, WITHIN_MARGIN):
        order = ", ".join(map(escape_control, outcome.ranking))
        if outcome.reason == SETTLED:
            return f"On {column} the order of {models} is decided: {order}."
        equal = f"where these count as equal: {_join_pairs(outcome.equal_pairs)}"
        return f"On {column} the order of {models} is decided within {points}: {order}, {equal}."
    if rule.question != RANKING and outcome.best is not None:
        best = escape_control(outcome.best)
        if outcome.reason == SETTLED:
            return f"{best} is the best of {models} on {column}."
        return f"{best} is the best of {models} on {column} within {points}: none is further ahead."
    yet = " yet" if outcome.reason == NOT_FINISHED else ""
    if rule.question == RANKING:
        return f"On {column} the order of {models} is not decided{yet}: open is {_join_pairs(outcome.open_pairs)}."
    names = [escape_control(name) for name in outcome.undecided]
    return f"Who is best on {column} is not decided{yet} between {join_names(names)}."


def _effort_sentence(outcome: StoppingOutcome) -> str:
    share = 100 * outcome.answers_used / outcome.answers_total if outcome.answers_total else 0.0
    margin = f" (margin {outcome.rule.margin:g})" if outcome.rule.margin else ""
    return (
        f"That took {outcome.samples_used:,} of {outcome.samples_total:,} samples and {outcome.answers_used:,} of "
        f"{outcome.answers_total:,} answers ({share:.1f} %), at a risk of {100 * outcome.rule.alpha:g} % "
        f"to decide falsely{margin}, however often one looked."
    )


def _join_pairs(pairs: Sequence[tuple[str, str]], most: int = 5) -> str:
    more = f"; and {len(pairs) - most} more" if len(pairs) > most else ""
    return "; ".join(f"{escape_control(one)} and {escape_control(two)}" for one, two in pairs[:most]) + more


def _standings_table(outcome: StoppingOutcome) -> OutputTable:
    """A row a model: on how much its place rests, and how far it is from the first."""
    columns = ("samples", "answers", f"{outcome.column} so far", "to the first", "at any look")
    rows = [
        [
            at.model,
            at.state,
            f"{at.samples:,}",
            f"{at.used:,}",
            format_value(at.value, outcome.digits),
            "" if at.difference is None else format_value(at.difference, outcome.digits, "+"),
            format_interval(at.low, at.high, outcome.digits, "+"),
        ]
        for at in outcome.standings
    ]
    return OutputTable(["model", "state", *columns], rows, text_columns=2)
