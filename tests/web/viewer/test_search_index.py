"""Full-text search: results, and any kind of query."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creval.store.lookup import RunLookup
from creval.web.viewer.search_index import EXPLANATION, INSTRUCTION, KINDS, QUESTION, TextIndex, fts_query, search_terms
from creval.web.viewer.search_results import highlight_excerpt
from tests.web.made import say, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def index(run: Path) -> TextIndex:
    made = TextIndex()
    with RunLookup(run) as opened:
        made.update(opened)
    return made


@pytest.mark.parametrize(
    ("wanted", "counts"),
    [
        ("hat", (3, 3, 0)),
        ("HAT cat", (3, 0, 0)),
        ("ragged", (0, 0, 5)),
        ("rag", (0, 0, 5)),
        ("agged", (0, 0, 0)),
        ("ragged beta", (0, 0, 3)),
        ('"same cat"', (0, 3, 0)),
        ('"cat same"', (0, 0, 0)),
        ("window OR hat", (0, 0, 0)),
    ],
)
def test_results_contain_all_words(index: TextIndex, wanted: str, counts: tuple[int, ...]) -> None:
    assert tuple(index.count(wanted, kind) for kind in KINDS) == counts


def test_places_of_results(index: TextIndex, run: Path) -> None:
    assert [hit.sample for hit in index.find("hat", INSTRUCTION, 2)] == ["s1", "s2"]
    assert [hit.sample for hit in index.find("hat", INSTRUCTION, 2, 2)] == ["s3"]
    assert {hit.probe for hit in index.find("sharp", QUESTION, 9)} == {"VQ/1"}
    with RunLookup(run) as opened:
        hits = index.find("ragged beta", EXPLANATION, 9)
        heard = opened.verdicts_by_row([hit.row for hit in hits])
    assert {(one.edit.sample, one.probe) for one in heard.values()} == {("s1", "IF/1"), ("s1", "VQ/1"), ("s2", "VC/1")}


HAT, HAT_AND_CAT, NOTHING = (3, 3, 0), (3, 0, 0), (0, 0, 0)
ODD = {
    **dict.fromkeys(('"', '""', "*", "a*b", "NEAR(", "NOT", "AND OR", "text:hat", "(", "{", "_"), NOTHING),
    **dict.fromkeys(("'; DROP TABLE", "\0", "é", "猫", "a" * 5000, "+", "\\", "%"), NOTHING),
    **dict.fromkeys(("^hat", "-hat", '"hat', "__ hat", "hat*", "(hat)"), HAT),
    "hat\0cat": HAT_AND_CAT,
}


@pytest.mark.parametrize("wanted", ODD)
def test_search_syntax_is_escaped(index: TextIndex, wanted: str) -> None:
    assert tuple(index.count(wanted, kind) for kind in KINDS) == ODD[wanted]
    assert tuple(len(index.find(wanted, kind, 5)) for kind in KINDS) == ODD[wanted]


@given(st.text(max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_text_can_be_searched_for(wanted: str) -> None:
    index = TextIndex()
    for kind in KINDS:
        assert index.count(wanted, kind) == 0
        assert index.find(wanted, kind, 5) == []
    assert bool(search_terms(wanted)) == bool(fts_query(wanted))


def test_it_grows_with_its_run(tmp_path: Path) -> None:
    run, index = write_run(tmp_path), TextIndex()
    with RunLookup(run) as opened:
        index.update(opened)
        before = index.count("smooth", EXPLANATION)
        index.update(opened)
        assert index.count("smooth", EXPLANATION) == before
        say(run, {"beta": {"s3": "++++"}, "alpha": {"s3": "++-+"}})
        index.update(opened)
    assert index.count("smooth", EXPLANATION) == before + 5, "an unanswered question was answered again"


def test_only_chosen_models_and_samples_are_found(run: Path) -> None:
    index = TextIndex()
    with RunLookup(run) as opened:
        index.update(opened, ("beta",), {"s1": opened.samples["s1"]})
        assert [index.count(word, kind) for word, kind in (("hat", INSTRUCTION), ("fur", EXPLANATION))] == [1, 4]
        index.update(opened, ("alpha",), {"s1": opened.samples["s1"]})
        assert index.count("beta", EXPLANATION) == 0
        assert index.count("alpha", EXPLANATION) == 4


def test_excerpts_of_results() -> None:
    whole = "x" * 500 + " the <b>Hat</b> & " + "y" * 500
    shown = highlight_excerpt(whole, ["hat"])
    assert "&lt;b&gt;<mark>Hat</mark>&lt;/b&gt; &amp;" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 500
    assert highlight_excerpt("a\x1b[31m", []) == "a\\x1b[31m"
