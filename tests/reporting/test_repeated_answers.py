"""Tests of the summary of several answers to one question."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.core.call import CallKey, Reply
from creval.core.edit_record import EditKey
from creval.core.probe import Measurement, Question
from creval.core.verdict import Verdict, VerdictStatus
from creval.reporting.commands.comparison_output import comparison_output
from creval.reporting.export import export_run
from creval.reporting.html import report_page
from creval.reporting.repeated_answers import majority_explanation, summarise_answers
from creval.store import RunWriter, open_run
from creval.store.run import VerdictRow
from tests.web.made import QUESTIONS, looking_at, write_run

YES_NO, GRADE = QUESTIONS[0], Question("O", "IF", "How well?", "0-10")


def said(*values: float | None) -> list[VerdictRow]:
    return [
        VerdictRow(
            EditKey("m", "s"), "p", "j", at, "", "missing" if v is None else "answered", v, f"{v}", f"why {at}", None
        )
        for at, v in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "text", "agreeing"),
    [
        ((1.0, 1.0, 0.0), "Yes (2 of 3)", 2),
        ((0.0, 0.0, 0.0), "No (3 of 3)", 3),
        ((1.0, 0.0), "no majority (No 1, Yes 1)", 1),
        ((None, 1.0, None), "Yes (1 of 3)", 1),
        ((None, None), "missing (2 of 2)", 0),
    ],
)
def test_the_majority_and_its_share(values: tuple[float | None, ...], text: str, agreeing: int) -> None:
    found = summarise_answers(YES_NO, said(*values))
    assert (found.text, found.agreeing, found.total) == (text, agreeing, len(values))


def test_grades_measurements_and_probabilities_have_a_mean() -> None:
    assert summarise_answers(GRADE, said(7.0, 8.0)).text == "7.50 (mean of 2)"
    assert summarise_answers(YES_NO, said(0.25, 0.75, 0.8), use_mean=True).text == "0.6000 (mean of 3)"
    assert summarise_answers(Measurement("L1", "IF", "L1"), said(0.1, 0.3)).text == "0.2000 (mean of 2)"


def test_the_explanation_comes_from_the_majority() -> None:
    answers = said(0.0, 1.0, 1.0)
    assert majority_explanation(summarise_answers(YES_NO, answers), answers) == "why 1"


def test_compare_report_viewer_and_export_use_one_notation(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    with RunWriter(run) as store, store.transaction():
        for repeat, other in ((1, 1.0), (2, 0.0)):  # with "Yes" at first: two of three for alpha, one of three for beta
            for model, value in (("alpha", other), ("beta", 1.0 - other)):
                key = CallKey("someone", EditKey(model, "s1"), ("IF/1",), repeat=repeat)
                verdict = Verdict("IF/1", VerdictStatus.ANSWERED, value, ("No", "Yes")[int(value)], "so")
                store.put_replies([(key, Reply(VerdictStatus.ANSWERED, "..."), [verdict])])
    with open_run(run) as opened:
        shown = comparison_output(compare(opened, "alpha", "beta", resamples=100))
        card = score(opened, resamples=100)
        page = report_page(opened, card, 100)
        export_run(opened, card, tmp_path / "out", resamples=100)
    row = next(row for table in shown.tables for row in table.rows if "Is the hat red?" in str(row[0]))
    assert row[1:] == ["Yes (2 of 3)", "No (2 of 3)"]
    answers = polars.read_parquet(tmp_path / "out" / "answers.parquet")
    asked = answers.filter((polars.col("sample") == "s1") & (polars.col("probe") == "IF/1")).sort("model")
    assert asked["said"].to_list() == ["Yes (2 of 3)", "No (2 of 3)"]
    assert asked["agreeing"].to_list() == [2, 2]
    assert asked["answers"].to_list() == [3, 3]
    with looking_at(run) as client:
        viewer = client.get("/sample?id=s1").text
    for text in (page, viewer):
        assert "Yes (2 of 3)" in text
        assert "No (2 of 3)" in text
