"""Tests of `creval build creval`: many images, kills, refusals, and faulty or hostile servers."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from creval.store import DATABASE
from creval.testing.fake_chat_server import FakeServer
from creval.testing.fake_faults import FAULT_KINDS
from tests import commands
from tests.building.made import Model, drawn, usual
from tests.commands import Done
from tests.commands import creval as in_process
from tests.processes import Running
from tests.serving import serving


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "creval", *map(str, arguments)]


def creval(*arguments: object, status: int = 0) -> Done:
    done = commands.creval(*arguments)
    assert done.returncode == status, done.stderr
    return done


def build(images: Path, out: Path, url: str, *more: str) -> list[str | Path]:
    writer, asker = f"openai:writer@{url}/v1", f"openai:asker@{url}/v1"
    return ["build", "creval", "--images", images, "--out", out, "--writer", writer, "--asker", asker, *more]


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(("creval.db", "creval.lock"))
    }


@pytest.fixture
def served() -> Iterator[tuple[FakeServer, str]]:
    server = FakeServer(seed=5)
    with serving(server.app()) as url:
        yield server, url


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_many_images_become_a_benchmark(tmp_path: Path, served: tuple[FakeServer, str], count: int) -> None:
    _, url = served
    images = drawn(tmp_path / "pictures", *(f"p{number:03d}" for number in range(count)))
    (images / "torn.png").write_bytes((images / "p000.png").read_bytes()[:40])
    bench = tmp_path / "bench"
    done = creval(*build(images, bench, url, "--json", "--max-unanswered", "2"))
    found = json.loads(done.stdout)
    assert (found["pictures"], found["samples"]) == (count + 1, count)
    assert list(found["left_out"]) == ["torn"]
    assert "torn is left out: " in done.stderr
    assert len(found["rejected"]) > 5, "the server makes many kinds of mistakes"
    held: dict[str, Any] = json.loads(creval("bench", bench, "--json").stdout)
    assert (held["samples"], held["problems"], held["repairs"]) == (count, [], [])
    assert held["images"]["missing"] == []
    dimensions = held["groups"]["dimensions"]
    assert max(dimensions.values()) - min(dimensions.values()) <= 2
    for metric in ("IF", "VC", "VQ"):
        asked = sorted((bench / "questions_all" / metric).iterdir())
        counts = [len(json.loads(path.read_text())["quality_check_questions"]) for path in asked]
        assert len(counts) == count
        assert min(counts) >= 5
    edits = tmp_path / "edits" / "Keeper"
    shutil.copytree(bench / "image", edits)
    judged = creval(
        "judge", bench, "--edits", edits, "--judge", f"openai:fake@{url}/v1", "--run", tmp_path / "run", "--limit", "4"
    )
    assert "unanswered" not in judged.stdout


@pytest.mark.attack
def test_a_killed_build_resumes_to_the_same_result(tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    server, url = served
    server.latency = 0.01
    images = drawn(tmp_path / "pictures", *(f"p{number:02d}" for number in range(40)))
    in_process(*build(images, tmp_path / "whole", url, "--concurrency", "8"))
    whole = server.stats["requests"]
    again = build(images, tmp_path / "killed", url, "--concurrency", "8")
    kills = 0
    for share in (0.2, 0.5, 0.8):
        goal = server.stats["requests"] + int(0.3 * whole * share)
        running = Running(*again)
        running.wait_while(lambda goal=goal: server.stats["requests"] < goal)  # type: ignore[misc]
        kills += running.is_running
        running.kill()
    assert kills == 3
    assert (tmp_path / "killed" / DATABASE).is_file()
    assert in_process(*again).returncode == 0
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    assert server.stats["requests"] <= 2 * whole + kills * 8, "only in-flight calls are repeated"
    before = server.stats["requests"]
    done = in_process(*again)
    assert server.stats["requests"] == before
    assert "0 calls" in done.stderr


def test_refused_images_are_reported_and_left_out(tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    server, url = served
    server.decline_rate = 0.3
    images = drawn(tmp_path / "pictures", *(f"p{number:02d}" for number in range(12)))
    done = creval(*build(images, tmp_path / "bench", url), status=1)
    left_out = json.loads((tmp_path / "bench" / "build.json").read_text())["left_out"]
    assert 0 < len(left_out) < 12
    for name in left_out:
        assert f"{name} is left out: instruction: the model declined: “I'm sorry" in done.stderr
    assert "exit status 1" in done.stderr
    held = json.loads(creval("bench", tmp_path / "bench", "--json").stdout)
    assert (held["samples"], held["problems"]) == (12 - len(left_out), [])
    creval(*build(images, tmp_path / "bench", url, "--max-unanswered", "90"))


def test_a_faulty_server(tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    server, url = served
    server.fault_rate, server.fault_kinds = (0.15, tuple(kind for kind in FAULT_KINDS if kind != "timeout"))
    images = drawn(tmp_path / "pictures", *(f"p{number:02d}" for number in range(12)))
    done = creval(*build(images, tmp_path / "bench", url, "--max-unanswered", "50", "--json"))
    assert json.loads(done.stdout)["samples"] >= 9
    assert "calls without an answer" in done.stderr
    assert json.loads(creval("bench", tmp_path / "bench", "--json").stdout)["problems"] == []


@pytest.mark.parametrize("model", ["creval", "complex-edit", "complexbench"])
def test_no_resume_refuses_an_existing_benchmark(tmp_path: Path, model: str) -> None:
    images = drawn(tmp_path / "pictures", "a")
    writer = ["--writer", "openai:m@http://127.0.0.1:9/v1"]
    given: list[str | Path]
    given = ["build", model, "--images", images, "--out", tmp_path / "bench", *writer]
    more: list[str | Path]
    more = ["--dry-run"] if model != "complexbench" else ["--coco", tmp_path / "none.json"]
    (tmp_path / "bench").mkdir()
    begun = creval(*given, *more, "--no-resume", status=2 * (model == "complexbench"))
    assert "is not empty" not in begun.stderr
    (tmp_path / "bench" / "creval.db").touch()
    done = creval(*given, *more, "--no-resume", status=2)
    assert f"creval: --no-resume: {tmp_path}/bench is not empty. Give another" in done.stderr
    again = creval(*given, *more, "--resume", status=2 * (model == "complexbench"))
    assert "is not empty" not in again.stderr


def test_no_cost_is_reported_without_a_price(tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    _, url = served
    images = drawn(tmp_path / "pictures", "a")
    for price, known in (([], False), (["--price", "2,8"], True)):
        done = creval(*build(images, tmp_path / f"bench{known}", url, "--json", *price))
        cost = json.loads(done.stdout)["cost"]
        assert (cost is not None and cost > 0) == known
        (taken,) = (line for line in done.stderr.splitlines() if " calls in " in line)
        assert ("USD" in taken) == known


def test_questions_that_the_checker_does_not_answer_are_reported(tmp_path: Path) -> None:
    model = Model(lambda stage, text: "Hm." if stage == "blind" else usual(stage, text))
    images = drawn(tmp_path / "pictures", "a")
    with serving(model.app()) as url:
        done = creval(*build(images, tmp_path / "bench", url, "--json"))
    assert "10 questions not checked" in done.stderr
    assert json.loads(done.stdout)["unchecked"] == 10


def test_the_estimate(tmp_path: Path) -> None:
    images = drawn(tmp_path / "pictures", "a", "b")
    url = "http://127.0.0.1:9"
    dry = creval(*build(images, tmp_path / "bench", url, "--dry-run", "--price", "2,8"))
    assert "writer: openai:writer " in dry.stdout
    assert "checker: openai:writer " in dry.stdout
    assert "No calls were made." in dry.stderr
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--dimension", "Surreal"], "did you mean 'Surreal Fantasy'"),
        (["--rewrite"], "--instructions FILE"),
        (["--instructions", "none.csv"], "cannot be read"),
        (["--prompts", "nowhere"], "--prompts nowhere is not a folder"),
        (["--budget", "much"], "--budget takes US dollars"),
        (["--images", "none"], "--images none is not a folder"),
        (["--writer", "openai:"], "creval: --writer openai:: give PROVIDER:MODEL"),
        (["--asker", "opnai:m"], "there is no asker 'opnai'; did you mean 'openai'"),
        (["--checker", "openai:m@http://u:p@h/v1"], "creval: --checker: the address of m must be"),
        (["--checker", "panel:pixel"], "creval: --checker panel:pixel: a panel has"),
        (["--asker", "noisy:7"], "creval: --asker noisy:7: give sensitivity"),
    ],
)
def test_wrong_input_is_an_error(tmp_path: Path, more: list[str], sentence: str) -> None:
    images = drawn(tmp_path / "pictures", "a")
    arguments = build(images, tmp_path / "bench", "http://127.0.0.1:9", *more)
    done = creval(*arguments, status=2)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bench").exists()


def test_replies_are_escaped(tmp_path: Path) -> None:
    class Hostile(FakeServer):
        def _write_reply(self, *_: Any) -> str:
            return "I'm sorry \x1b[2J\x1b[31m ../../etc \u202e"

    images = drawn(tmp_path / "pictures", "a")
    with serving(Hostile().app()) as url:
        done = creval(*build(images, tmp_path / "bench", url), status=1)
    assert "\x1b" not in done.stderr + done.stdout
    assert "\u202e" not in done.stderr
