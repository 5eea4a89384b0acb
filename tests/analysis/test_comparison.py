from __future__ import annotations

from dataclasses import astuple

import pytest

from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.core.errors import CrevalError
from creval.store import Run


def test_differences_are_those_of_the_scores(small_run: Run) -> None:
    card = score(small_run, resamples=300)
    found = compare(small_run, "Careful", "Keeper", resamples=300)
    for (level, group, column), difference in found.differences.items():
        values = [card.cell(name, column, group, level).value for name in ("Careful", "Keeper")]
        assert values[0] is not None
        assert values[1] is not None
        assert difference.value == pytest.approx(values[0] - values[1])
    overall = found.differences["overall", "overall", "S"]
    expected = next(d for d in card.differences if (d.first, d.second) == ("Careful", "Keeper"))
    assert (overall.first, overall.second, overall.samples) == (expected.first, expected.second, expected.samples)
    assert astuple(overall)[:3] == pytest.approx(astuple(expected)[:3])
    assert overall.p is not None
    assert expected.p is not None
    assert overall.p <= expected.p, "one of three pairs is corrected for the others"
    back = compare(small_run, "Keeper", "Careful", resamples=300)
    assert back.differences["overall", "overall", "S"].value == pytest.approx(-overall.value)  # type: ignore[operator]


def test_the_largest_gaps_come_first_with_their_questions(small_run: Run) -> None:
    found = compare(small_run, "Careful", "Keeper", resamples=200, top=4)
    gaps = [abs((gap.first["S"] or 0) - (gap.second["S"] or 0)) for gap in found.sample_gaps]
    assert len(gaps) == 4
    assert gaps == sorted(gaps, reverse=True)
    for gap in found.sample_gaps:
        for question in gap.questions:
            said = [answer.raw_answer for (answer,) in question.answers]
            assert set(said) == {"Yes", "No"}
            assert question.winner == ("Careful", "Keeper")[said.index("Yes")]
        parts = {metric: [0.0, 0.0] for metric in ("IF", "VC", "VQ")}
        for asked in small_run.probes[gap.sample]:
            parts[asked.metric][1] += asked.weight  # type: ignore[union-attr]
        for question in gap.questions:
            sign = 1 if question.winner == "Careful" else -1
            parts[question.question.metric][0] += sign * question.question.weight
        for metric, (gained, total) in parts.items():
            difference = (gap.first[metric] or 0) - (gap.second[metric] or 0)
            assert difference == pytest.approx(100 * gained / total)


def test_an_unknown_model_is_refused(small_run: Run) -> None:
    with pytest.raises(CrevalError, match="did you mean 'Keeper'"):
        compare(small_run, "Careful", "Keepr")
