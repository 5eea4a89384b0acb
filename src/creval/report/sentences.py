"""What the numbers say, in sentences that can be quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.formatting import many, visible
from creval.core.schema import Digits
from creval.report.numbers import difference
from creval.stats.missing import ZERO
from creval.stats.scorecard import FEWEST, SAMPLE, Difference, Scorecard

if TYPE_CHECKING:
    from creval.analysis.correction import Corrected
    from creval.stats.score_table import ScoreTable
    from creval.store.run import Run


def decided(card: Scorecard) -> str:
    """Which models differ in the column that ranks, and which cannot be told apart."""
    name = card.table.card.ranking
    if not card.differences:
        return "There is only one model, so nothing to compare."
    if all(card.cell(system, name).value is None for system in card.systems):
        return f"No model has a value in {name} yet, so there is nothing to compare."
    settled = [found for found in card.differences if found.decided]
    open_ = [found for found in card.differences if not found.decided]
    count = len(card.differences)
    pairs = "pair" if count == 1 else "pairs"
    corrected = "" if count == 1 else f", corrected for {count} pairs after Holm"
    sentence = (
        f"On {name}, {len(settled)} of {count} {pairs} of models differ "
        f"(paired sign-flip test at 5 %{corrected})."
    )
    if open_:
        shown = "; ".join(_pair(card, found) for found in open_[:10])
        more = f"; and {len(open_) - 10} more" if len(open_) > 10 else ""
        sentence += f" Not decided: {shown}{more}."
    if open_ and len(card.systems) > 2:
        groups = [names for names in card.alike if len(names) > 1]
        alike = "; ".join(joined([visible(name) for name in names]) for names in groups[:5])
        more = f"; and {len(groups) - 5} groups more" if len(groups) > 5 else ""
        sentence += f" Cannot be told apart: {alike}{more}."
        places = (f"{visible(name)} {_range(*card.places[name])}" for name in card.systems[:12])
        sentence += f" Places that they can hold: {', '.join(places)}."
    return sentence


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: `A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def flat(card: Scorecard) -> list[str]:
    """What an interval without width means, where there is one."""
    cells = [card.cell(name, column) for name in card.systems for column in card.table.card.columns]
    if not any(cell.low is not None and cell.low == cell.high for cell in cells):
        return []
    return [
        "An interval of no width says that all samples scored the same, not that other samples "
        "would."
    ]


def few(card: Scorecard, shown: Iterable[tuple[str, str]]) -> list[str]:
    """Why some of the cells shown have no interval, where there are such; `shown` has groups of
    samples, each with its level."""
    for level, group in shown:
        if level == SAMPLE:
            continue
        at = card.table.card.level(level).groups.index(group)
        value, low = (card.levels[level][name][at] for name in ("value", "low"))
        if (np.isfinite(value) & np.isnan(low)).any():
            shared = len(np.unique(card.table.units)) < len(card.table.units)
            more = ", where those of one picture count as one" if shared else ""
            return [f"A value without an interval rests on fewer than {FEWEST} samples{more}."]
    return []


def _range(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"


def _pair(card: Scorecard, found: Difference) -> str:
    if found.value is None:
        return f"{visible(found.first)} and {visible(found.second)} (no {card.table.card.ranking})"
    if (found.value < 0) == card.table.card.higher_is_better(card.table.card.ranking):
        ends = [None if end is None else -end for end in (found.high, found.low)]
        found = Difference(found.second, found.first, -found.value, ends[0], ends[1], found.samples)
    word = "over" if found.value else "and"
    shown = difference(found, _digits(card))
    return f"{visible(found.first)} {word} {visible(found.second)} ({shown})"


def _digits(card: Scorecard) -> Digits:
    return card.table.card.metric(card.table.card.ranking).digits


def basis(
    card: Scorecard,
    manifest: Mapping[str, Any],
    resamples: int,
    marks: str = "¹ best, ² second",
) -> str:
    """What the table rests on: judge, samples, weights, intervals, and how places are marked."""
    table = card.table
    formula = f"; {table.card.formula}" if table.card.formula else ""
    judge = f"judge {visible(manifest['judge'])}" if manifest["judge"] else "measured"
    asked = manifest.get("protocol", manifest["benchmark"])
    protocol = f", asked as {visible(asked)}" if asked != manifest["benchmark"] else ""
    return (
        f"{manifest['benchmark']}{protocol}, {judge}, {samples(table)}{formula}; beside a "
        "value the share of its questions that were scored, in brackets its 95 % interval over "
        f"samples ({resamples} resamples); {marks}."
    )


def samples(table: ScoreTable) -> str:
    """On how many samples scores rest, which these are, and whether those without an edit count."""
    subset = f" (subset {table.subset})" if table.subset else ""
    if table.common_of is not None:
        models = many(len(table.systems), "model")
        return (
            f"{len(table.samples):,} of {table.common_of:,} samples{subset}, which all {models} "
            "have a score of"
        )
    failed = ", those without an edit as failed" if table.missing == ZERO else ""
    return f"{many(len(table.samples), 'sample')}{subset}{failed}"


def strictness(card: Scorecard, problems: int = 0) -> str:
    """How unanswered questions and faulty references were taken."""
    unanswered = sum(card.table.unanswered.values())
    unasked = sum(card.table.unasked.values())
    never = f" {unasked} were never asked." if unasked else ""
    if problems:
        never += f" The benchmark's files had {problems} problems (`creval bench` lists them)."
    if not any(card.table.scored.flat) and not unanswered:
        return f"Nothing was asked yet.{never}"
    if card.table.strict:
        return (
            f"Strict, as the authors' scripts score: {unanswered} unanswered questions count as "
            f"wrong, and references are taken as released.{never}"
        )
    if unanswered:
        return f"{unanswered} questions without an answer are left out of the scores.{never}"
    return f"Every question that was asked was answered.{never}"


def unsupported(table: ScoreTable) -> list[str]:
    """How samples count that a model cannot do."""
    there = {name: count for name, count in table.unsupported.items() if count}
    if not there:
        return []
    samples = len(table.samples)
    shown = ", ".join(f"{visible(name)} {count:,}" for name, count in there.items())
    return [
        f"Samples of {samples:,} that a model does not support count "
        f"{table.card.unsupported:g}: {shown}. A group of which it supports none has no value."
    ]


def corrected(run: Run, found: Corrected) -> list[str]:
    """What corrected scores are corrected for, and whether that is this run's judge."""
    notes = [
        f"Corrected for the sensitivity and specificity of {visible(found.judge)}, as its "
        "calibration found them (Rogan and Gladen); the intervals include the calibration's own "
        "error."
    ]
    judge = str(run.manifest["judge"])
    if judge != found.judge:
        notes.append(
            f"The calibration is of {visible(found.judge)}, and this run's judge is "
            f"{visible(judge)}: the correction is right only if they are the same."
        )
    return notes


def listed(reasons: Sequence[tuple[str, int]], most: int = 4) -> str:
    """Reasons with how many there are of each, the most frequent first."""
    words = "; ".join(f"{visible(reason)} ({count:,})" for reason, count in reasons[:most])
    return f"{words}; and others" if len(reasons) > most else words


def voices(run: Run, card: Scorecard) -> list[str]:
    """What several judges or repeats did not do alike, and pictures that nobody could judge."""
    notes = []
    answered = run.voices()
    wanted = len(run.manifest.get("judges", (1,))) * int(run.manifest.get("repeat", 1))
    if wanted > 1 and (len(answered) < wanted or len(set(answered.values())) > 1):
        shown = "; ".join(
            f"{visible(judge)}, repeat {repeat + 1}: {count:,}"
            for (judge, repeat), count in answered.items()
        )
        notes.append(
            f"Of {wanted} answers to each question not all are there. Answered by {shown}."
        )
    if len(answered) > 1:
        ties = run.tied(card.table.systems, card.table.samples)
        if ties:
            notes.append(f"{ties:,} of the questions without an answer were tied between voices.")
    measured = run.measured(card.table.systems, card.table.samples)
    if measured.lacking:
        notes.append(
            f"{measured.lacking:,} edits lack what could not be measured: "
            f"{listed(measured.reasons)}."
        )
    if run.manifest.get("stopping"):
        notes.append(
            "This run stopped when it was settled (docs/stopping.md); intervals here are those of "
            "a run whose size was fixed before."
        )
    unopened = run.unopened()
    if unopened:
        notes.append(
            f"{unopened:,} edits were not judged, because a picture cannot be opened: they lower "
            "the coverage."
        )
    return notes
