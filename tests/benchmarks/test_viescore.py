"""Tests of VIEScore and EditScore: the formula worked out by hand, and runs on any dataset."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from creval.analysis.scoring import score as score_run
from creval.benchmarks import get_protocol, open_benchmark
from creval.benchmarks.viescore import EditScore, VIEScore
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.core.schema import Score
from creval.judging.judge_run import judge
from creval.parsing.judge_replies import parse_reply
from creval.store import open_run
from creval.testing.fake_chat_server import FakeServer
from tests.serving import serving

SAMPLE = Sample("s", "make it red", Path("s.png"))
VALUES = {"SC/1": 9.0, "SC/2": 4.0, "PQ/1": 8.0, "PQ/2": 9.0}


def score(protocol: VIEScore, values: dict[str, float | None]) -> dict[str, Score]:
    return protocol.score(SAMPLE, protocol.probes(SAMPLE), values)


def test_the_worst_of_each_pair_counts_and_their_geometric_mean() -> None:
    found = score(VIEScore(), dict(VALUES))
    assert found["SC"] == Score(4.0, 2, 2)
    assert found["PQ"] == Score(8.0, 2, 2)
    assert found["O"].value == pytest.approx(math.sqrt(32))
    assert found["O"][1:] == (4, 4)


def test_editscore_rates_up_to_25() -> None:
    values = {name: 2.5 * value for name, value in VALUES.items()}
    found = score(EditScore(), dict(values))
    assert found["SC"].value == pytest.approx(4.0)
    assert found["O"].value == pytest.approx(math.sqrt(32))


def test_an_unanswered_question_leaves_metric_and_total_without_value() -> None:
    found = score(VIEScore(), VALUES | {"SC/2": None})
    assert found["SC"] == Score(None, 1, 2)
    assert found["PQ"].value == 8.0
    assert found["O"] == Score(None, 3, 4)


def test_quality_is_judged_from_the_edit_alone() -> None:
    shown = {question.id: question.shows for question in VIEScore().probes(SAMPLE)}
    assert shown["SC/1"] == ("source", "edit", "instruction")
    assert shown["PQ/1"] == ("edit",)
    without = VIEScore().probes(Sample("t", "draw it"))
    assert without[0].shows == ("edit", "instruction")


def test_the_authors_own_form_of_a_reply_is_read() -> None:
    asked = EditScore().probes(SAMPLE)[:2]
    reply = '{"reasoning": "red, but the sky has changed", "score": [24, 10]}'
    assert [verdict.value for verdict in parse_reply(reply, asked, ["Q1", "Q2"])] == [24, 10]
    assert parse_reply('{"score": [24]}', asked, ["Q1", "Q2"])[1].value is None


def test_it_can_be_put_to_any_dataset(miniature: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(miniature, "viescore")
    assert benchmark.metrics == ("SC", "PQ")
    server = FakeServer()
    with serving(server.app()) as url:
        spec = f"openai:fake@{url}/v1"
        edits = [miniature / "edits" / name for name in ("Careful", "Keeper")]
        done = judge(benchmark, edits, spec, tmp_path / "run", Settings())
        assert server.stats["requests"] == 2 * 18 * 2, "a call for each pair of scores"
        assert (done.expected_answers, done.unanswered) == (144, 0)
        with pytest.raises(CrevalError, match="is a run with the protocol"):
            judge(open_benchmark(miniature), edits, spec, tmp_path / "run", Settings())
    with open_run(tmp_path / "run") as run:
        card = score_run(run, resamples=100)
    assert card.table.schema.columns == ("SC", "PQ", "O")
    assert card.table.schema.ranking_column == "O"
    best = card.cell(card.models[0], "O")
    assert best.value is not None
    assert 0 < best.value <= 10
    assert best.value >= (card.cell(card.models[1], "O").value or 0)
    assert len(card.groups("dimension")) == 9, "the dataset's own groups"
    assert card.differences[0].low is not None


def test_a_protocol_that_has_nothing_to_ask_says_so(miniature: Path, tmp_path: Path) -> None:
    chains = open_benchmark(miniature, "complexbench-edit")
    with pytest.raises(CrevalError, match="has no questions"):
        judge(chains, [miniature / "edits" / "Keeper"], "openai:m@http://127.0.0.1:9/v1", tmp_path)


def test_unknown_protocols_get_the_nearest_name(miniature: Path) -> None:
    with pytest.raises(CrevalError, match="did you mean 'viescore'"):
        open_benchmark(miniature, "vie-score")
    assert get_protocol("editscore").name == "editscore"
