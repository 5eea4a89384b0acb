"""Tests of `creval edit` on the command line: strategies, interrupts, and wrong usage."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from creval.testing.fake_chat_server import FakeServer
from creval.touchstone.builder import build_touchstone
from tests.commands import Done
from tests.commands import creval as in_process
from tests.processes import Running
from tests.serving import serving


def creval(*arguments: object, status: int = 0) -> Done:
    done = in_process(*arguments)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("editing")
    build_touchstone(folder / "bench", 9, 4)
    return folder / "bench"


@pytest.fixture(scope="module")
def fake() -> Iterator[str]:
    with serving(FakeServer(seed=1).app()) as url:
        yield f"openai:fake@{url}/v1"


def test_one_editor_with_three_strategies(bench: Path, tmp_path: Path) -> None:
    """An editor that omits half of a long instruction is better with one step at a time."""
    editor = "touchstone:forgetful"
    made: dict[str, Any] = {}
    for name, more in (
        ("direct", []),
        ("sequential", ["--strategy", "sequential"]),
        ("best-of-3", ["--strategy", "best-of:3", "--judge", "truth"]),
    ):
        done = creval("edit", bench, "--editor", editor, "--out", tmp_path / name, *more, "--json")
        made[name] = json.loads(done.stdout)
        assert made[name]["statuses"] == {"done": 9}
        assert f"creval judge {bench} --edits {tmp_path / name}" in done.stderr
    assert made["direct"]["calls"] < made["best-of-3"]["calls"] == 27
    folders = [tmp_path / name for name in made]
    creval("judge", bench, "--edits", *folders, "--judge", "truth", "--run", tmp_path / "run")
    scores = json.loads(creval("score", tmp_path / "run", "--json").stdout)["models"]
    direct, sequential, best = (scores[name]["overall"]["S"]["value"] for name in made)
    assert direct < best < sequential == 100


def test_a_plan_and_a_command_editor(bench: Path, tmp_path: Path, fake: str) -> None:
    program = tmp_path / "mine.py"
    program.write_text(
        "import shutil, sys\n"
        "source, words, output = sys.argv[1:]\n"
        "assert 'The finished picture shows' in words, words\n"
        "shutil.copyfile(source, output)\n"
    )
    edit: list[str | Path] = [
        "edit",
        bench,
        "--editor",
        f"command:{sys.executable} {program} {{source}} {{instruction}} {{output}}",
        "--out",
        tmp_path / "mine",
        "--strategy",
        "reasoned",
        "--reasoner",
        fake,
        "--limit",
        "2",
    ]
    dry = creval(*edit, "--dry-run")
    assert "reasoner: openai:fake" in dry.stdout
    assert "No price is known for command:" in dry.stderr
    assert not (tmp_path / "mine").exists()
    done = creval(*edit)
    assert "2 edits: identical to its source, pixel by pixel" in done.stderr
    (tmp_path / "mine").rename(tmp_path / "yours")
    edit[edit.index(tmp_path / "mine")] = tmp_path / "yours"
    assert json.loads(creval(*edit, "--json").stdout)["calls"] == 0


@pytest.mark.attack
def test_an_interrupted_command_can_be_resumed(bench: Path, tmp_path: Path) -> None:
    slow = (
        f"command:{sys.executable} -c 'import time, shutil, sys; time.sleep(0.3); "
        "shutil.copyfile(sys.argv[1], sys.argv[2])' {source} {output}"
    )
    edit = ["edit", bench, "--editor", slow, "--out", tmp_path / "M", "--concurrency", "2"]
    running = Running(*edit)
    running.wait_while(lambda: not list((tmp_path / "M" / ".made").glob("[!.]*")))
    running.interrupt()
    status, said = running.end()
    assert status == 130
    assert "everything made so far is stored. Repeat the command to resume" in said
    there = len(list((tmp_path / "M").glob("*.png")))
    assert 1 <= there < 9, "finished edits are stored under their names"
    found = json.loads(creval(*edit, "--json").stdout)
    assert (found["statuses"], found["cached"]) == ({"done": 9}, there)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--editor", "nonsense"], "give KIND:MODEL"),
        (["--editor", "opnai:x"], "did you mean 'openai'"),
        (["--editor", "openai:gpt-image-1"], "OPENAI_API_KEY"),
        (["--editor", "command:cp {source}"], "give a program with {output}"),
        (["--editor", "command:nothing-there {output}"], "cannot be started"),
        (["--editor", "touchstone:faithful", "--strategy", "best"], "not one of direct"),
        (["--editor", "touchstone:faithful", "--strategy", "best-of:2"], "give --judge SPEC"),
        (["--editor", "touchstone:faithful", "--strategy", "reasoned"], "give --reasoner SPEC"),
        (["--editor", "touchstone:faithful", "--judge", "truth"], "--judge has no effect"),
        (["--editor", "touchstone:faithful", "--subset", "paper"], "there is no subset 'paper'"),
        (["--editor", "touchstone:faithful", "--set", "x"], "--set takes KEY=VALUE"),
        (["--editor", "folder:nowhere"], "no such folder"),
        (["--editor", "python:no.module:f"], "cannot be imported"),
    ],
)
def test_wrong_usage_is_an_error(
    bench: Path, tmp_path: Path, given: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = creval("edit", bench, *given, "--out", tmp_path / "M", status=2)
    assert said in done.stderr
    assert not list((tmp_path / "M").glob("*.png"))


USER_CODE = """
import os
from pathlib import Path
from PIL import ImageOps

def leaves(source, instruction):
    os._exit(0)

def moves(source, instruction):
    os.chdir("/")
    return ImageOps.mirror(source)

def fails(source, instruction):
    with open("tries", "a") as file:
        file.write("x")
    raise ValueError("always")
"""


def test_functions_that_end_or_change_their_process(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(USER_CODE)
    edit = ["edit", bench, "--limit", "1", "--editor"]
    done = in_process(*edit, "python:mine:leaves", "--out", "leaves")
    assert done.returncode == 1, "a missing image is a failure"
    assert "the function failed: its process ended (exit status 0)" in done.stderr
    assert in_process(*edit, "python:mine:moves", "--out", "moves").returncode == 0
    assert len(list(Path("moves").glob("*.png"))) == 1
    assert in_process(*edit, "python:mine:fails", "--out", "fails").returncode == 1
    assert Path("tries").read_text() == "xx", "after two equal failures there is no third try"


def test_an_instruction_that_starts_with_a_dash_reaches_a_program(bench: Path, tmp_path: Path) -> None:
    program = tmp_path / "edit.py"
    program.write_text(
        "import argparse, shutil\n"
        "parser = argparse.ArgumentParser()\n"
        "for name in ('--image', '--text', '--out'): parser.add_argument(name)\n"
        "given = parser.parse_args()\n"
        "assert given.text.startswith('-'), given\n"
        "shutil.copy(given.image, given.out)\n"
    )
    dashed = tmp_path / "bench"
    shutil.copytree(bench, dashed)
    text = (dashed / "instruction.json").read_text()
    (dashed / "instruction.json").write_text(re.sub('"input_prompt": "[^"]*"', '"input_prompt": "--redder"', text))
    start = f"command:{sys.executable} {program} --image={{source}} --out={{output}}"
    edit = ["edit", dashed, "--limit", "1", "--attempts", "1", "--editor"]
    done = in_process(*edit, f"{start} --text={{instruction}}", "--out", tmp_path / "value")
    assert (done.returncode, "begin with a dash" in done.stderr) == (0, False), done.stderr
    done = in_process(*edit, f"{start} --text {{instruction}}", "--out", tmp_path / "option")
    assert done.returncode == 1
    assert "Write --text={instruction}" in done.stderr
