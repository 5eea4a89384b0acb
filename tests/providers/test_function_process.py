"""Tests of functions in their own processes: side effects, and digests of their code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from creval.core.errors import CrevalError
from creval.providers.call_errors import CallError
from creval.providers.function_process import ProcessRunner
from creval.providers.source_digests import command_digests
from creval.providers.user_functions import FunctionCaller, UserCall

MODULE = """
import asyncio, os, time
from creval import Refused
import beside

def do(what):
    if what == "exit":
        os._exit(0)
    if what == "decline":
        raise Refused("not this")
    if what == "move":
        os.chdir("/")
    if what == "hang":
        open("hung", "w").write(str(os.getpid()))
        time.sleep(60)
    if what == "leave a child":
        if os.fork() == 0:
            os.setsid()
            open("child", "w").write(str(os.getpid()))
            time.sleep(60)
        while not os.path.exists("child") or not open("child").read():
            time.sleep(0.01)
        os._exit(0)
    if what == "answer twice":
        if os.fork() == 0:
            return "child"
        time.sleep(0.3)
    if what == "object":
        return lambda: None
    print("to nobody")
    return os.getpid()

async def wait(what):
    if what == "hang":
        await asyncio.sleep(60)
    if what == "exit":
        os._exit(3)
    await asyncio.sleep(0.05)
    return what
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own.py").write_text(MODULE)
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "ends.py").write_text("import os; os._exit(0)")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(value: Any) -> Any:
    return value


class Told:
    """The arguments of a call, which are sent to the process."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __call__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.what,), {}


def ask(runner: ProcessRunner, *words: str, timeout: float = 20.0, at_once: bool = False) -> list[Any]:
    """Return the results of calls, with exceptions as values."""

    async def run() -> list[Any]:
        caller = FunctionCaller[Any](runner, timeout)
        caller.open()
        calls: list[Callable[[], Any]] = [lambda w=word: caller.call(UserCall(Told(w), same)) for word in words]  # type: ignore[misc]
        try:
            if at_once:
                return list(await asyncio.gather(*(call() for call in calls), return_exceptions=True))
            return [(await asyncio.gather(call(), return_exceptions=True))[0] for call in calls]
        finally:
            caller.close()

    return asyncio.run(run())


@pytest.mark.usefixtures("folder")
def test_a_function_that_ends_its_process_fails_and_the_next_call_has_another() -> None:
    here = str(Path.cwd())
    runner = ProcessRunner("own:do")
    first, ended, second, moved, declined, unsendable = ask(runner, "", "exit", "", "move", "decline", "object")
    assert str(ended) == "the function failed: its process ended (exit status 0)"
    assert ended.retryable
    assert len({first, second, os.getpid()}) == 3
    assert moved == second, "a changed working directory does not restart the process"
    assert str(Path.cwd()) == here
    assert (declined.kind, declined.reason, declined.retryable) == ("refused", "not this", False)
    assert "cannot be pickled" in str(unsendable)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_that_outlives_the_process_is_not_waited_for(folder: Path) -> None:
    began = time.monotonic()
    try:
        (ended,) = ask(ProcessRunner("own:do"), "leave a child")
        assert str(ended) == "the function failed: its process ended (exit status 0)"
        assert time.monotonic() - began < 20
    finally:
        os.kill(int((folder / "child").read_text()), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.usefixtures("folder")
def test_a_forked_child_does_not_answer() -> None:
    first, second = ask(ProcessRunner("own:do"), "answer twice", "")
    assert first == second


@pytest.mark.usefixtures("folder")
def test_coroutines_run_at_once_and_end_together() -> None:
    runner = ProcessRunner("own:wait")
    began = time.monotonic()
    assert ask(runner, *"abcdefgh", at_once=True) == list("abcdefgh")
    assert time.monotonic() - began < 8 * 0.05 + 5
    hung, other = ask(runner, "hang", "a", timeout=0.5, at_once=True)
    assert str(hung) == "timeout: it took more than 0.5 s"
    assert other == "a"
    assert [str(one)[-15:] for one in ask(runner, "exit")] == ["(exit status 3)"]


def test_a_call_that_hangs_is_ended_with_its_process(folder: Path) -> None:
    runner = ProcessRunner("own:do")
    ask(runner, "", timeout=60.0)
    (hung,) = ask(runner, "hang", timeout=3.0)  # enough for a busy machine to begin the call
    (after,) = ask(runner, "", timeout=60.0)
    assert isinstance(hung, CallError)
    assert hung.kind == "timeout"
    process = int((folder / "hung").read_text())
    assert isinstance(after, int)
    assert after != process
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.usefixtures("folder")
def test_the_process_ends_with_its_runner() -> None:
    runner = ProcessRunner("own:do")
    (process,) = ask(runner, "")
    del runner
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(CrevalError, match=r"python:ends:f: its process ended during the import \(exit status 0\)"):
        ProcessRunner("ends:f")
    for wrong in ("", "own", "own:"):
        with pytest.raises(CrevalError, match="give python:MODULE:FUNCTION"):
            ProcessRunner(wrong)


def test_a_change_in_a_module_or_one_beside_it_is_another_digest(folder: Path) -> None:
    before = ProcessRunner("own:do").digests
    assert list(before) == ["beside.py", "own.py"], "without creval's modules and installed packages"
    (folder / "beside.py").write_text("x = 1")
    after = ProcessRunner("own:do").digests
    assert after["own.py"] == before["own.py"]
    assert after["beside.py"] != before["beside.py"]
    package = folder / "tools" / "inside"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("from tools.other import f")
    (package.parent / "other.py").write_text("def f(): pass")
    (package.parent / "unused.py").write_text("")
    (package.parent / "later.py").write_text("from . import inside")
    (package / "__init__.py").write_text("from tools.other import f\ndef g():\n    from ..later import h")
    assert list(ProcessRunner("tools.inside:f").digests) == [
        f"tools/{name}.py" for name in ("__init__", "inside/__init__", "later", "other")
    ]


def test_a_command_is_identified_by_its_program_and_files(folder: Path) -> None:
    words = [sys.executable, "own.py", "--weights=beside.py", "absent.pt", str(folder), "x" * 5000, "nul \0"]
    assert list(command_digests(words)) == sorted([sys.executable, "own.py", "beside.py"])
