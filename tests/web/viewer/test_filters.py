"""Filters and order of questions and samples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from creval.core.errors import CrevalError
from creval.store.lookup import RunLookup
from creval.web.common.pages import link
from creval.web.viewer.filters import Filters, filter_items, filter_samples, parse_filters, resolve_name
from creval.web.viewer.snapshot import AnswerState, Snapshot, take_snapshot
from tests.web.made import write_run


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with RunLookup(write_run(tmp_path_factory.mktemp("run"))) as run:
        yield take_snapshot(run)


def left(at: Snapshot, choice: Filters) -> list[str]:
    items = [at.items[place] for place in filter_items(choice, at).tolist()]
    return [f"{item.sample} {item.probe.id}" for item in items]


def test_how_each_question_ended(at: Snapshot) -> None:
    signs = {AnswerState.RIGHT: "+", AnswerState.WRONG: "-", AnswerState.UNANSWERED: "?", AnswerState.UNASKED: " "}
    found = {
        model: "".join(signs[AnswerState(state)] for state in at.states[:, column].tolist())
        for column, model in enumerate(at.models)
    }
    assert found == {"alpha": "+++++-+++?-+", "beta": "-++-+-++    "}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Filters(outcome="wrong"), ["s1 IF/1", "s1 VQ/1", "s2 VC/1", "s3 VC/2"]),
        (Filters(outcome="wrong", model="alpha"), ["s2 VC/1", "s3 VC/2"]),
        (Filters(outcome="wrong", weight="3"), ["s2 VC/1"]),
        (Filters(outcome="wrong", metric="VQ"), ["s1 VQ/1"]),
        (Filters(outcome="wrong", group="dimension:Surreal Fantasy", model="alpha"), ["s2 VC/1"]),
        (Filters(outcome="unanswered"), ["s3 VC/1"]),
        (Filters(outcome="unasked", metric="VC"), ["s3 VC/1", "s3 VC/2"]),
        (Filters(outcome="right", model="beta", metric="IF"), ["s2 IF/1"]),
        (Filters(split="yes"), ["s1 IF/1", "s1 VQ/1"]),
        (Filters(split="yes", model="alpha", outcome="wrong"), []),
        (Filters(metric="S", group="category:Contextualization", weight="3"), ["s3 VC/1"]),
    ],
)
def test_which_questions_are_left(at: Snapshot, choice: Filters, expected: list[str]) -> None:
    assert left(at, choice) == expected


def test_samples_in_order(at: Snapshot) -> None:
    # alpha's S: 100; 40 + 0.4 * 25 + 20 = 70; 40 + 0 + 20 = 60. beta's: 40; 70; none.
    assert filter_samples(Filters(), at)[0] == ["s1", "s2", "s3"]
    assert filter_samples(Filters(model="alpha", order="worst"), at)[0] == ["s3", "s2", "s1"]
    assert filter_samples(Filters(model="beta", order="best"), at)[0] == ["s2", "s1", "s3"]
    assert filter_samples(Filters(order="apart"), at)[0][0] == "s1"
    names, counts = filter_samples(Filters(outcome="wrong"), at)
    assert (names, counts) == (["s1", "s2", "s3"], {"s1": 2, "s2": 1, "s3": 1})


def test_an_address_leads_back_to_the_choice(at: Snapshot) -> None:
    choice = Filters("alpha", "dimension:Surreal Fantasy", "VC", "wrong", "3", "yes", "apart")
    assert parse_filters(choice.params, at) == choice
    assert parse_filters({}, at) == Filters()


@pytest.mark.parametrize(
    "given",
    [
        {"model": "gamma"},
        {"group": "dimension:Nothing"},
        {"metric": "XX"},
        {"outcome": "good"},
        {"weight": "heavy"},
        {"order": "sideways"},
        {"model": "x" * 100_000},
    ],
)
def test_unknown_filter_values_are_errors(at: Snapshot, given: dict[str, str]) -> None:
    with pytest.raises(CrevalError):
        parse_filters(given, at)


def test_names_are_known_as_a_form_sends_them_back() -> None:
    names = ("plain", "two\nlines", "turned \u202e around")
    assert resolve_name("model", "two\r\nlines", names) == "two\nlines"
    assert resolve_name("model", "turned \\u202e around", names) == "turned \u202e around"


def test_links_leave_out_what_is_empty() -> None:
    assert link("/sample", id="a b&c", model="", page=None) == "/sample?id=a+b%26c"
    assert link("/") == "/"
