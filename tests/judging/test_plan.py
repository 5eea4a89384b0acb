"""Batches of questions, order of samples, and remaining work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.judging.plan import Plan, batch_questions, stratified_shuffle
from creval.store.edit_folders import find_edits


def plan(miniature: Path, **chosen: object) -> Plan:
    benchmark = open_benchmark(miniature)
    folders = sorted((miniature / "edits").iterdir())
    found = find_edits(folders, benchmark.dataset.samples)
    return Plan(benchmark, found, Settings(**chosen))  # type: ignore[arg-type]


def test_questions_in_one_call() -> None:
    both = ("source", "edit")
    asked = [
        Question("IF/1", "IF", "?", shows=both),
        Question("VC/1", "VC", "?", shows=both),
        Question("IF/2", "IF", "?", shows=both),
        Question("PQ/1", "PQ", "?", "0-10", shows=("edit",)),
    ]

    def ids(way: str) -> list[list[str]]:
        return [[q.id for q in group] for group in batch_questions(asked, way)]

    assert ids("question") == [["IF/1"], ["VC/1"], ["IF/2"], ["PQ/1"]]
    assert ids("metric") == [["IF/1", "IF/2"], ["VC/1"], ["PQ/1"]]
    assert ids("sample") == [["IF/1", "VC/1", "IF/2"], ["PQ/1"]]


def test_the_first_samples_are_balanced_over_dimensions(miniature: Path) -> None:
    benchmark = open_benchmark(miniature)
    card = benchmark.protocol.schema
    order = stratified_shuffle(benchmark.dataset.samples, card, seed=0)
    assert sorted(s.id for s in order) == sorted(s.id for s in benchmark.dataset.samples)
    assert set(Counter(s.tags["dimension"] for s in order[:9]).values()) == {1}
    assert stratified_shuffle(benchmark.dataset.samples, card, seed=0) == order
    assert stratified_shuffle(benchmark.dataset.samples, card, seed=1) != order


def test_all_models_edits_of_a_sample_are_consecutive(miniature: Path) -> None:
    items = list(plan(miniature, limit=4).work({}))
    assert [item.edit.key.model for item in items] == ["Careful", "Follower", "Keeper"] * 4
    assert len({item.sample.id for item in items}) == 4
    assert [len(group.questions) for group in items[0].batches] == [5, 5, 5]


def test_filters(miniature: Path) -> None:
    chosen = plan(miniature, metrics=("VC",), models=("Keeper",), groups=("Surreal Fantasy",))
    items = list(chosen.work({}))
    assert {item.sample.tags["dimension"] for item in items} == {"Surreal Fantasy"}
    assert {item.edit.key.model for item in items} == {"Keeper"}
    assert {q.metric for item in items for g in item.batches for q in g.questions} == {"VC"}
    wider = plan(miniature, groups=("Stylization",))
    assert {s.tags["category"] for s in wider.samples} == {"Stylization"}
    for wrong, sentence in (
        ({"metrics": ("XX",)}, "there is no metric"),
        ({"models": ("keeper",)}, "did you mean 'Keeper'"),
        ({"groups": ("Surreal",)}, "did you mean 'Surreal Fantasy'"),
        ({"limit": 0}, "`limit`"),
    ):
        with pytest.raises(CrevalError, match=sentence):
            plan(miniature, **wrong)


def test_unanswered_questions_are_asked_one_by_one(miniature: Path) -> None:
    chosen = plan(miniature, limit=1, models=("Keeper",), repeat=2)
    key = EditKey("Keeper", chosen.samples[0].id)
    done = {(0, f"IF/{n}") for n in range(1, 6)} | {(1, f"IF/{n}") for n in (1, 2, 3)}
    (item,) = chosen.work({key: done})
    assert item.cached_calls == 1
    every = {(repeat, f"IF/{n}") for n in range(1, 6) for repeat in (0, 1)}
    cached = [next(chosen.work({key: every}, supports_n=way)).cached_calls for way in (False, True)]
    assert cached == [2, 1], "one call can bring all repeats, or each takes its own"
    groups = [([q.id for q in group.questions], group.repeats) for group in item.batches]
    assert groups == [
        (["IF/4"], (1,)),
        (["IF/5"], (1,)),
        ([f"VC/{n}" for n in range(1, 6)], (0, 1)),
        ([f"VQ/{n}" for n in range(1, 6)], (0, 1)),
    ]


def test_the_instruction_is_shown_on_request(miniature: Path) -> None:
    plain, shown = plan(miniature), plan(miniature, show_instruction=True)
    assert all("instruction" not in q.shows for qs in plain.questions.values() for q in qs)
    assert all("instruction" in q.shows for qs in shown.questions.values() for q in qs)


def test_contradictory_settings_are_refused() -> None:
    for wrong, sentence in (
        ({"batch_by": "metrc"}, "did you mean 'metric'"),
        ({"logprobs": True}, "`batch_by` question"),
        ({"repeat": 0}, "`repeat`"),
        ({"parameters": {"n": 3}}, "creval sets this parameter itself"),
    ):
        with pytest.raises(CrevalError, match=sentence):
            Settings(**wrong)
