"""Summaries of several answers to one question."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from creval.core.edit_record import EditKey
from creval.core.probe import Measurement, Question
from creval.store.lookup import RunLookup
from creval.store.run import VerdictRow
from creval.web.viewer.answer_views import model_answer, voice_answers, voice_label
from creval.web.viewer.snapshot import Snapshot, take_snapshot
from tests.web.made import QUESTIONS, write_run

SCALE = Question("O", "IF", "How well?", "0-10")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with RunLookup(write_run(tmp_path_factory.mktemp("run"))) as run:
        yield take_snapshot(run)


def heard(*values: float | None, draws: bool = False) -> list[VerdictRow]:
    return [
        VerdictRow(
            EditKey("m", "s", at if draws else 0),
            "p",
            "j",
            0 if draws else at,
            "",
            "missing" if value is None else "answered",
            value,
            "" if value is None else ("No", "Yes")[int(value)] if value <= 1 else f"{value:g}",
            "",
            None,
        )
        for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "state", "words"),
    [
        ((), "unasked", ""),
        ((1.0,), "right", "Yes"),
        ((0.0,), "wrong", "No"),
        ((None,), "unanswered", "missing"),
        ((1.0, 1.0), "right", "Yes (2 of 2)"),
        ((1.0, 1.0, 0.0), "right", "Yes (2 of 3)"),
        ((1.0, 0.0), "unanswered", "no majority (No 1, Yes 1)"),
        ((None, 0.0), "wrong", "No (1 of 2)"),
        ((None, None), "unanswered", "missing (2 of 2)"),
    ],
)
def test_the_majority_of_voices(at: Snapshot, values: tuple[float | None, ...], state: str, words: str) -> None:
    found = model_answer(at, QUESTIONS[0], heard(*values))
    assert (found.state, found.text) == (state, words)


def test_draws_count_by_their_mean(at: Snapshot) -> None:
    assert model_answer(at, QUESTIONS[0], heard(1.0, 0.0, draws=True)).state == "wrong", "no more than half"
    assert model_answer(at, QUESTIONS[0], heard(1.0, 0.0, 1.0, draws=True)).state == "right"


def test_grades_and_measurements_have_a_mean(at: Snapshot) -> None:
    assert model_answer(at, SCALE, heard(7.0, 8.0)).text == "7.50 (mean of 2)"
    assert model_answer(at, SCALE, heard(7.0, None)).text == "7.00 (mean of 1 of 2)"
    assert model_answer(at, SCALE, heard(4.0, 5.0)).state == "unscored", "there is no reference"
    assert model_answer(at, Measurement("L1", "IF", "outside"), heard(0.25)).state == "unscored"


def test_labels_of_voices(at: Snapshot) -> None:
    assert voice_label("gauge:clip", 0, "") == "clip"
    assert voice_label("gpt", 1, "swapped") == "gpt, repeat 2 (swapped)"
    assert [one.voice for one in voice_answers(at, QUESTIONS[0], heard(1.0, 0.0))] == ["j", "j, repeat 2"]
    assert [one.draw for one in voice_answers(at, QUESTIONS[0], heard(1.0, 0.0, draws=True))] == ["draw 0", "draw 1"]
