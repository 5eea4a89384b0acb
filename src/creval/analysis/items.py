"""Questions one by one: how hard each is, what it tells, and which are worth rewriting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creval.analysis.score_table import score
from creval.benchmarks import protocol_named
from creval.core.probe import Question
from creval.stats.intervals import Share
from creval.store.run import Run

_FEWEST = 3  # systems from which a question can be called too easy, too hard or against the grain
_UNANSWERED = 0.5
FAULTS = (
    "it has no words",
    "its reference cannot be read",
    "most answers to it cannot be used",
    "judges or repeats mostly dispute it",
    "better models fail it more often",
    "every model fails it",
    "every model passes it",
)
"""Reasons to look at a question again, the most certain first."""


@dataclass(frozen=True)
class ItemStatistics:
    """One question of one sample, over all systems and voices.

    `credit` is the mean credit that it gave, 1 where all passed; `tells` is the correlation, over
    systems, of its credit with the system's score; `unanswered` counts verdicts
    without a value, and `disputed` edits on which voices gave different answers. `faults` are the
    reasons to look at it again.
    """

    sample: str
    question: Question
    credit: float | None
    systems: int
    tells: float | None
    unanswered: Share
    disputed: Share
    faults: tuple[str, ...]


def item_statistics(run: Run, subset: str | None = None) -> list[ItemStatistics]:
    """Every question of a run, in the benchmark's order."""
    protocol = protocol_named(run.manifest["protocol"])
    samples = run.subset(subset)
    card = score(run, subset=subset, resamples=100)
    level = {name: card.cell(name, card.table.card.ranking).value for name in card.systems}
    said: dict[tuple[str, str], dict[str, dict[int, list[float | None]]]] = {}
    for _, _, edit, probe, value in run.spoken():
        answers = said.setdefault((edit.sample, probe), {})
        answers.setdefault(edit.system, {}).setdefault(edit.draw, []).append(value)
    found = []
    for sample in samples:
        for question in run.probes[sample]:
            if isinstance(question, Question):
                given = said.get((sample, question.id), {})
                credits_: dict[str, float] = {}
                for system, draws in given.items():
                    values = [v for several in draws.values() for v in several if v is not None]
                    scored = [protocol.credit(question, value) for value in values]
                    there = [one for one in scored if one is not None]
                    if there:
                        credits_[system] = sum(there) / len(there)
                every = [several for draws in given.values() for several in draws.values()]
                found.append(_statistics(sample, question, credits_, every, level))
    return found


def _statistics(
    sample: str,
    question: Question,
    credits_: Mapping[str, float],
    every: list[list[float | None]],
    level: Mapping[str, float | None],
) -> ItemStatistics:
    credit = sum(credits_.values()) / len(credits_) if credits_ else None
    unanswered = Share(
        sum(value is None for several in every for value in several),
        sum(len(several) for several in every),
    )
    several = [{v for v in voices if v is not None} for voices in every if len(voices) > 1]
    disputed = Share(sum(len(values) > 1 for values in several), len(several))
    tells = _correlation(credits_, level)
    faults = []
    if not question.text.strip():
        faults.append("it has no words")
    elif credit is not None and len(credits_) >= _FEWEST:
        if credit == 1.0:
            faults.append("every model passes it")
        elif credit == 0.0:
            faults.append("every model fails it")
        elif tells is not None and tells < -0.5:
            faults.append("better models fail it more often")
    if unanswered.total and unanswered.found / unanswered.total >= _UNANSWERED:
        faults.append("most answers to it cannot be used")
    if disputed.total and 2 * disputed.found > disputed.total:
        faults.append("judges or repeats mostly dispute it")
    if question.reference is None and question.contract == "yes/no" and question.text.strip():
        faults.append("its reference cannot be read")
    return ItemStatistics(
        sample, question, credit, len(credits_), tells, unanswered, disputed, tuple(faults)
    )


def _correlation(credits_: Mapping[str, float], level: Mapping[str, float | None]) -> float | None:
    pairs = [(one, other) for n, one in credits_.items() if (other := level.get(n)) is not None]
    if len(pairs) < _FEWEST:
        return None
    first, second = np.array(pairs).T
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
