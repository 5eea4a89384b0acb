"""Output of `creval compare`: the differences between two models, and where they are largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from creval.core.formatting import escape_control, format_measurement, pluralise
from creval.reporting.numbers import estimate_cell
from creval.reporting.output import FAINT, STRONG, CommandOutput, OutputTable, Row
from creval.reporting.repeated_answers import majority_explanation, summarise_answers
from creval.reporting.sentences import unsupported_sentences
from creval.stats.missing import ZERO

if TYPE_CHECKING:
    from creval.analysis.comparison import Comparison, QuestionGap, SampleGap
    from creval.stats.scorecard import Difference

_MAX_QUESTIONS = 3  # questions shown for a sample


def comparison_output(comparison: Comparison) -> CommandOutput:
    """Return the differences at every level, and the samples with the largest differences."""
    apart = [gap for gap in comparison.sample_gaps if gap.questions or gap.measurements]
    grids = [_differences_table(comparison), *(_sample_table(comparison, gap) for gap in apart)]
    return CommandOutput(
        [_difference_sentence(comparison), *unsupported_sentences(comparison.table)],
        grids,
        _comparison_json(comparison),
    )


def _difference_sentence(comparison: Comparison) -> str:
    """State which model is ahead in the ranking column, and whether the difference is significant."""
    name = comparison.table.schema.ranking_column
    digits = comparison.table.schema.find_metric(name).digits.value
    overall = comparison.differences["overall", "overall", name]
    first, second = escape_control(overall.first), escape_control(overall.second)
    if overall.value is None:
        return f"{first} and {second} have no {name} on the same samples."
    samples = pluralise(overall.samples, "sample")
    where = f"on {samples}" if any(comparison.table.unsupported.values()) else f"on the {samples} that both have"
    if comparison.table.missing == ZERO:
        where = f"on {samples}, missing edits counted as failed"
    if overall.low is None or overall.high is None:
        return (
            f"{first} and {second} differ by {overall.value:+.{digits}f} {name} {where}. That is too few samples for "
            "an interval."
        )
    if abs(overall.value) < 0.5 * 10**-digits:
        return f"{first} and {second} have the same {name} {where}{_format_p_value(overall)}: not significant."
    more = "higher" if overall.value >= 0 else "lower"
    ends = f"{overall.low:+.{digits}f} to {overall.high:+.{digits}f}"
    verdict = "significant" if overall.is_decided else "not significant"
    return (
        f"{name} of {first} is {abs(overall.value):.{digits}f} points {more} than that of {second} {where} "
        f"(95 % interval {ends}{_format_p_value(overall)}): {verdict}."
    )


def _excludes_zero(difference: Difference) -> bool:
    """Return whether zero lies outside the interval."""
    return difference.low is not None and difference.high is not None and (difference.low > 0 or difference.high < 0)


def _format_p_value(difference: Difference) -> str:
    if difference.p is None:
        return ""
    return f", p = {difference.p:.2g}" if difference.p >= 0.001 else ", p < 0.001"


def _differences_table(comparison: Comparison) -> OutputTable:
    card = comparison.table.schema
    there = {column for (_, _, column), cell in comparison.differences.items() if cell.value is not None}
    columns = [column for column in card.columns if column in there]
    rows: list[Row] = []
    breaks = set()
    for level, groups in comparison.table.distinct_groups().items():
        breaks.add(len(rows))
        for group in groups:
            cells = [comparison.differences[level, group, column] for column in columns]
            if all(cell.value is None for cell in cells):
                continue
            shown = (
                estimate_cell(cell, card.find_metric(column).digits, "+", STRONG if _excludes_zero(cell) else FAINT)
                for column, cell in zip(columns, cells, strict=True)
            )
            rows.append([card.group_title(level, group), *shown])
    title = " minus ".join(comparison.table.models)
    return OutputTable(
        ["group", *columns],
        rows,
        title,
        "Bold: the interval excludes zero (not corrected for the number of cells).",
        section_starts=frozenset(breaks),
    )


def _sample_table(comparison: Comparison, gap: SampleGap) -> OutputTable:
    """Return a table of one sample with a large difference: the questions and measurements that cause it."""
    rank = comparison.table.schema.ranking_column
    scores = " vs. ".join(f"{scores[rank] or 0:.3g}" for scores in (gap.first, gap.second))
    more = max(0, len(gap.questions) - _MAX_QUESTIONS)
    rows: list[Row] = [
        [f"{one.question.id}, weight {one.question.weight:g}: {one.question.text}", *_format_answers(one)]
        for one in gap.questions[:_MAX_QUESTIONS]
    ]
    rows += [
        [format_measurement(one.name, one.metric), *(f"{number:.4g}" for number in one.values)]
        for one in gap.measurements
    ]
    head = "question" if gap.questions else "measurement"
    return OutputTable(
        ["question or measurement" if gap.questions and gap.measurements else head, *comparison.table.models],
        rows,
        title=f"{gap.sample}: {rank} {scores}. {gap.instruction}",
        caption=f"and {pluralise(more, 'more question')}" if more else "",
    )


def _format_answers(gap: QuestionGap) -> list[str]:
    """Return the summary of the answers about each model's edit."""
    return [summarise_answers(gap.question, answers).text for answers in gap.answers]


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    levels: dict[str, Any] = {}
    for (level, group, column), cell in comparison.differences.items():
        plural = comparison.table.schema.find_level(level).plural
        content = {**cell.to_dict(), "zero_left_out": _excludes_zero(cell)}
        levels.setdefault(plural, {}).setdefault(group, {})[column] = content
    return {
        "decided": comparison.differences["overall", "overall", comparison.table.schema.ranking_column].is_decided,
        "first": comparison.table.models[0],
        "second": comparison.table.models[1],
        "strict": comparison.table.strict,
        "subset": comparison.table.subset,
        "missing": comparison.table.missing,
        "differences": {**levels, "overall": levels["overall"]["overall"]},
        "samples": [
            {
                "sample": gap.sample,
                "instruction": gap.instruction,
                "first": gap.first,
                "second": gap.second,
                "questions": [_question_json(one) for one in gap.questions],
                "measured": [{**one._asdict(), "values": list(one.values)} for one in gap.measurements],
            }
            for gap in comparison.sample_gaps
        ],
    }


def _question_json(gap: QuestionGap) -> dict[str, Any]:
    return {
        "id": gap.question.id,
        "metric": gap.question.metric,
        "question": gap.question.text,
        "weight": gap.question.weight,
        "reference": gap.question.reference,
        "winner": gap.winner,
        "values": list(gap.values),
        "answers": _format_answers(gap),
        "explanations": [
            majority_explanation(summarise_answers(gap.question, answers), answers) for answers in gap.answers
        ],
    }
