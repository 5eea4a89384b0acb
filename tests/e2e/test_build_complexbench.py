"""Tests of `creval build complexbench`: judging the result, kills, and unusable images."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated, entries
from tests.commands import creval
from tests.processes import Running
from tests.serving import serving


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a benchmark from six images. Others are unsuitable, and one is unreadable."""
    folder = tmp_path_factory.mktemp("built")
    file = annotated(folder, [*FITTING, ("cat", "cup"), ("cat",) * 3, ("cat", "cup", "vase")])
    (folder / "images" / "000000000009.jpg").write_bytes(b"none")
    Image.new("RGB", (9, 9)).save(folder / "images" / "unknown.jpg")
    Image.new("RGB", (9, 9)).save(folder / "images" / "moving.gif")
    with serving(FakeServer(seed=3).app()) as url:
        done = creval(
            "build",
            "complexbench",
            "--images",
            folder / "images",
            "--coco",
            file,
            "--out",
            folder / "bench",
            "--writer",
            f"openai:w@{url}/v1",
            "--checker",
            f"openai:c@{url}/v1",
            "--retries",
            4,
            "--json",
        )
    assert done.returncode == 1, done.stderr
    assert "6 images kept." in done.stderr
    for reason in (
        "1 image not kept: fewer than 3 classes occur (000000000007.jpg).",
        "1 image not kept: a class occurs more than 2 times (000000000008.jpg).",
        "2 images not kept: there are no annotations (moving.gif, unknown.jpg).",
    ):
        assert reason in done.stderr
    assert "18 samples: about 72 calls, about " in done.stderr
    assert "18 samples made, 1 left out." in done.stderr
    told = json.loads(done.stdout)
    assert (told["made"], list(told["left_out"])) == (18, ["000000000009.jpg"])
    return folder / "bench"


def test_the_built_benchmark_has_no_problems(built: Path) -> None:
    found = json.loads(creval("bench", built, "--json").stdout)
    assert (found["samples"], found["problems"]) == (18, [])


def test_the_built_benchmark_can_be_judged(built: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Model"
    for sample in open_benchmark(built).dataset.samples[:4]:
        path = edits / f"{sample.id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (80, 40), "red").save(path)
    with serving(FakeServer().app()) as url:
        judge = f"openai:n@{url}/v1"
        done = creval(
            "judge", built, "--edits", edits, "--judge", judge, "--run", tmp_path / "run", "--metrics", "score"
        )
    assert done.returncode == 0, done.stderr


@pytest.mark.attack
def test_a_killed_build_resumes_to_the_same_result(tmp_path: Path) -> None:
    file = annotated(tmp_path, FITTING)
    server = FakeServer(seed=5, latency=0.01)
    with serving(server.app()) as url:
        command = [
            "build",
            "complexbench",
            "--images",
            tmp_path / "images",
            "--coco",
            file,
            "--writer",
            f"openai:w@{url}/v1",
            "--concurrency",
            4,
            "--retries",
            4,
            "--level",
            "three-chain",
            "--out",
        ]
        whole = creval(*command, tmp_path / "whole")
        assert whole.returncode == 0, whole.stderr
        assert "the writer checks its own work" in whole.stderr
        calls = server.stats["requests"]
        running = Running(*command, tmp_path / "bench")
        running.wait_while(lambda: server.stats["requests"] < calls + 12)
        running.kill()
        assert creval(*command, tmp_path / "bench").returncode == 0
        assert server.stats["requests"] <= 2 * calls + 4, "only in-flight calls are repeated"
        again = creval(*command, tmp_path / "bench")
        assert "0 samples: about 0 calls" in again.stderr
        assert "0 calls in" in again.stderr
        assert "Now: creval bench" in again.stderr, "the benchmark exists"
    assert entries(tmp_path / "bench") == entries(tmp_path / "whole")
    assert open_benchmark(tmp_path / "bench").dataset.issues == ()


def test_wrong_usage_is_an_error(tmp_path: Path) -> None:
    file = annotated(tmp_path, [("cat",)])
    command = (
        "build",
        "complexbench",
        "--images",
        tmp_path / "images",
        "--out",
        tmp_path / "b",
        "--writer",
        "openai:w@http://127.0.0.1:1/v1",
    )
    for more, sentence in [
        ((), "give either --coco FILE"),
        (("--coco", file, "--gauge", "boxes=some/model"), "give either --coco FILE"),
        (("--coco", file, "--level", "four-chain"), "no level 'four-chain'"),
        (("--coco", file), "no image is suitable"),
        (("--coco", tmp_path / "none.json"), "cannot be read"),
    ]:
        done = creval(*command, *more)
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
