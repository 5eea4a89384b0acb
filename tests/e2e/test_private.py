"""Tests that stored runs, edits and benchmarks have restricted permissions and contain no secrets of commands."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from creval.store import DATABASE, RunWriter
from creval.store.readonly import read_stored_manifest
from creval.touchstone.builder import build_touchstone
from tests.commands import Done, creval

SECRET = "tell-n0body-of-this"
JUDGE = """
import json, sys
prompt, output, key = sys.argv[1:4]
print("called with", key, file=sys.stderr)
if "fail" in sys.argv:
    sys.exit(f"cannot judge with --api-key {key}")
open(output, "w").write("Yes")
"""
EDITOR = """
import shutil, sys
source, output, key = sys.argv[1:4]
print("called with", key)
if "fail" in sys.argv:
    sys.exit(f"cannot edit with {key}")
shutil.copy(source, output)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("private") / "bench"
    build_touchstone(folder, 1, 1)
    return folder


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "judge.py").write_text(JUDGE, encoding="utf-8")
    (tmp_path / "edit.py").write_text(EDITOR, encoding="utf-8")
    return tmp_path


def edit(bench: Path, programs: Path, out: Path, *more: str) -> Done:
    words = f"{sys.executable} {programs / 'edit.py'} {{source}} {{output}} API_KEY={SECRET} {' '.join(more)}"
    return creval("edit", bench, "--editor", f"command:{words}", "--out", out, "--attempts", "1", "--json")


def judge(bench: Path, programs: Path, run: Path, edits: Path, *more: str) -> Done:
    words = f"{sys.executable} {programs / 'judge.py'} {{prompt}} {{output}} --token={SECRET} {' '.join(more)}"
    options = ("--retries", "0", "--attempts", "1", "--ask", "question", "--json", "--max-unanswered", "100")
    return creval("judge", bench, "--edits", edits, "--judge", f"command:{words}", "--run", run, *options)


def check_hidden(folder: Path, *said: Done) -> None:
    for done in said:
        assert SECRET not in done.stdout + done.stderr
    for path in folder.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_secrets_in_commands_are_in_no_run_report_or_json(bench: Path, programs: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    said = [
        edit(bench, programs, kept / "good"),
        edit(bench, programs, kept / "bad", "fail"),
        judge(bench, programs, kept / "run", kept / "good"),
        judge(bench, programs, kept / "failed", kept / "good", "fail"),
    ]
    assert [done.returncode for done in said] == [0, 1, 0, 2], said
    assert json.loads(said[0].stdout)["statuses"] == {"done": 1}
    said += [creval("score", kept / "run"), creval("score", kept / "run", "--json")]
    said += [creval("report", kept / "run", "--out", kept / "r.html")]
    said += [creval("export", kept / "run", "--out", kept / "export")]
    assert {done.returncode for done in said[4:]} == {0}
    assert "[hidden]" in str(read_stored_manifest(kept / "run")["judge"])
    check_hidden(kept, *said)
    again = [edit(bench, programs, kept / "good"), judge(bench, programs, kept / "run", kept / "good")]
    assert [json.loads(done.stdout)["calls"] for done in again] == [0, 0], "no call is repeated"


def test_secrets_in_settings_are_not_stored(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("def edit(source, instruction, seed, api_key='', size=1):\n    return source\n")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "kept" / "mine"
    more = ("--editor", "python:mine:edit", "--set", f"api_key={SECRET}", "--set", "size=2", "--out", out, "--json")
    done = [creval("edit", bench, *more) for _ in range(2)]
    assert [json.loads(one.stdout)["calls"] for one in done] == [1, 0]
    assert read_stored_manifest(out)["editor_facts"]["settings"] == {"api_key": "[hidden]", "size": 2}
    check_hidden(tmp_path / "kept", *done)


FAILING = f"""
import os, sys
MESSAGE = f"401 for {{os.environ['OWN_API_KEY']}} and sk-{SECRET}"
def edit(source, instruction, seed, api_key):
    raise RuntimeError(f"{{MESSAGE}} and {{api_key}}")
def judge(questions):
    raise RuntimeError(MESSAGE)
def measure(edit):
    raise RuntimeError(MESSAGE)
if __name__ == "__main__":
    sys.exit(MESSAGE)
"""


def test_secrets_in_messages_of_functions_and_programs_are_hidden(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OWN_API_KEY", f"env-{SECRET}")
    kept, program = tmp_path / "kept", f"command:{sys.executable} failing.py {{output}}"
    make = ("edit", bench, "--attempts", "1", "--json", "--out")
    asked = ("judge", bench, "--edits", kept / "good", "--attempts", "1", "--retries", "0", "--json", "--run")
    good = creval(*make, kept / "good", "--editor", "touchstone:faithful")
    said = [
        creval(*make, kept / "a", "--editor", "python:failing:edit", "--set", f"api_key=set-{SECRET}"),
        creval(*make, kept / "b", "--editor", program),
        creval(*asked, kept / "r1", "--judge", "python:failing:judge"),
        creval(*asked, kept / "r2", "--judge", program),
        creval("measure", "python:failing:measure", "--bench", bench, "--edits", kept / "good"),
    ]
    assert good.returncode == 0
    for done in said:
        assert "401 for [hidden] and [hidden]" in done.stdout + done.stderr
    check_hidden(kept, good, *said)


def test_a_folder_of_an_older_version_resumes_without_new_calls(
    bench: Path, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        for place in ("editors.command", "judges.command_judge", "judges.judge_spec", "editing.edit_run"):
            before.setattr(f"creval.{place}.hide_words", str)
        assert edit(bench, programs, tmp_path / "old").returncode == 0
        assert judge(bench, programs, tmp_path / "run", tmp_path / "old").returncode == 0
    assert SECRET in str(read_stored_manifest(tmp_path / "run")["judge"])
    again = [edit(bench, programs, tmp_path / "old"), judge(bench, programs, tmp_path / "run", tmp_path / "old")]
    assert [(done.returncode, json.loads(done.stdout)["calls"]) for done in again] == [(0, 0), (0, 0)]


def test_new_runs_are_readable_by_their_owner_only(bench: Path, programs: Path, tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        assert edit(bench, programs, tmp_path / "edits" / "good").returncode == 0
        run = tmp_path / "runs" / "first"
        assert judge(bench, programs, run, tmp_path / "edits" / "good").returncode == 0
        assert (mode(tmp_path / "runs"), mode(run), mode(run / DATABASE)) == (0o755, 0o700, 0o600)
        assert (mode(tmp_path / "edits" / "good"), mode(tmp_path / "edits" / "good" / DATABASE)) == (0o755, 0o600)
        there = tmp_path / "there"
        there.mkdir(0o755)
        RunWriter(there).close()
        assert (mode(there), mode(there / DATABASE)) == (0o755, 0o600)
        (there / DATABASE).chmod(0o644)
        RunWriter(there).close()
        assert mode(there / DATABASE) == 0o644
    finally:
        os.umask(old)
