"""Runs of judges: every question is asked once, and no answer is lost."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.cli.console import call_summary
from creval.core.edit_record import EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.judging import workers
from creval.judging.estimate import estimate_judge_costs
from creval.judging.judge_run import JudgeRun, judge
from creval.judging.replies import read_verdicts
from creval.judging.summary import JudgeSummary
from creval.providers.pricing import Price
from creval.reporting import run_facts, sentences, tables
from creval.store import DATABASE, open_run
from creval.testing.fake_chat_server import ChatQuery, FakeServer
from creval.testing.fake_faults import FAULT_KINDS
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.databases import edit_database
from tests.serving import serving
from tests.web.made import looking_at

MODELS = ("Careful", "Keeper")


@contextmanager
def spec_of(server: FakeServer, model: str = "fake") -> Iterator[str]:
    with serving(server.app()) as url:
        yield f"openai:{model}@{url}/v1"


def folders(miniature: Path) -> list[Path]:
    return [miniature / "edits" / model for model in MODELS]


def judged(miniature: Path, run: Path, server: FakeServer | None = None, **chosen: Any) -> JudgeSummary:
    server = server or FakeServer()
    with spec_of(server) as spec:
        return ask(miniature, run, spec, **chosen)


def ask(miniature: Path, run: Path, spec: str, **chosen: Any) -> JudgeSummary:
    settings = Settings(**{"concurrency": 8} | chosen)
    return judge(open_benchmark(miniature), folders(miniature), spec, run, settings)


def verdicts(run: Path) -> dict[tuple[EditKey, str], tuple[str, float | None]]:
    with open_run(run) as opened:
        return {(a.edit, a.probe): (a.status, a.value) for a in opened.answers()}


def query(run: Path, sql: str) -> list[tuple[Any, ...]]:
    with edit_database(run / DATABASE) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(("way", "calls"), [("question", 540), ("metric", 108), ("sample", 36)])
def test_everything_is_asked_once(miniature: Path, tmp_path: Path, way: str, calls: int) -> None:
    server = FakeServer()
    done = judged(miniature, tmp_path / "run", server, batch_by=way)
    assert server.stats["requests"] == calls  # 18 samples, 2 models, 15 questions
    assert server.stats["most at once"] <= 8
    assert (done.expected_answers, done.unanswered, done.progress.requests_sent) == (540, 0, calls)
    with open_run(tmp_path / "run") as run:
        assert run.models == MODELS
        cell = score(run, resamples=100).cell("Keeper", "IF")
        assert (cell.scored, cell.total) == (90, 90)


def test_answers_do_not_depend_on_concurrency(miniature: Path, tmp_path: Path) -> None:
    for name, at_once in (("one", 1), ("many", 16)):
        judged(miniature, tmp_path / name, FakeServer(latency=0.001), concurrency=at_once, limit=6)
    assert verdicts(tmp_path / "one") == verdicts(tmp_path / "many")


class Shuffling(FakeServer):
    """Server that replies in random order."""

    async def reply(self, request: Any, body: Any, asked: ChatQuery) -> web.StreamResponse:
        await asyncio.sleep(0.05 * random.random())
        return await super().reply(request, body, asked)


@pytest.mark.parametrize("model", ["creval", "complex-edit", "complexbench-edit"])
def test_results_do_not_depend_on_the_order_of_completion(miniature: Path, tmp_path: Path, model: str) -> None:
    bench = miniature
    if model == "complex-edit":
        bench = write_parquet(tmp_path / "bench", test_real=[row(n) for n in range(4)])
    elif model == "complexbench-edit":
        bench = write_release(tmp_path / "bench")
    benchmark = open_benchmark(bench)
    chance = random.Random(5)
    edits = [tmp_path / name for name in ("A", "B")]
    for folder in edits:
        for sample in benchmark.dataset.samples:
            path = folder / f"{sample.id}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (16, 16), tuple(chance.randbytes(3))).save(path)
    found = []
    for server, at_once in ((FakeServer(), 1), (Shuffling(), 32)):
        run = tmp_path / f"run{at_once}"
        with spec_of(server, "m") as spec:
            judge(benchmark, edits, spec, run, Settings(concurrency=at_once, limit=8, repeat=2))
        with open_run(run) as opened:
            card = score(opened, resamples=200)
            shown = tables.select_groups(card, [level.name for level in card.table.schema.levels])
            found.append(tables.csv_table(card, [*shown, *tables.select_groups(card, ["sample"])]))
    assert found[0] == found[1]
    assert found[0].count("\nsample,") > 8


def test_a_second_run_makes_no_calls(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer()
    with spec_of(server) as spec:
        ask(miniature, tmp_path / "run", spec, limit=4)
        before = server.stats["requests"]
        again = ask(miniature, tmp_path / "run", spec, limit=4)
        assert server.stats["requests"] == before == 24
        assert (again.expected_answers, again.unanswered, again.progress.requests_sent) == (120, 0, 0)
        more = ask(miniature, tmp_path / "run", spec, limit=6)
        assert server.stats["requests"] == 36
        assert more.expected_answers == 180
        ask(miniature, tmp_path / "run", spec)
        assert server.stats["requests"] == 108


def test_unanswered_questions_are_asked_alone_and_reported(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(skipped_phrase="proportions")
    with spec_of(server) as spec:
        done = ask(miniature, tmp_path / "run", spec, limit=3)
        # Three calls for each of six edits, and two more for the one question.
        assert server.stats["requests"] == 6 * 3 + 6 * 2
        assert done.unanswered == 6
        assert done.reasons == [("missing: the reply says nothing about the question", 6)]
        assert "VC/2" in done.examples[0]
        left = [key for key, (status, _) in verdicts(tmp_path / "run").items() if status != "answered"]
        assert {probe for _, probe in left} == {"VC/2"}
        with open_run(tmp_path / "run") as run:
            cell = score(run, resamples=100).cell("Keeper", "VC")
            assert (cell.scored, cell.total) == (12, 15)
        # A rerun asks only this question, once more.
        ask(miniature, tmp_path / "run", spec, limit=3)
        assert server.stats["requests"] == 30 + 6 * 3
        server.skipped_phrase = ""
        assert ask(miniature, tmp_path / "run", spec, limit=3).unanswered == 0


@pytest.mark.parametrize("kind", [kind for kind in FAULT_KINDS if kind != "timeout"])
def test_a_run_survives_every_kind_of_error(miniature: Path, tmp_path: Path, kind: str) -> None:
    judged(miniature, tmp_path / "clean", limit=5)
    faulty = FakeServer(fault_rate=0.3, fault_kinds=[kind], seed=5)
    faulty.seed = 0  # the same answers with other errors
    done = judged(miniature, tmp_path / "faulty", faulty, limit=5, retries=12)
    assert faulty.stats[kind] > 2
    assert done.unanswered == 0
    assert verdicts(tmp_path / "faulty") == verdicts(tmp_path / "clean")


def test_a_hanging_call_is_retried(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(fault_rate=0.2, fault_kinds=["timeout"], stall_seconds=60)
    done = judged(miniature, tmp_path / "run", server, limit=5, timeout=0.5)
    assert done.unanswered == 0
    assert done.progress.error_counts["timeout"] == server.stats["timeout"] > 0


def test_each_unanswered_question_has_a_reason(miniature: Path, tmp_path: Path) -> None:
    class Refusing(FakeServer):
        async def reply(self, request: web.Request, body: Any, asked: ChatQuery) -> web.StreamResponse:
            kind = "refusal" if "background" in json.dumps(body["messages"][0]["content"][-1]) else ""
            if kind:
                return await self.send_fault(kind, request, body, asked)
            return await super().reply(request, body, asked)

    done = judged(miniature, tmp_path / "run", Refusing(), limit=2)
    # The metric's questions are asked together twice, then one by one: only one is refused.
    assert done.unanswered == 4
    ((reason, count),) = done.reasons
    assert count == 4
    assert reason == "refused: the judge declined: I cannot help with this image."


def test_a_wrong_key_stops_at_once(miniature: Path, tmp_path: Path) -> None:
    class Locked(FakeServer):
        async def reply(self, *_: Any) -> web.StreamResponse:
            return web.json_response({"error": {"message": "Incorrect API key"}}, status=401)

    server = Locked()
    with pytest.raises(CrevalError, match="the key was refused"):
        judged(miniature, tmp_path / "run", server)
    assert server.stats["requests"] <= 8


def test_a_run_stops_if_all_requests_are_rejected(miniature: Path, tmp_path: Path) -> None:
    class Picky(FakeServer):
        async def reply(self, *_: Any) -> web.StreamResponse:
            return web.json_response({"error": {"message": "top_p must be odd"}}, status=400)

    server = Picky()
    with pytest.raises(CrevalError, match="none of the first 8 calls"):
        judged(miniature, tmp_path / "run", server, parameters={"top_p": 2})
    assert server.stats["requests"] <= 40


def test_a_run_stops_if_the_server_goes_down(miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying(FakeServer):
        async def reply(self, request: web.Request, body: Any, asked: ChatQuery) -> web.StreamResponse:
            if self.stats["requests"] > 20:
                return await self.send_fault("server error", request, body, asked)
            return await super().reply(request, body, asked)

    monkeypatch.setattr("creval.calls.retry.backoff", lambda *_: 0.001)
    with pytest.raises(CrevalError, match="none of the last 8 calls was answered"):
        judged(miniature, tmp_path / "run", Dying(), attempts=3)
    assert len(verdicts(tmp_path / "run")) >= 20 * 5, "what was answered is kept"


def test_an_unreachable_server_stops_the_run(miniature: Path, tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="cannot be reached"):
        ask(miniature, tmp_path / "run", "openai:m@http://127.0.0.1:9/v1")


def test_the_budget_is_kept(miniature: Path, tmp_path: Path) -> None:
    price = Price(1000, 1000)  # a dollar for a thousand tokens
    server = FakeServer()
    with spec_of(server) as spec:
        done = ask(miniature, tmp_path / "run", spec, price=price, budget=12.0, batch_by="sample")
        assert done.stopped == "budget"
        (spent,) = query(tmp_path / "run", "SELECT sum(cost) FROM replies")[0]
        assert 5 < spent <= 14
        made = server.stats["requests"]
        again = ask(miniature, tmp_path / "run", spec, price=price, budget=12.0, batch_by="sample")
        assert again.stopped == "budget"
        assert server.stats["requests"] - made <= 2, "what was spent before counts"
        with pytest.raises(CrevalError, match="`price`"):
            ask(miniature, tmp_path / "other", spec, budget=5.0)


def test_repeats_in_one_call_or_one_by_one(miniature: Path, tmp_path: Path) -> None:
    class Single(FakeServer):
        def build_reply(self, body: Any, asked: ChatQuery) -> dict[str, Any]:
            return super().build_reply(body, asked._replace(choice_count=1))

    several, single = FakeServer(), Single()
    judged(miniature, tmp_path / "several", several, repeat=3, limit=2)
    assert several.stats["requests"] == 12
    judged(miniature, tmp_path / "single", single, repeat=3, limit=2)
    assert 36 <= single.stats["requests"] <= 12 + 2 * 8 + 24
    for name in ("several", "single"):
        counts = query(
            tmp_path / name, "SELECT repeat, count(*) FROM verdicts JOIN voices ON voices.id = voice GROUP BY 1"
        )
        assert counts == [(0, 60), (1, 60), (2, 60)]
    # Scoring reduces three answers to a question to their majority.
    with open_run(tmp_path / "several") as run:
        assert all(value in (0.0, 1.0) for _, values in run.values_by_edit() for value in values.values())


def test_a_panel_stores_each_judges_verdict_and_a_tie_is_unanswered(miniature: Path, tmp_path: Path) -> None:
    with spec_of(FakeServer(seed=1), "a") as first, spec_of(FakeServer(seed=2), "b") as second:
        panel = f"panel:{first}+{second}"
        warnings = JudgeRun(open_benchmark(miniature), folders(miniature), panel, "x").warnings()
        done = ask(miniature, tmp_path / "run", panel, limit=3)
    assert done.expected_answers == 180
    voices = query(tmp_path / "run", "SELECT judge FROM voices ORDER BY id")
    assert sorted(name for (name,) in voices) == ["openai:a", "openai:b"]
    with open_run(tmp_path / "run") as run:
        values = [value for _, found in run.values_by_edit() for value in found.values()]
        assert 0 < values.count(None) < len(values)
        card = score(run, resamples=100)
        cell = card.cell("Keeper", "S")
        assert cell.scored < cell.total
        assert run.count_ties(MODELS, run.samples) == values.count(None)
        assert "are ties between judges or repeats" in " ".join(sentences.voice_sentences(run, card))
    assert any("can tie" in note for note in warnings)


def test_an_incomplete_panel_is_reported(miniature: Path, tmp_path: Path) -> None:
    with spec_of(FakeServer(), "a") as first:
        panel = f"panel:{first}+openai:b@http://127.0.0.1:9/v1"
        with pytest.raises(CrevalError, match="cannot be reached"):
            ask(miniature, tmp_path / "run", panel, limit=3)
    with open_run(tmp_path / "run") as run:
        notes = sentences.voice_sentences(run, score(run, resamples=100))
    assert "Some of the 2 answers to each question are missing" in notes[0]


def test_values_come_from_log_probabilities(miniature: Path, tmp_path: Path) -> None:
    done = judged(miniature, tmp_path / "run", batch_by="question", logprobs=True, limit=2)
    assert done.unanswered == 0
    values = [value for _, value in verdicts(tmp_path / "run").values()]
    assert any(value not in (0.0, 1.0) for value in values)
    assert all(value is not None and 0 <= value <= 1 for value in values)

    reasoned = judged(miniature, tmp_path / "reasoned", batch_by="question", logprobs=True, reasoning=True, limit=2)
    assert reasoned.unanswered == 0
    assert verdicts(tmp_path / "reasoned").keys() == verdicts(tmp_path / "run").keys()
    with open_run(tmp_path / "reasoned") as run:
        assert {answer.explanation for answer in run.answers()} == {"as the images show"}

    class Silent(FakeServer):
        def build_reply(self, body: Any, asked: ChatQuery) -> dict[str, Any]:
            return super().build_reply(body, asked._replace(logprobs=False))

    with pytest.raises(CrevalError, match="sent no log-probabilities"):
        judged(miniature, tmp_path / "other", Silent(), batch_by="question", logprobs=True)
    # Refusals and empty replies have no log-probabilities, and do not stop the run.
    kinds = ["refusal", "empty", "length"]
    faulty = FakeServer(fault_rate=0.3, fault_kinds=kinds)
    done = judged(miniature, tmp_path / "faulty", faulty, batch_by="question", logprobs=True, limit=2, retries=9)
    assert done.unanswered == 0


def test_a_run_has_one_set_of_settings(miniature: Path, tmp_path: Path) -> None:
    with spec_of(FakeServer()) as spec, spec_of(FakeServer(), "another") as other:
        ask(miniature, tmp_path / "run", spec, limit=1)
        for changed, sentence in (
            ({"batch_by": "question"}, "`batch_by`"),
            ({"image_fit": "512"}, "`image_fit`"),
            ({"repeat": 2}, r"`temperature` 0.0, now it is 1.0 \(the default is 0"),
            ({"show_instruction": True}, "`show_instruction`"),
            ({"reasoning": False}, "`reasoning`"),
            ({"rubric": False}, "`no_rubric`"),
            ({"parameters": {"top_p": 0.5}}, "`parameters`"),
        ):
            with pytest.raises(CrevalError, match=sentence):
                ask(miniature, tmp_path / "run", spec, limit=1, **changed)
        with pytest.raises(CrevalError, match="is a run with the judge"):
            ask(miniature, tmp_path / "run", other)


@pytest.mark.parametrize(
    "text",
    [
        "Of {Image-A} and {Image-B}: {Edit instructions}. Answer: {Questions}",
        "{Image-A} became {Image-B} by {Edit instructions}.\n\n{Questions}",
        "{{images}} By {{instruction}}. {{questions}} {{format}}",
    ],
)
def test_a_prompt_with_the_instruction_is_refused_if_it_is_hidden(miniature: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "judge.md").write_text(text)
    with spec_of(FakeServer()) as spec:
        with pytest.raises(
            CrevalError, match=r"the prompt 'judge' has \{\{instruction\}\} in a paragraph with other text"
        ):
            ask(miniature, tmp_path / "run", spec, limit=1, prompts=str(tmp_path))
        shown = ask(miniature, tmp_path / "run", spec, limit=1, prompts=str(tmp_path), show_instruction=True)
    assert shown.progress.requests_sent > 0


def test_missing_or_broken_images_are_reported_and_never_scored(miniature: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Poor"
    edits.mkdir()
    names = sorted(path.name for path in (miniature / "edits" / "Keeper").iterdir())
    for name in names[:3]:
        (edits / name).write_bytes((miniature / "edits" / "Keeper" / name).read_bytes())
    (edits / names[3]).write_bytes(b"<html>not found</html>")
    (edits / "stranger.png").write_bytes(b"x")
    with spec_of(FakeServer()) as spec:
        done = judge(open_benchmark(miniature), [edits], spec, tmp_path / "run")
    assert done.missing_edits == {"Poor": {EditStatus.ABSENT: len(names) - 4}}
    assert list(done.progress.unreadable_edits) == [f"Poor/{Path(names[3]).stem}"]
    assert "contains text" in next(iter(done.progress.unreadable_edits.values()))
    assert done.unmatched_files == [f"{edits}/stranger.png"]
    assert (done.expected_answers, done.unanswered) == (45, 0)
    assert done.share_unanswered == 15 / 60, "what could not be opened was not answered either"
    with open_run(tmp_path / "run") as run:
        cell = score(run, resamples=100).cell("Poor", "IF")
        assert (cell.scored, cell.total) == (15, 90), "what was not asked shows in the coverage"


def test_images_are_sent_unchanged_or_resized(miniature: Path, tmp_path: Path) -> None:
    class Keeping(FakeServer):
        def __init__(self) -> None:
            super().__init__()
            self.urls: set[str] = set()

        async def reply(self, request: web.Request, body: Any, asked: ChatQuery) -> web.StreamResponse:
            parts = body["messages"][0]["content"][:-1]
            self.urls |= {part["image_url"]["url"].partition(",")[0] for part in parts}
            return await super().reply(request, body, asked)

    plain, fitted = Keeping(), Keeping()
    judged(miniature, tmp_path / "plain", plain, limit=1, image_fit="original")
    judged(miniature, tmp_path / "fitted", fitted, limit=1, image_fit="64")
    assert plain.urls == {"data:image/png;base64"}
    assert fitted.urls == {"data:image/jpeg;base64"}


def test_every_request_can_be_reconstructed(miniature: Path, tmp_path: Path) -> None:
    judged(miniature, tmp_path / "run", limit=1)
    with open_run(tmp_path / "run") as run:
        manifest = run.manifest
    ((version, text),) = manifest["prompts"].items()
    assert version.startswith("judge@")
    assert "{{questions}}" in text
    assert manifest["settings"]["ask"] == "metric"
    assert manifest["judges"][0]["model"] == "fake"
    (detail, reply) = query(tmp_path / "run", "SELECT detail, text FROM asks JOIN replies ON ask = asks.id LIMIT 1")[0]
    asked = json.loads(detail)
    assert asked["prompt"] == version
    assert len(asked["images"]) == 2
    assert "as the images show" in reply


def test_an_estimate_before_the_first_call(miniature: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(miniature)
    settings = Settings(batch_by="metric", price=Price(2.5, 10), concurrency=10)
    server = FakeServer()
    with spec_of(server, "gpt-4o") as spec:
        judging = JudgeRun(benchmark, folders(miniature), spec, tmp_path / "run", settings)
        (made,) = estimate_judge_costs(judging, judging.read_answered())
        assert server.stats["requests"] == 0
        assert not (tmp_path / "run").exists()
        assert (made.calls, made.cached, made.images) == (108, 0, 216)
        # Two images of 96 x 96 cost 255 tokens each, plus the text.
        assert 108 * 510 < made.tokens_in < 108 * 1200
        assert made.tokens_out == 540 * 45
        expected = (made.tokens_in * 2.5 + made.tokens_out * 10) / 1e6
        assert made.cost == pytest.approx(expected)
        assert made.seconds == pytest.approx(108 * 5 / 10)
        assert 108 * 2 * 300 < made.size < 108 * 2 * 5000
        (glance,) = estimate_judge_costs(judging, {}, max_edits=9)
        assert not glance.exact
        assert glance.calls == 108
        assert glance.tokens_in == pytest.approx(made.tokens_in, rel=0.05)
        ask(miniature, tmp_path / "run", spec, limit=3)
        (left,) = estimate_judge_costs(judging, judging.read_answered())
        assert (left.calls, left.cached) == (90, 18)


def test_from_inside_a_running_loop(miniature: Path, tmp_path: Path) -> None:
    async def notebook() -> JudgeSummary:
        return judged(miniature, tmp_path / "run", limit=1)

    assert asyncio.run(notebook()).unanswered == 0


def test_a_judge_that_wrote_the_benchmark_is_warned_about(miniature: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    benchmark = open_benchmark(miniature)
    made = replace(benchmark.dataset, authored_by={"writer": "gpt-4o", "asker": "qwen2.5-vl-72b"})
    own = replace(benchmark, dataset=made)

    def warnings(model: str) -> list[str]:
        spec = f"openai:{model}@http://127.0.0.1:9/v1"
        return JudgeRun(own, folders(miniature), spec, tmp_path).warnings()

    assert "gpt-4o-2024-08-06 also wrote" in warnings("gpt-4o-2024-08-06")[0]
    assert "made this benchmark's questions" in warnings("Qwen/Qwen2.5-VL-72B-Instruct")[0]
    assert warnings("gemini-2.5-pro") == []


def test_a_budget_is_used_to_the_full(miniature: Path, tmp_path: Path) -> None:
    """Money that is only reserved for in-flight calls does not end a run."""
    price = Price(1.0, 1.0)
    server = FakeServer(latency=0.01)
    done = judged(miniature, tmp_path / "run", server, price=price, budget=0.13, concurrency=32, batch_by="sample")
    # 36 calls cost 0.0012 each and are estimated at 0.0015: all fit, but not all at once.
    assert (done.stopped, done.unanswered, server.stats["requests"]) == ("", 0, 36)


def test_refusals_of_a_content_filter_do_not_end_a_rerun(miniature: Path, tmp_path: Path) -> None:
    class Filtered(FakeServer):
        async def reply(self, request: web.Request, body: Any, asked: ChatQuery) -> web.StreamResponse:
            if any("background" in question for question in asked.questions.values()):
                content = {"error": {"message": "no", "code": "content_filter"}}
                return web.json_response(content, status=400)
            return await super().reply(request, body, asked)

    server = Filtered()
    with spec_of(server) as spec:
        for _ in range(2):
            done = ask(miniature, tmp_path / "run", spec)
            assert done.unanswered == 36
            assert done.reasons[0][0].startswith("refused: content filter")


def test_a_bug_does_not_lose_other_answers(miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = read_verdicts
    calls: list[int] = []

    def failing(*given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 10:
            raise KeyError("a bug")
        return real(*given, **more)

    monkeypatch.setattr(workers, "read_verdicts", failing)
    server = FakeServer(latency=0.02)
    with pytest.raises(KeyError):
        judged(miniature, tmp_path / "run", server)
    assert len(verdicts(tmp_path / "run")) == 5 * (server.stats["requests"] - 1)


def test_in_flight_answers_of_a_panel_are_stored_if_a_judge_cannot_be_opened(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(latency=0.05)
    sentence = "no folder|needs torch"
    with spec_of(server) as spec, pytest.raises(CrevalError, match=sentence):
        ask(miniature, tmp_path / "run", f"panel:{spec}+hf:{tmp_path}/nowhere")
    assert len(verdicts(tmp_path / "run")) == 5 * server.stats["requests"]


def test_invalid_characters_in_names_are_replaced_once(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer()
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/mod\xffel")
    shutil.copytree(miniature / "edits" / "Keeper", folder)
    with spec_of(server) as spec:
        for _ in range(2):
            given = [folder]
            judge(open_benchmark(miniature), given, spec, tmp_path / "run", Settings(limit=1))
    assert server.stats["requests"] == 3
    with open_run(tmp_path / "run") as run:
        assert run.models == ("mod?el",)
        assert score(run, resamples=100).models == ("mod?el",)


def test_the_number_of_calls_is_the_same_everywhere(miniature: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with spec_of(FakeServer(fault_rate=0.1, fault_kinds=("server error",), seed=4)) as spec:
        done = ask(miniature, run, spec, repeat=3, limit=2)
        with open_run(run) as opened:
            counted = opened.costs().calls
            facts = {row[0]: row[1] for row in run_facts.run_facts_table(opened).rows}
        assert counted == done.progress.calls_answered == done.run_calls
        assert 12 <= counted < done.progress.requests_sent, "what brought nothing is no call"
        assert facts["calls"] == f"{counted:,}"
        with looking_at(run) as client:
            assert f"{counted:,} calls" in client.get("/").text
        more = ask(miniature, run, spec, repeat=3, limit=3)
    assert more.run_calls == counted + more.progress.calls_answered
    assert f"{more.run_calls:,} in the whole run" in call_summary(more.progress, folder_calls=more.run_calls)
