"""Tests of `creval judge` on the command line: complete, killed, interrupted, and with faulty or hostile servers."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from creval.benchmarks import open_benchmark
from creval.store import DATABASE, open_run
from creval.testing.fake_chat_server import FakeServer
from creval.testing.fake_faults import FAULT_KINDS
from miniature import write_miniature
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.commands import creval
from tests.databases import edit_database
from tests.processes import Running
from tests.serving import serving

KEY = "sk-very-secret-0123456789"


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "creval", *map(str, arguments)]


def judge(bench: Path, url: str, run: Path, *more: str, model: str = "Keeper") -> list[str | Path]:
    spec = f"openai:fake@{url}/v1"
    edits = bench / "edits" / model
    return ["judge", bench, "--edits", edits, "--judge", spec, "--run", run, "--no-cache", *more]


def verdicts(run: Path) -> dict[Any, Any]:
    with open_run(run) as opened:
        return {(a.edit, a.probe): (a.status, a.value, a.raw_answer) for a in opened.answers()}


@pytest.fixture
def served() -> Iterator[tuple[FakeServer, str]]:
    server = FakeServer()
    with serving(server.app()) as url:
        yield server, url


def test_estimate_judge_and_score(miniature: Path, tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    server, url = served
    careful, keeper = miniature / "edits" / "Careful", miniature / "edits" / "Keeper"
    spec = f"openai:fake@{url}/v1"
    run = tmp_path / "run"
    given = ("judge", miniature, "--edits", careful, keeper, "--judge", spec, "--run", run)
    dry = creval(*given, "--dry-run", "--price", "2.5,10")
    assert dry.returncode == 0, dry.stderr
    assert re.search(r"108 +0 +216 .* USD", dry.stdout)
    assert server.stats["requests"] == 0
    assert not run.exists()
    done = creval(*given)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Careful +270 +270", done.stdout)
    assert "108 calls, about" in done.stderr
    again = creval(*given)
    assert "0 calls (108 already answered)" in again.stderr
    score = creval("score", run)
    assert "Careful" in score.stdout
    assert "100 %" in score.stdout


def test_a_question_that_is_never_answered(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(skipped_phrase="proportions")
    run = tmp_path / "run"
    with serving(server.app()) as url:
        done = creval(*judge(miniature, url, run, "--limit", "2"))
        assert done.returncode == 1, "more than 0.5 % stay unanswered"
        assert "2 of 30 answers are missing" in done.stderr
        assert "2 missing: the reply says nothing about the question" in done.stderr
        assert "VC/2" in done.stderr
        allowed = creval(*judge(miniature, url, run, "--limit", "2", "--max-unanswered", "10%"))
        assert allowed.returncode == 0
    score = creval("score", run)
    assert "80.0 %" in score.stdout
    assert "2 unanswered questions are left out" in score.stderr


def test_metrics_are_measured_in_a_run_with_answers(tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    """Answers to repeated questions are counted one by one."""
    bench, edits, run = write_release(tmp_path / "bench", each=1), tmp_path / "M", tmp_path / "run"
    for sample in open_benchmark(bench).dataset.samples:
        assert sample.source is not None
        (edits / sample.id).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sample.source, edits / f"{sample.id}.jpg")
    given = ("judge", bench, "--edits", edits, "--run", run, "--metrics")
    asked = creval(*given, "score", "--judge", f"openai:fake@{served[1]}/v1", "--repeat", "2")
    assert asked.returncode == 0, asked.stderr
    assert "15 calls" in asked.stderr
    measured = creval(*given, "L1,L2")
    assert measured.returncode == 0, measured.stderr
    for done in (asked, measured):
        assert "questions x 2" in done.stdout
        assert re.search(r"M +30 +30", done.stdout)
    assert "edits are measured" in measured.stderr
    assert "calls" not in measured.stderr


@pytest.mark.attack
@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_run_killed_several_times_ends_with_the_same_verdicts(miniature: Path, tmp_path: Path, kills: int) -> None:
    at_once = 8
    calm = FakeServer()
    with serving(calm.app()) as url:
        given = judge(miniature, url, tmp_path / "calm", "--ask", "question")
        assert creval(*given, "--concurrency", at_once).returncode == 0
    calls = calm.stats["requests"]
    server = FakeServer(latency=0.1)
    chance = random.Random(7)
    with serving(server.app()) as url:
        given = judge(miniature, url, tmp_path / "run", "--ask", "question", "--concurrency", str(at_once))
        for _ in range(kills):
            before = server.stats["requests"]
            running = Running(*given)
            running.wait_while(lambda before=before: server.stats["requests"] <= before)  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.4))
            running.kill()
        assert server.stats["requests"] < calls, "the run was not complete when it was killed"
        server.latency = 0.0
        last = creval(*given)
        assert last.returncode == 0, last.stderr
    assert verdicts(tmp_path / "run") == verdicts(tmp_path / "calm")
    assert server.stats["requests"] <= calls + kills * at_once


@pytest.mark.attack
def test_an_interrupt_lets_in_flight_calls_finish(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(latency=0.3)
    run = tmp_path / "run"
    with serving(server.app()) as url:
        given = judge(miniature, url, run, "--ask", "question", "--concurrency", "8")
        given += ["--limit", "5"]
        running = Running(*given)
        running.wait_while(lambda: server.stats["requests"] < 20)
        running.interrupt()
        status, err = running.end()
        assert status == 130, err
        assert "Repeat the command to resume" in err
        assert "Traceback" not in err
        asked = server.stats["requests"]
        assert len(verdicts(run)) == asked, "the answer to every call is stored"
        server.latency = 0.0
        assert creval(*given).returncode == 0
        assert server.stats["requests"] == 75


def test_two_processes_cannot_write_one_run(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(latency=0.3)
    with serving(server.app()) as url:
        given = judge(miniature, url, tmp_path / "run", "--concurrency", "4", "--limit", "4")
        first = Running(*given)
        first.wait_while(lambda: not server.stats["requests"])
        second = creval(*given)
        assert second.returncode == 2
        assert "another creval process is writing" in second.stderr
        assert first.end()[0] == 0


def test_the_api_key_is_never_written(miniature: Path, tmp_path: Path) -> None:
    server = FakeServer(fault_rate=0.2, fault_kinds=[kind for kind in FAULT_KINDS if kind != "timeout"])
    env = {"CREVAL_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    run = tmp_path / "run"
    seen: list[str] = []
    with serving(server.app()) as url:
        for more in ((), ("--dry-run",), ("--attempts", "1", "--retries", "0")):
            done = creval(*judge(miniature, url, run, *more), env=env)
            seen += [done.stdout, done.stderr]
    locked = creval("score", run, "--json", env=env)
    seen += [locked.stdout, locked.stderr]
    for path in run.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert not any(KEY in text for text in seen)


def test_a_budget_holds_if_the_server_reports_zero_cost(miniature: Path, tmp_path: Path) -> None:
    said = {"choices": [{"message": {"content": "Yes"}}], "usage": {"prompt_tokens": 0, "cost": 0}}
    calls = []

    async def complete(_: web.Request) -> web.Response:
        calls.append(1)
        return web.json_response(said)

    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/v1/chat/completions", complete)
    more = ("--price", "1000,1000", "--budget", "2USD", "--concurrency", "4", "--retries", "0", "--json")
    with serving(app) as url:
        done = creval(*judge(miniature, url, tmp_path / "run", *more))
    assert done.returncode == 1
    assert "the budget is spent" in done.stderr
    with open_run(tmp_path / "run") as run:
        assert 0 < run.costs().cost <= 2
        assert len(calls) == run.costs().calls < 10


@pytest.mark.parametrize("samples", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_every_fault(tmp_path: Path, samples: int) -> None:
    """30 % of the replies are faulty. All questions are answered with at most 1.6 times the calls."""
    bench = write_miniature(tmp_path / "bench", samples=samples, models={"Only": (0.8, 0.8, 0.8)})
    server = FakeServer(fault_rate=0.3, stall_seconds=2.0)
    run = tmp_path / "run"
    with serving(server.app()) as url:
        done = creval(*judge(bench, url, run, "--retries", "12", model="Only"))
    assert done.returncode == 0, done.stderr
    answers = f"{15 * samples:,}"
    assert re.search(rf"Only +{answers} +{answers}", done.stdout), done.stdout
    assert all(server.stats[kind] >= samples / 60 for kind in FAULT_KINDS)
    assert server.stats["requests"] <= 1.6 * 3 * samples
    with edit_database(run / DATABASE) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_local_model(miniature: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.judges.tiny import write_tiny_model

    model = write_tiny_model(tmp_path / "tiny")
    run = tmp_path / "run"
    done = creval(
        "judge",
        miniature,
        "--edits",
        miniature / "edits" / "Keeper",
        "--judge",
        f"hf:{model}",
        "--run",
        run,
        "--limit",
        "1",
        "--metrics",
        "IF",
        "--set",
        "max_tokens=8",
        "--retries",
        "0",
    )
    # A model with random weights answers no question, and the run reports that.
    assert done.returncode == 1, done.stderr
    assert "5 of 5 answers are missing" in done.stderr


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--judge", "openai:gpt-4o"], "OPENAI_API_KEY"),
        (["--judge", "gpt-4o"], "give PROVIDER:MODEL"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1"], "cannot be reached"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--budget", "5EUR"], "US dollars"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--budget", "5USD"], "--price"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--price", "cheap"], "--price takes"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--set", "x"], "KEY=VALUE"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--ask", "all"], "batch mode"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--image-fit", "big"], "--image-fit takes"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--max-unanswered", "x"], "percentage"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--metrics", "XX"], "no metric"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--prompts", "nowhere"], "not a folder"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--timeout", "inf"], "finite numbers"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--set", "top_p=NaN"], "finite numbers"),
        (["--judge", "openai:m@http://127.0.0.1:9/v1", "--set", "temperature=1"], "--temperature"),
    ],
)
def test_wrong_usage(miniature: Path, tmp_path: Path, more: list[str], sentence: str) -> None:
    edits = miniature / "edits" / "Keeper"
    given = ("judge", miniature, "--edits", edits, "--run", tmp_path / "run")
    done = creval(*given, *more, env={"OPENAI_API_KEY": ""})
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_prompts_can_be_copied_and_modified(miniature: Path, tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    _, url = served
    mine = tmp_path / "mine"
    assert "judge@" in creval("prompts").stdout
    assert "{{questions}}" in creval("prompts", "judge").stdout
    assert creval("prompts", "--out", mine).returncode == 0
    assert creval("prompts", "--out", mine).returncode == 2, "existing files are not overwritten"
    text = (mine / "judge.md").read_text()
    (mine / "judge.md").write_text(text.replace("Look closely", "Look very closely"))
    run = tmp_path / "run"
    given = judge(miniature, url, run, "--limit", "1")
    assert creval(*given, "--prompts", mine).returncode == 0
    other = creval(*given)
    assert other.returncode == 2
    assert "another version of the prompt" in other.stderr


def test_the_fake_server() -> None:
    given = command("fake-server", "--port", "0", "--latency", "1", "--seed", "3")
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = re.search(r"http://127.0.0.1:([0-9]+)/v1", line)
        assert port is not None
        taken = creval("fake-server", "--port", port[1])
        assert taken.returncode == 2
        assert "cannot listen on port" in taken.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
