"""Output of early stopping: a sentence to quote and a table of standings."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.formatting import escape_control, format_interval, format_value
from creval.reporting.output import CommandOutput, OutputTable
from creval.reporting.sentences import join_names
from creval.stats.early_stopping import NOT_FINISHED, SETTLED, WITHIN_MARGIN, StoppingOutcome
from creval.stats.elimination import RANKING


def early_stopping_output(outcome: StoppingOutcome) -> CommandOutput:
    """Return the best model or the ranking, its certainty, and the number of samples and answers used."""
    sentence = f"{_result_sentence(outcome)} {_effort_sentence(outcome)}"
    return CommandOutput([sentence], [_standings_table(outcome)], outcome.to_dict())


def _result_sentence(outcome: StoppingOutcome) -> str:
    rule, column = outcome.rule, outcome.column
    models = f"{len(outcome.ranking)} models"
    points = f"{rule.margin:g} points"
    if rule.question == RANKING and outcome.reason in (SETTLED, WITHIN_MARGIN):
        order = ", ".join(map(escape_control, outcome.ranking))
        if outcome.reason == SETTLED:
            return f"The ranking of {models} in {column} is decided: {order}."
        equal = f"These count as equal: {_join_pairs(outcome.equal_pairs)}"
        return f"The ranking of {models} in {column} is decided within {points}: {order}. {equal}."
    if rule.question != RANKING and outcome.best is not None:
        best = escape_control(outcome.best)
        if outcome.reason == SETTLED:
            return f"{best} is the best of {models} in {column}."
        return f"{best} is the best of {models} in {column} within {points}: no model leads it by more."
    yet = " yet" if outcome.reason == NOT_FINISHED else ""
    if rule.question == RANKING:
        pairs = _join_pairs(outcome.open_pairs)
        return f"The ranking of {models} in {column} is not decided{yet}. Undecided pairs: {pairs}."
    names = [escape_control(name) for name in outcome.undecided]
    return f"The best model in {column} is not decided{yet}. Candidates: {join_names(names)}."


def _effort_sentence(outcome: StoppingOutcome) -> str:
    share = 100 * outcome.answers_used / outcome.answers_total if outcome.answers_total else 0.0
    margin = f" (margin {outcome.rule.margin:g})" if outcome.rule.margin else ""
    return (
        f"Used {outcome.samples_used:,} of {outcome.samples_total:,} samples and {outcome.answers_used:,} of "
        f"{outcome.answers_total:,} answers ({share:.1f} %). The risk of a wrong decision is at most "
        f"{100 * outcome.rule.alpha:g} %{margin}, regardless of how often results were checked."
    )


def _join_pairs(pairs: Sequence[tuple[str, str]], most: int = 5) -> str:
    more = f"; and {len(pairs) - most} more" if len(pairs) > most else ""
    return "; ".join(f"{escape_control(one)} and {escape_control(two)}" for one, two in pairs[:most]) + more


def _standings_table(outcome: StoppingOutcome) -> OutputTable:
    """Return a table with a row per model: samples and answers used, and the difference to the first model."""
    columns = ("samples", "answers", f"{outcome.column} so far", "difference", "interval")
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
