"""Human ratings alone: each model's mean or share of comparisons won, and the raters' agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from creval.core.formatting import escape_control, pluralise
from creval.core.human_ratings import SkippedRows
from creval.core.schema import Digits
from creval.reporting.numbers import estimate_cell, format_estimate
from creval.reporting.output import CommandOutput, OutputTable, Row
from creval.reporting.sentences import decided_sentence
from creval.stats.human.bradley_terry import BradleyTerry
from creval.stats.human.people_summary import PeopleSummary
from creval.stats.intervals import Estimate

_PERCENT = Digits(1, 1)
_POINTS = Digits(0, 0)
_ALPHA = Digits(3, 2)


def people_output(summaries: Sequence[PeopleSummary], left_out: Mapping[str, tuple[SkippedRows, ...]]) -> CommandOutput:
    """Return the output about human ratings alone, without scores to compare with."""
    return CommandOutput(
        list(people_sentences(summaries)),
        [people_table(summary) for summary in summaries],
        {"people": people_json(summaries)},
        [*people_notes(summaries), *skipped_row_sentences(left_out)],
    )


def people_sentences(summaries: Sequence[PeopleSummary]) -> Iterator[str]:
    """Yield a sentence per metric on the models that differ significantly."""
    for summary in summaries:
        metric = escape_control(summary.metric)
        if summary.card is not None:
            yield decided_sentence(summary.card)
        elif summary.bradley_terry is not None:
            yield f"People's {metric}: {_choices_sentence(summary, summary.bradley_terry)}"


def _choices_sentence(summary: PeopleSummary, found: BradleyTerry) -> str:
    choices = pluralise(summary.value_count, "choice")
    if not found.strengths:
        reason = "some models never lost to the others, or were not compared with them"
        return f"{choices}. No Bradley-Terry strengths: {reason}."
    pairs = len(found.strengths) * (len(found.strengths) - 1) // 2
    decided = ", ".join(f"{escape_control(a)} over {escape_control(b)}" for a, b in found.decided_pairs[:10])
    more = f", and {len(found.decided_pairs) - 10} more" if len(found.decided_pairs) > 10 else ""
    shown = f": {decided}{more}" if decided else ""
    return f"{choices} decide {len(found.decided_pairs)} of {pluralise(pairs, 'pair')} of models (5 %, Holm){shown}."


def people_table(summary: PeopleSummary) -> OutputTable:
    """Return a table of human ratings with a row per model.

    It has the mean ratings or, for comparisons, the shares of comparisons won and the Bradley-Terry strengths.
    """
    raters = f", {summary.rater_count} people" if summary.rater_count > 1 else ""
    samples = pluralise(summary.sample_count, "sample")
    word = "rating" if summary.card is not None else "choice"
    title = f"people's {summary.metric}: {pluralise(summary.value_count, word)} of {samples}{raters}"
    caption = ""
    if summary.alpha.value is not None:
        caption = f"Krippendorff's alpha between people: {format_estimate(summary.alpha, _ALPHA)}"
    if summary.card is not None:
        return OutputTable(["model", *_mean_heads(summary), "samples"], list(_mean_rows(summary)), title, caption)
    rates, strengths = summary.win_rates or {}, _strengths(summary)
    order = sorted(rates, key=lambda name: -(rates[name].value or 0.0))
    rows: list[Row] = [
        [
            name,
            estimate_cell(_scaled(rates[name], 100), _PERCENT),
            *([estimate_cell(strengths[name], _POINTS, "+")] if strengths else []),
        ]
        for name in order
    ]
    heads = ["model", "won, %", *(["Bradley-Terry,\nElo points"] if strengths else [])]
    return OutputTable(heads, rows, title, caption)


def _strengths(summary: PeopleSummary) -> Mapping[str, Estimate]:
    return summary.bradley_terry.strengths if summary.bradley_terry is not None else {}


def _mean_heads(summary: PeopleSummary) -> list[str]:
    if summary.scale is None or (summary.scale.low, summary.scale.high) == (0, 100):
        return ["mean, %"]
    return [f"mean, {summary.scale.low:g} to {summary.scale.high:g}", "in percent"]


def _mean_rows(summary: PeopleSummary) -> Iterator[Row]:
    card, scale = summary.card, summary.scale
    assert card is not None  # noqa: S101
    for name in card.models:
        cell = card.cell(name, card.table.schema.ranking_column)
        cells = [estimate_cell(cell, _PERCENT)]
        if scale is not None and len(_mean_heads(summary)) == 2:
            own = Estimate(
                *(None if of is None else scale.from_percent(of) for of in (cell.value, cell.low, cell.high))
            )
            cells.insert(0, estimate_cell(own, Digits(2, 2)))
        yield [name, *cells, f"{cell.scored:,}"]


def people_notes(summaries: Sequence[PeopleSummary]) -> Iterator[str]:
    """Yield notes on how the numbers are computed."""
    if any(summary.card is not None for summary in summaries):
        yield (
            "People's means: the mean over edits of their mean ratings, with 95 % intervals over samples. In percent, "
            "the lowest rating is 0 and the highest is 100."
        )
    if any(summary.card is not None and summary.scale is None for summary in summaries):
        yield "The ratings have several scales, so their means are in percent only."
    if any(summary.win_rates is not None for summary in summaries):
        yield (
            "Won: share of comparisons, with ties as half, and 95 % intervals over samples. Bradley-Terry: a "
            "difference of 400 Elo points means odds of 10 to 1; the mean over models is 0."
        )


def skipped_row_sentences(left_out: Mapping[str, tuple[SkippedRows, ...]]) -> Iterator[str]:
    """Yield how many rows of each file could not be used, and why."""
    for path, reasons in left_out.items():
        if reasons:
            shown = "; ".join(f"{why} ({n:,}, first in line {line})" for why, n, line in reasons)
            yield f"{path}: {pluralise(sum(n for _, n, _ in reasons), 'row')} left out: {shown}."


def people_json(summaries: Sequence[PeopleSummary]) -> dict[str, Any]:
    """Return all numbers by metric and model, unrounded."""
    return {summary.metric: _summary_json(summary) for summary in summaries}


def _summary_json(summary: PeopleSummary) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "ratings" if summary.card is not None else "choices",
        "raters": summary.rater_count,
        "values": summary.value_count,
        "samples": summary.sample_count,
        "alpha": summary.alpha.to_dict(),
    }
    if summary.card is None:
        strengths = _strengths(summary)
        return found | {
            "models": {
                name: {
                    "won": _scaled(rate, 100).to_dict(),
                    "elo": strengths[name].to_dict() if name in strengths else None,
                }
                for name, rate in (summary.win_rates or {}).items()
            }
        }
    card, scale = summary.card, summary.scale
    models = {}
    for name in card.models:
        cell = card.cell(name, card.table.schema.ranking_column)
        own = None if scale is None or cell.value is None else scale.from_percent(cell.value)
        models[name] = {**cell.to_dict(), "rating": own}
    return found | {"scale": None if scale is None else list(scale), "models": models}


def _scaled(share: Estimate, factor: float) -> Estimate:
    return Estimate(*(None if number is None else factor * number for number in (share.value, share.low, share.high)))
