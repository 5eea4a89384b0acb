"""Filters: what they leave, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from creval.core.errors import CrevalError
from creval.store.lookup import CloseUp
from creval.web.common.pages import link
from creval.web.viewer.filters import Choice, chosen_items, chosen_samples, known, read_choice
from creval.web.viewer.snapshot import Snapshot, State, take
from tests.web.made import write_run


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with CloseUp(write_run(tmp_path_factory.mktemp("run"))) as run:
        yield take(run)


def left(at: Snapshot, choice: Choice) -> list[str]:
    items = [at.items[place] for place in chosen_items(choice, at).tolist()]
    return [f"{item.sample} {item.probe.id}" for item in items]


def test_how_each_question_ended(at: Snapshot) -> None:
    signs = {State.RIGHT: "+", State.WRONG: "-", State.UNANSWERED: "?", State.UNASKED: " "}
    found = {
        model: "".join(signs[State(state)] for state in at.states[:, column].tolist())
        for column, model in enumerate(at.systems)
    }
    assert found == {"alpha": "+++++-+++?-+", "beta": "-++-+-++    "}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(outcome="wrong"), ["s1 IF/1", "s1 VQ/1", "s2 VC/1", "s3 VC/2"]),
        (Choice(outcome="wrong", model="alpha"), ["s2 VC/1", "s3 VC/2"]),
        (Choice(outcome="wrong", weight="3"), ["s2 VC/1"]),
        (Choice(outcome="wrong", metric="VQ"), ["s1 VQ/1"]),
        (Choice(outcome="wrong", group="dimension:Surreal Fantasy", model="alpha"), ["s2 VC/1"]),
        (Choice(outcome="unanswered"), ["s3 VC/1"]),
        (Choice(outcome="unasked", metric="VC"), ["s3 VC/1", "s3 VC/2"]),
        (Choice(outcome="right", model="beta", metric="IF"), ["s2 IF/1"]),
        (Choice(split="yes"), ["s1 IF/1", "s1 VQ/1"]),
        (Choice(split="yes", model="alpha", outcome="wrong"), []),
        (Choice(metric="S", group="category:Contextualization", weight="3"), ["s3 VC/1"]),
    ],
)
def test_which_questions_are_left(at: Snapshot, choice: Choice, expected: list[str]) -> None:
    assert left(at, choice) == expected


def test_samples_in_order(at: Snapshot) -> None:
    # alpha's S: 100; 40 + 0.4 * 25 + 20 = 70; 40 + 0 + 20 = 60. beta's: 40; 70; none.
    assert chosen_samples(Choice(), at)[0] == ["s1", "s2", "s3"]
    assert chosen_samples(Choice(model="alpha", order="worst"), at)[0] == ["s3", "s2", "s1"]
    assert chosen_samples(Choice(model="beta", order="best"), at)[0] == ["s2", "s1", "s3"]
    assert chosen_samples(Choice(order="apart"), at)[0][0] == "s1"
    names, counts = chosen_samples(Choice(outcome="wrong"), at)
    assert (names, counts) == (["s1", "s2", "s3"], {"s1": 2, "s2": 1, "s3": 1})


def test_an_address_leads_back_to_the_choice(at: Snapshot) -> None:
    choice = Choice("alpha", "dimension:Surreal Fantasy", "VC", "wrong", "3", "yes", "apart")
    assert read_choice(choice.given, at) == choice
    assert read_choice({}, at) == Choice()


@pytest.mark.parametrize(
    "given",
    [{"model": "gamma"}, {"group": "dimension:Nothing"}, {"metric": "XX"}, {"outcome": "good"},
     {"weight": "heavy"}, {"order": "sideways"}, {"model": "x" * 100_000}],
)  # fmt: skip
def test_what_the_run_does_not_know_is_said(at: Snapshot, given: dict[str, str]) -> None:
    with pytest.raises(CrevalError):
        read_choice(given, at)


def test_names_are_known_as_a_form_sends_them_back() -> None:
    names = ("plain", "two\nlines", "turned \u202e around")
    assert known("model", "two\r\nlines", names) == "two\nlines"
    assert known("model", "turned \\u202e around", names) == "turned \u202e around"


def test_links_leave_out_what_is_empty() -> None:
    assert link("/sample", id="a b&c", model="", page=None) == "/sample?id=a+b%26c"
    assert link("/") == "/"
