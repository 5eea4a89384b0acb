"""Two models side by side: by how much they differ, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from creval.core.formatting import interval, many, measurement, value, visible
from creval.report.output import FAINT, STRONG, Findings, Grid, Row, Spot
from creval.report.sentences import unsupported
from creval.stats.missing import ZERO

if TYPE_CHECKING:
    from creval.analysis.comparison import Comparison, QuestionGap, SampleGap
    from creval.stats.scorecard import Difference

_SHOWN = 3  # questions of a sample


def comparison(found: Comparison) -> Findings:
    """The differences at every level, and the samples in which they are largest."""
    apart = [gap for gap in found.samples if gap.questions or gap.measured]
    grids = [_differences(found), *(_gap(found, gap) for gap in apart)]
    return Findings([_ahead(found), *unsupported(found.table)], grids, _data(found))


def _ahead(found: Comparison) -> str:
    """Which of two models is ahead in the column that ranks, and whether that is decided."""
    name = found.table.card.ranking
    digits = found.table.card.metric(name).digits.value
    overall = found.differences["overall", "overall", name]
    first, second = visible(overall.first), visible(overall.second)
    if overall.value is None:
        return f"{first} and {second} have no {name} on the same samples."
    where = f"on the {many(overall.samples, 'sample')} that both have"
    if any(found.table.unsupported.values()):
        where = f"on {many(overall.samples, 'sample')}"
    if found.table.missing == ZERO:
        where = f"on {many(overall.samples, 'sample')}, those without an edit as failed"
    if overall.low is None or overall.high is None:
        return (
            f"{first} and {second} differ by {overall.value:+.{digits}f} {name} {where}: too few."
        )
    if abs(overall.value) < 0.5 * 10**-digits:
        return f"{first} and {second} have the same {name} {where}{_tested(overall)}: not decided."
    more = "more" if overall.value >= 0 else "less"
    ends = f"{overall.low:+.{digits}f} to {overall.high:+.{digits}f}"
    verdict = "decided" if overall.decided else "not decided"
    return (
        f"{first} has {abs(overall.value):.{digits}f} points {more} {name} than {second} {where} "
        f"(95 % interval {ends}{_tested(overall)}): {verdict}."
    )


def _beyond(found: Difference) -> bool:
    """Whether zero lies outside the interval."""
    return found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)


def _tested(found: Difference) -> str:
    if found.p is None:
        return ""
    return f", p = {found.p:.2g}" if found.p >= 0.001 else ", p < 0.001"


def _differences(found: Comparison) -> Grid:
    card = found.table.card
    there = {column for (_, _, column), cell in found.differences.items() if cell.value is not None}
    columns = [column for column in card.columns if column in there]
    rows: list[Row] = []
    breaks = set()
    for level, groups in found.table.distinct().items():
        breaks.add(len(rows))
        for group in groups:
            cells = [found.differences[level, group, column] for column in columns]
            if all(cell.value is None for cell in cells):
                continue
            row: Row = [group]
            for column, cell in zip(columns, cells, strict=True):
                digits = card.metric(column).digits
                row.append(
                    Spot(
                        value(cell.value, digits, "+"),
                        interval(cell.low, cell.high, digits, "+"),
                        STRONG if _beyond(cell) else FAINT,
                    )
                )
            rows.append(row)
    title = " minus ".join(found.table.systems)
    return Grid(
        ["group", *columns],
        rows,
        title,
        "Bold where the interval leaves zero out; that is not corrected for how many cells there "
        "are.",
        breaks=frozenset(breaks),
    )


def _gap(found: Comparison, gap: SampleGap) -> Grid:
    """A sample in which the two are far apart, with the questions and measurements that make it
    so."""
    rank = found.table.card.ranking
    scores = " against ".join(f"{scores[rank] or 0:.3g}" for scores in (gap.first, gap.second))
    more = len(gap.questions) - _SHOWN
    rows: list[Row] = [
        [f"{one.question.id}, weight {one.question.weight:g}: {one.question.text}", *_said(one)]
        for one in gap.questions[:_SHOWN]
    ]
    rows += [
        [measurement(one.name, one.metric), *(f"{number:.4g}" for number in one.values)]
        for one in gap.measured
    ]
    head = "question" if gap.questions else "measured"
    return Grid(
        [
            "question or measurement" if gap.questions and gap.measured else head,
            *found.table.systems,
        ],
        rows,
        title=f"{gap.sample}: {rank} {scores}. {gap.instruction}",
        caption=f"and {more} more questions" if more > 0 else "",
    )


def _said(gap: QuestionGap) -> Iterator[str]:
    """What was answered; the first of several answers may say something else than all of them."""
    for answer, number in zip(gap.answers, gap.values, strict=True):
        yield answer.said or "–" if answer.value == number else f"{number:.3g}"


def _data(found: Comparison) -> dict[str, Any]:
    levels: dict[str, Any] = {}
    for (level, group, column), cell in found.differences.items():
        plural = found.table.card.level(level).plural
        content = {**cell._asdict(), "zero_left_out": _beyond(cell)}
        levels.setdefault(plural, {}).setdefault(group, {})[column] = content
    return {
        "decided": found.differences["overall", "overall", found.table.card.ranking].decided,
        "first": found.table.systems[0],
        "second": found.table.systems[1],
        "strict": found.table.strict,
        "subset": found.table.subset,
        "missing": found.table.missing,
        "differences": {**levels, "overall": levels["overall"]["overall"]},
        "samples": [
            {
                "sample": gap.sample,
                "instruction": gap.instruction,
                "first": gap.first,
                "second": gap.second,
                "questions": [_question(one) for one in gap.questions],
                "measured": [{**one._asdict(), "values": list(one.values)} for one in gap.measured],
            }
            for gap in found.samples
        ],
    }


def _question(gap: QuestionGap) -> dict[str, Any]:
    return {
        "id": gap.question.id,
        "metric": gap.question.metric,
        "question": gap.question.text,
        "weight": gap.question.weight,
        "reference": gap.question.reference,
        "winner": gap.winner,
        "values": list(gap.values),
        "answers": [answer.said for answer in gap.answers],
        "explanations": [answer.explanation for answer in gap.answers],
    }
