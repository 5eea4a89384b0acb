"""Statistics of single questions: difficulty, discrimination, and issues that call for a review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creval.analysis.scoring import score
from creval.benchmarks import protocol_of_run
from creval.core.probe import Question
from creval.stats.intervals import Proportion
from creval.store.run import Run

_MIN_MODELS = 3  # fewest models to call a question too easy, too hard or negatively discriminating
_MAX_UNANSWERED_SHARE = 0.5
ITEM_ISSUES = (
    "it has no text",
    "its reference cannot be read",
    "most answers to it are unusable",
    "judges or repeats mostly disagree on it",
    "better models fail it more often",
    "every model fails it",
    "every model passes it",
)
"""Reasons to review a question, most certain first."""


@dataclass(frozen=True)
class ItemStatistics:
    """Statistics of one question of one sample, over all models and voices.

    A voice is one judge in one repeat. `credit` is 1 if all models always pass the question, 0 if all fail it.
    `discrimination` is the correlation, over models, of a model's credit on this question with its overall score.
    `unanswered` counts verdicts without a value. `disputed` counts the edits about which voices differ. `issues` are
    the reasons to review the question.
    """

    sample: str
    question: Question
    credit: float | None
    model_count: int
    discrimination: float | None
    unanswered: Proportion
    disputed: Proportion
    issues: tuple[str, ...]


def item_statistics(run: Run, subset: str | None = None) -> list[ItemStatistics]:
    """Return the statistics of every question of a run, in the benchmark's order."""
    protocol = protocol_of_run(run.manifest)
    samples = run.sample_ids(subset)
    card = score(run, subset=subset, resamples=100)
    level = {name: card.cell(name, card.table.schema.ranking_column).value for name in card.models}
    said: dict[tuple[str, str], dict[str, dict[int, list[float | None]]]] = {}
    for _, _, edit, probe, value in run.verdicts_by_voice():
        answers = said.setdefault((edit.sample, probe), {})
        answers.setdefault(edit.model, {}).setdefault(edit.draw, []).append(value)
    found = []
    for sample in samples:
        for question in run.probes[sample]:
            if isinstance(question, Question):
                given = said.get((sample, question.id), {})
                credits_: dict[str, float] = {}
                for model, draws in given.items():
                    values = [v for several in draws.values() for v in several if v is not None]
                    there = [c for value in values if (c := protocol.credit(question, value)) is not None]
                    if there:
                        credits_[model] = sum(there) / len(there)
                every = [several for draws in given.values() for several in draws.values()]
                found.append(_build_statistics(sample, question, credits_, every, level))
    return found


def _build_statistics(
    sample: str,
    question: Question,
    credits_: Mapping[str, float],
    answers_by_edit: list[list[float | None]],
    scores_by_model: Mapping[str, float | None],
) -> ItemStatistics:
    credit = sum(credits_.values()) / len(credits_) if credits_ else None
    unanswered = Proportion(
        sum(value is None for several in answers_by_edit for value in several),
        sum(len(several) for several in answers_by_edit),
    )
    several = [{v for v in voices if v is not None} for voices in answers_by_edit if len(voices) > 1]
    disputed = Proportion(sum(len(values) > 1 for values in several), len(several))
    discrimination = _discrimination(credits_, scores_by_model)
    issues = []
    if not question.text.strip():
        issues.append("it has no text")
    elif credit is not None and len(credits_) >= _MIN_MODELS:
        if credit == 1.0:
            issues.append("every model passes it")
        elif credit == 0.0:
            issues.append("every model fails it")
        elif discrimination is not None and discrimination < -0.5:
            issues.append("better models fail it more often")
    if unanswered.total and unanswered.hits / unanswered.total >= _MAX_UNANSWERED_SHARE:
        issues.append("most answers to it are unusable")
    if disputed.total and 2 * disputed.hits > disputed.total:
        issues.append("judges or repeats mostly disagree on it")
    if question.reference is None and question.scale == "yes/no" and question.text.strip():
        issues.append("its reference cannot be read")
    return ItemStatistics(sample, question, credit, len(credits_), discrimination, unanswered, disputed, tuple(issues))


def _discrimination(credits_: Mapping[str, float], scores_by_model: Mapping[str, float | None]) -> float | None:
    pairs = [(one, other) for n, one in credits_.items() if (other := scores_by_model.get(n)) is not None]
    if len(pairs) < _MIN_MODELS:
        return None
    first, second = np.array(pairs).T
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
