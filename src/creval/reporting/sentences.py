"""Sentences about scores that can be quoted in a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.formatting import escape_control, pluralise
from creval.judges.judge_spec import judge_identity
from creval.providers.catalog import describe_judge
from creval.reporting.manifest_sentences import manifest_sentences
from creval.reporting.numbers import format_estimate, format_places
from creval.stats.missing import ZERO
from creval.stats.scorecard import MIN_CLUSTERS, SAMPLE_LEVEL, Difference, Scorecard
from creval.store.manifest import benchmark_title

if TYPE_CHECKING:
    from creval.analysis.correction import CorrectedScores
    from creval.stats.score_table import ScoreTable
    from creval.store.run import Run


def decided_sentence(card: Scorecard) -> str:
    """Say which models differ significantly in the ranking column, and which do not."""
    name = card.table.schema.ranking_column
    if not card.differences:
        return "There is only one model, so there is nothing to compare."
    if all(card.cell(model, name).value is None for model in card.models):
        return f"No model has a value in {name} yet, so there is nothing to compare."
    open_ = [found for found in card.differences if not found.is_decided]
    count = len(card.differences)
    pairs = "pair" if count == 1 else "pairs"
    corrected = "" if count == 1 else f", Holm-corrected for {count} pairs"
    decided = count - len(open_)
    number = "1" if decided == count == 1 else f"{decided} of {count}"
    differ = f"{number} {pairs} of models {'differs' if 1 in (decided, count) else 'differ'}"
    sentence = f"In {name}, {differ} significantly (paired sign-flip test at the 5 % level{corrected})."
    if open_:
        shown = "; ".join(_format_pair(card, found) for found in open_[:10])
        more = f"; and {len(open_) - 10} more" if len(open_) > 10 else ""
        sentence += f" Not significant: {shown}{more}."
    if open_ and len(card.models) > 2:
        groups = [names for names in card.indistinguishable if len(names) > 1]
        alike = "; ".join(join_names([escape_control(name) for name in names]) for names in groups[:5])
        more = f"; and {len(groups) - 5} more groups" if len(groups) > 5 else ""
        sentence += f" Cannot be told apart: {alike}{more}."
        places = (f"{escape_control(name)} {format_places(*card.rank_ranges[name])}" for name in card.models[:12])
        sentence += f" Possible ranks: {', '.join(places)}."
    return sentence


def gap_sentences(card: Scorecard) -> list[str]:
    """State the differences between groups of models in the ranking column, and what their intervals mean."""
    name = card.table.schema.ranking_column
    digits = card.table.schema.find_metric(name).digits
    found = []
    for one in card.model_sets:
        cell = card.cell(one.name, name)
        if not one.minus or cell.value is None:
            continue
        sure = cell.low is not None and cell.high is not None and (cell.low > 0 or cell.high < 0)
        verdict = "the interval excludes zero" if sure else "not decided: the interval includes zero, or there is none"
        found.append(f"{name}, {escape_control(one.name)}: {format_estimate(cell, digits, '+')}; {verdict}.")
    if found:
        found.append(
            "Means and gaps of groups are of these models on these samples: their intervals are over samples, not over "
            "other models that could be in a group."
        )
    return found


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence: `A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def zero_width_sentences(card: Scorecard) -> list[str]:
    """Explain intervals of zero width, if there are any."""
    cells = [card.cell(name, column) for name in card.models for column in card.table.schema.columns]
    if not any(cell.low is not None and cell.low == cell.high for cell in cells):
        return []
    return [
        "An interval of zero width means that all samples have the same score. Other samples may score differently."
    ]


def missing_interval_sentences(card: Scorecard, shown: Iterable[tuple[str, str]]) -> list[str]:
    """Explain why some cells of these levels and groups have no interval, if there are any."""
    for level, group in shown:
        if level == SAMPLE_LEVEL:
            continue
        at = card.table.schema.find_level(level).groups.index(group)
        value, low = (card.levels[level][name][at] for name in ("value", "low"))
        if (np.isfinite(value) & np.isnan(low)).any():
            shared = len(np.unique(card.table.clusters)) < len(card.table.clusters)
            more = "; samples of the same source image count as one" if shared else ""
            return [f"A value without an interval is based on fewer than {MIN_CLUSTERS} samples{more}."]
    return []


def _format_pair(card: Scorecard, found: Difference) -> str:
    schema = card.table.schema
    shown = f"no {schema.ranking_column}"
    if found.value is not None:
        if (found.value < 0) == schema.higher_is_better(schema.ranking_column):
            found = found.reverse()
        shown = format_estimate(found, schema.find_metric(schema.ranking_column).digits, "+")
    word = "over" if found.value else "and"
    return f"{escape_control(found.first)} {word} {escape_control(found.second)} ({shown})"


def basis_sentence(
    card: Scorecard, manifest: Mapping[str, Any], resamples: int, marks: str = "¹ best, ² second best"
) -> str:
    """State a table's judge, samples, formula and intervals, and what its marks mean."""
    table = card.table
    formula = f"; {table.schema.formula}" if table.schema.formula else ""
    judge = f"judge {escape_control(describe_judge(manifest['judge']))}" if manifest["judge"] else "measured"
    return (
        f"{escape_control(benchmark_phrase(manifest))}, {judge}, {samples_phrase(table)}{formula}. Next to each "
        "value: the share of questions with an answer, and the 95 % interval over samples in brackets "
        f"({resamples} resamples). {marks}."
    )


def benchmark_phrase(manifest: Mapping[str, Any]) -> str:
    """Return the benchmark's name, its kind and the protocol, without repeating equal names."""
    title, kind = benchmark_title(manifest), manifest["benchmark"]
    asked = manifest.get("protocol", kind)
    return title + (f" ({kind})" if kind != title else "") + (f", protocol {asked}" if asked != kind else "")


def samples_phrase(table: ScoreTable) -> str:
    """State the number of samples, their subset, and whether samples without an edit count as failed."""
    subset = f" (subset {table.subset})" if table.subset else ""
    if table.sample_count_before_common is not None:
        models = pluralise(len(table.models), "model")
        samples = f"{len(table.samples):,} of {table.sample_count_before_common:,} samples{subset}"
        return f"{samples}, those that all {models} have a score for"
    failed = ", missing edits counted as failed" if table.missing == ZERO else ""
    asked = int((table.total.sum(axis=(0, 2)) > 0).sum())
    if asked < len(table.samples) and not any(table.unsupported.values()):
        return f"{asked:,} of {pluralise(len(table.samples), 'sample')}{subset} (the others have no questions){failed}"
    return f"{pluralise(len(table.samples), 'sample')}{subset}{failed}"


def basis_notes(run: Run, card: Scorecard, resamples: int, marks: str = "Bold: best; underlined: second") -> list[str]:
    """Return notes on a table's basis, on unanswered questions, and on unsupported samples."""
    strictness = strictness_sentence(card, int(run.manifest.get("problems", 0)))
    return [
        basis_sentence(card, run.manifest, resamples, marks),
        *manifest_sentences(run.manifest),
        strictness,
        *unsupported_sentences(card.table),
    ]


def strictness_sentence(card: Scorecard, problems: int = 0) -> str:
    """State how unanswered questions and faulty references are treated."""
    unanswered = sum(card.table.unanswered.values())
    unasked = sum(card.table.unasked.values())
    never = f" {unasked} questions were never asked." if unasked else ""
    if problems:
        never += f" The benchmark's files have {pluralise(problems, 'problem')} (`creval bench` lists them)."
    if not any(card.table.scored.flat) and not unanswered:
        return f"No question has been asked yet.{never}"
    if card.table.strict:
        return (
            f"Strict scoring, as in the authors' scripts: {unanswered} unanswered questions count as "
            f"wrong, and references are used as released, without repairs.{never}"
        )
    if unanswered:
        return f"{unanswered} unanswered questions are left out of the scores.{never}"
    return f"All questions that were asked have an answer.{never}"


def unsupported_sentences(table: ScoreTable) -> list[str]:
    """State how samples that a model does not support are counted."""
    there = {name: count for name, count in table.unsupported.items() if count}
    if not there:
        return []
    shown = ", ".join(f"{escape_control(name)} {count:,}" for name, count in there.items())
    return [
        f"A sample that a model does not support counts as {table.schema.unsupported_value:g}. Unsupported samples, "
        f"of {len(table.samples):,}: {shown}. A group without any supported sample has no value."
    ]


def correction_sentences(run: Run, corrected: CorrectedScores) -> list[str]:
    """State what scores are corrected for, and warn if the calibration is of another judge."""
    notes = [
        f"Corrected for the sensitivity and specificity of {escape_control(corrected.judge)} measured by "
        "`creval calibrate` (Rogan-Gladen estimator). The intervals include the error of the calibration."
    ]
    judge = str(run.manifest["judge"])
    if judge_identity(judge) != judge_identity(corrected.judge):
        notes.append(
            f"The calibration is of {escape_control(corrected.judge)}, but this run's judge is "
            f"{escape_control(judge)}. The correction is valid only if they are the same judge."
        )
    return notes


def format_reasons(reasons: Sequence[tuple[str, int]], limit: int = 4) -> str:
    """Format reasons with their counts. At most `limit` are listed."""
    words = "; ".join(f"{escape_control(reason)} ({count:,})" for reason, count in reasons[:limit])
    return f"{words}; and others" if len(reasons) > limit else words


def voice_sentences(run: Run, card: Scorecard) -> list[str]:
    """Return notes on incomplete answers, ties, failed measurements, early stopping and unreadable images."""
    notes = []
    answered = run.count_answers_by_voice()
    wanted = len(run.manifest.get("judges", (1,))) * int(run.manifest.get("repeat", 1))
    if wanted > 1 and (len(answered) < wanted or len(set(answered.values())) > 1):
        shown = "; ".join(
            f"{escape_control(judge)}, repeat {repeat + 1}: {count:,}" for (judge, repeat), count in answered.items()
        )
        notes.append(f"Some of the {wanted} answers to each question are missing. Answers: {shown}.")
    if len(answered) > 1:
        ties = run.count_ties(card.table.models, card.table.samples)
        if ties:
            notes.append(f"{ties:,} of the unanswered questions are ties between judges or repeats.")
    measured = run.count_measurements(card.table.models, card.table.samples)
    if measured.incomplete:
        notes.append(
            f"Some metrics could not be measured for {measured.incomplete:,} edits: {format_reasons(measured.reasons)}."
        )
    if run.manifest.get("stopping"):
        notes.append(
            "This run was stopped early (docs/howto/stopping.md). The intervals here do not account for that: they "
            "are valid for a run of fixed size."
        )
    unopened = run.count_unopened_images()
    if unopened:
        notes.append(f"{unopened:,} edits were not judged because an image cannot be opened. This lowers the coverage.")
    return notes
