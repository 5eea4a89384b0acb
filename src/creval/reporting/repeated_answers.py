"""Summary of several answers to one question: the majority or mean, and how many answers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from creval.core.formatting import format_value
from creval.core.probe import Measurement, Probe, Question
from creval.core.scales import NamedChoice, get_scale
from creval.core.schema import Digits
from creval.store.run import VerdictRow, reduce_answers


class AnswerSummary(NamedTuple):
    """Summary of several answers to one question.

    `text` is the summary in words, and `value` its number or None. `agreeing` of the `total` answers agree with it.
    """

    text: str
    value: float | None
    agreeing: int
    total: int


def summarise_answers(
    probe: Probe, answers: Sequence[VerdictRow], *, use_mean: bool = False, digits: Digits | None = None
) -> AnswerSummary:
    """Return the majority of some answers, or their mean for numeric scales and probabilities.

    Examples: `Yes (2 of 3)`, `no majority (No 1, Yes 1)`, `7.50 (mean of 2)`. A single answer is returned unchanged.
    """
    values = [answer.value for answer in answers]
    given = [value for value in values if value is not None]
    if len(answers) == 1:
        return AnswerSummary(_as_given(probe, answers[0], use_mean, digits), values[0], len(given), 1)
    found = reduce_answers(probe, values, use_mean)
    if not given:
        status, count = Counter(answer.status for answer in answers).most_common(1)[0]
        return AnswerSummary(f"{status} ({count} of {len(answers)})", None, 0, len(answers))
    if isinstance(probe, Measurement) or not _has_majority(probe, given, use_mean):
        mean = sum(given) / len(given)
        shown = format_value(mean, digits or Digits(2 if max(given) > 1 else 4))
        rest = f" of {len(answers)}" if len(given) < len(answers) else ""
        return AnswerSummary(f"{shown} (mean of {len(given)}{rest})", mean, len(given), len(answers))
    words = get_scale(probe.scale).choices
    counts = Counter(given)
    if found is None:
        parts = ", ".join(f"{words[int(value)]} {counts[value]}" for value in sorted(counts))
        return AnswerSummary(f"no majority ({parts})", None, max(counts.values()), len(answers))
    return AnswerSummary(f"{words[int(found)]} ({counts[found]} of {len(answers)})", found, counts[found], len(answers))


def majority_explanation(summary: AnswerSummary, answers: Sequence[VerdictRow]) -> str:
    """Return the first explanation of an answer that agrees with the summary, otherwise of any answer."""
    agreeing = [answer for answer in answers if answer.value == summary.value]
    return next((answer.explanation for answer in (*agreeing, *answers) if answer.explanation), "")


def _has_majority(probe: Question, given: Sequence[float], use_mean: bool) -> bool:
    """Return whether answers are summarised by majority: named choices, and yes/no without probabilities."""
    if isinstance(get_scale(probe.scale), NamedChoice):
        return True
    return probe.scale == "yes/no" and not use_mean and all(value in (0.0, 1.0) for value in given)


def _as_given(probe: Probe, answer: VerdictRow, use_mean: bool, digits: Digits | None) -> str:
    if answer.value is None:
        return answer.status
    if isinstance(probe, Measurement):
        return format_value(answer.value, digits) if digits else f"{answer.value:.4g}"
    said = answer.raw_answer or f"{answer.value:g}"
    return f"{said} ({answer.value:.2f})" if use_mean and answer.value not in (0.0, 1.0) else said
