"""Tests of `creval build complex-edit`: judging the result, kills, budgets, and refusals."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from aiohttp import web
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import draw_images, rows
from tests.commands import creval
from tests.processes import Running
from tests.serving import serving


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a benchmark from five images and one unreadable file."""
    folder = tmp_path_factory.mktemp("built")
    images = draw_images(folder / "images", 5)
    (images / "broken.png").write_bytes(b"none")
    with serving(FakeServer(seed=4).app()) as url:
        done = creval(
            "build",
            "complex-edit",
            "--images",
            images,
            "--out",
            folder / "bench",
            "--writer",
            f"openai:m@{url}/v1",
            "--steps",
            4,
            "--json",
        )
    assert done.returncode == 1, done.stderr
    assert "broken.png is left out" in done.stderr
    assert "5 images made, 1 left out." in done.stderr
    assert f"Now: creval bench {folder / 'bench'}" in done.stderr
    told = json.loads(done.stdout)
    assert (told["made"], list(told["left_out"])) == (5, ["broken.png"])
    assert sum(sum(group.values()) for group in told["operations"].values()) == 20
    return folder / "bench"


def test_the_built_benchmark_has_no_problems(built: Path) -> None:
    found = json.loads(creval("bench", built, "--json").stdout)
    assert (found["samples"], found["problems"]) == (20, [])
    assert (built / "operations.svg").read_text().startswith("<?xml")


def test_the_built_benchmark_can_be_judged(built: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Model"
    for sample in open_benchmark(built).dataset.samples[:4]:
        path = edits / sample.tags["complexity"] / f"{sample.id[-4:]}.png"
        path.parent.mkdir(parents=True)
        Image.new("RGB", (48, 36), "red").save(path)
    with serving(FakeServer().app()) as url:
        judge = f"openai:n@{url}/v1"
        done = creval("judge", built, "--edits", edits, "--judge", judge, "--run", tmp_path / "run")
    assert done.returncode == 0, done.stderr


@pytest.mark.attack
def test_a_killed_build_resumes_to_the_same_result(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 12)
    server = FakeServer(seed=2, latency=0.01)
    with serving(server.app()) as url:
        command = [
            "build",
            "complex-edit",
            "--images",
            images,
            "--writer",
            f"openai:m@{url}/v1",
            "--steps",
            3,
            "--concurrency",
            4,
            "--out",
        ]
        whole = creval(*command, tmp_path / "whole")
        assert whole.returncode == 0, whole.stderr
        calls = server.stats["requests"]
        for goal in (15, 40):
            begun = server.stats["requests"]
            running = Running(*command, tmp_path / "bench")
            running.wait_while(lambda end=begun + goal: server.stats["requests"] < end)  # type: ignore[misc]
            running.kill()
        done = creval(*command, tmp_path / "bench")
        assert done.returncode == 0, done.stderr
        assert server.stats["requests"] <= 2 * calls + 2 * 4, "only in-flight calls are repeated"
    assert rows(tmp_path / "bench") == rows(tmp_path / "whole")


def test_a_spent_budget_stops_and_a_larger_one_resumes(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 6)
    server = FakeServer()
    with serving(server.app()) as url:
        command = (
            "build",
            "complex-edit",
            "--images",
            images,
            "--out",
            tmp_path / "bench",
            "--steps",
            3,
            "--writer",
            f"openai:m@{url}/v1",
            "--price",
            "1,1",
            "--concurrency",
            2,
            "--budget",
        )
        stopped = creval(*command, "0.012USD")
        assert (stopped.returncode, "the budget is spent" in stopped.stderr) == (1, True)
        calls = server.stats["requests"]
        assert 0 < calls < 30
        dry = creval(*command, "5USD", "--dry-run", "--json")
        left = json.loads(dry.stdout)["estimates"]
        assert sum(made["cached"] for made in left) > 0
        assert all(made["calls"] < 6 * (1 if made["role"] == "writer" else 5) for made in left)
        done = creval(*command, "5USD")
        assert "already answered)" in done.stderr
        assert done.returncode == 0, done.stderr
    assert server.stats["requests"] <= 6 * 6 + 6, "stored replies are not paid for again"
    assert len(open_benchmark(tmp_path / "bench").dataset.samples) == 18


def test_refused_images_are_left_out(tmp_path: Path) -> None:
    async def decline(_: web.Request) -> web.Response:
        message = {"role": "assistant", "content": None, "refusal": "I will not."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {}})

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", decline)
    images = draw_images(tmp_path / "images", 1)
    os.rename(images / "p0.png", images / "p0 \x1b[31m&.png")  # noqa: PTH104
    with serving(app) as url:
        done = creval(
            "build", "complex-edit", "--images", images, "--out", tmp_path / "bench", "--writer", f"openai:m@{url}/v1"
        )
    assert done.returncode == 1
    assert "&.png is left out: sequence: the model declined: I will not." in done.stderr
    assert "\x1b" not in done.stderr + done.stdout, "control characters in names are escaped"
    assert "creval bench" not in done.stderr, "no sample was made"


def test_the_estimate(tmp_path: Path) -> None:
    images, bench = draw_images(tmp_path / "images", 2), tmp_path / "bench"
    command = (
        "build",
        "complex-edit",
        "--images",
        images,
        "--out",
        bench,
        "--writer",
        "openai:m@http://127.0.0.1:1/v1",
        "--dry-run",
    )
    told = json.loads(creval(*command, "--json").stdout)
    calls = {made["role"]: made["calls"] for made in told["estimates"]}
    assert (told["pictures"], calls) == (2, {"writer": 2, "reviser": 30})
    shown = creval(*command)
    assert "reviser: openai:m " in shown.stdout
    assert shown.stderr.startswith("For 2 images, with few retries.")
    assert not bench.exists()


def test_wrong_usage_is_an_error(built: Path, tmp_path: Path) -> None:
    images = built.parent / "images"
    for wrong, sentence in [
        (("--images", images, "--out", built), "was started with other models"),
        (("--images", images, "--out", images), "contains the images"),
        (("--images", tmp_path, "--out", tmp_path / "b"), "contains no images"),
        (("--images", images, "--out", tmp_path / "b", "--budget", "5EUR"), "--budget takes"),
    ]:
        done = creval("build", "complex-edit", *wrong, "--steps", 4, "--writer", "openai:other@http://127.0.0.1:1/v1")
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
