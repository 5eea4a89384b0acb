"""Tests of Ctrl-C during a build: replies are stored, and the same command resumes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated, draw_images, entries, rows
from tests.building.ice.made import draw_plain
from tests.building.made import drawn
from tests.commands import parsed, right
from tests.processes import Running
from tests.serving import serving

pytestmark = pytest.mark.attack

KEPT = "stopped: everything written so far is stored. Repeat the command to resume."


def creval(tmp_path: Path) -> list[str]:
    images = drawn(tmp_path / "pictures", *(f"p{number:02d}" for number in range(16)))
    return ["creval", "--images", str(images), "--asker", "openai:asker@URL/v1"]


def complex_edit(tmp_path: Path) -> list[str]:
    images = draw_images(tmp_path / "pictures", 16)
    return ["complex-edit", "--images", str(images), "--steps", "3", "--retries", "4"]


def complexbench(tmp_path: Path) -> list[str]:
    file = annotated(tmp_path, FITTING)
    return [
        "complexbench",
        "--images",
        str(tmp_path / "images"),
        "--coco",
        str(file),
        "--checker",
        "openai:checker@URL/v1",
        "--retries",
        "4",
    ]


def ice(tmp_path: Path) -> list[str]:
    images = draw_plain(tmp_path / "pictures", 16)
    return ["ice", "--images", str(images), "--derive", "--retries", "4"]


def written(bench: Path) -> object:
    """Return the content of a built benchmark of any kind."""
    files = {
        path.relative_to(bench).as_posix(): path.read_text()
        for path in bench.rglob("*.json*")
        if path.name != "build.json"
    }
    return files, rows(bench), entries(bench)


@pytest.fixture
def served() -> Iterator[tuple[FakeServer, str]]:
    server = FakeServer(seed=5, latency=0.02)
    with serving(server.app()) as url:
        yield server, url


def expected(command: list[str], out: Path) -> int:
    """Return the number of remaining calls according to the estimate."""
    return sum(made["calls"] for made in parsed(*command, "--out", out, "--dry-run")["estimates"])


@pytest.mark.parametrize("make", [creval, complex_edit, complexbench, ice])
def test_an_interrupted_build_resumes_to_the_same_result(
    tmp_path: Path, served: tuple[FakeServer, str], make: Callable[[Path], list[str]]
) -> None:
    server, url = served
    command = ["build", *make(tmp_path), "--concurrency", "4", "--writer", "openai:writer@URL/v1"]
    command = [part.replace("URL", url) for part in command]
    right(*command, "--out", tmp_path / "whole")
    calls = server.stats["requests"]

    running = Running(*command, "--out", tmp_path / "bench")
    running.wait_while(lambda: server.stats["requests"] < calls + calls // 2)
    assert running.is_running
    running.interrupt()
    status, said = running.end()
    assert status == 130, said
    assert said.splitlines()[-1] == KEPT
    assert "Traceback" not in said
    assert server.stats["requests"] < 2 * calls, "the build was not complete"

    assert expected(command, tmp_path / "bench") < expected(command, tmp_path / "new")
    right(*command, "--out", tmp_path / "bench")
    assert server.stats["requests"] == 2 * calls, "in-flight calls finished and were stored"
    assert written(tmp_path / "bench") == written(tmp_path / "whole")


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path, served: tuple[FakeServer, str]) -> None:
    server, url = served
    server.latency = 60.0
    began = time.monotonic()
    running = Running(
        "build", *complex_edit(tmp_path), "--writer", f"openai:writer@{url}/v1", "--out", tmp_path / "bench"
    )
    running.wait_while(lambda: server.stats["requests"] < 4)
    running.interrupt()
    time.sleep(0.3)
    assert running.is_running, "the first Ctrl-C waits for in-flight calls"
    running.interrupt()
    status, said = running.end()
    assert (status, KEPT in said) == (130, True), said
    assert "Traceback" not in said
    assert time.monotonic() - began < 30
