"""Run commands in the test's process, which is ten times as fast as a process of their own."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from creval.cli import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def creval(*arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Done:
    """Run a command; return its exit status and output. `env` are additional environment variables."""
    out, err = io.StringIO(), io.StringIO()
    argv = mock.patch.object(sys, "argv", ["creval", *map(str, arguments)])
    environment = mock.patch.dict(os.environ, env or {})
    with argv, environment, redirect_stdout(out), redirect_stderr(err), working_folder(cwd):
        try:
            main()
        except SystemExit as end:
            return Done(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("the command did not exit with a status")


def right(*arguments: object, cwd: Path | None = None) -> str:
    done = creval(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def wrong(*arguments: object) -> str:
    """Run a command that must fail with a one-line error; return the error."""
    done = creval(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("creval: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def parsed(*arguments: object) -> Any:
    return json.loads(right(*arguments, "--json"))


@contextmanager
def working_folder(folder: Path | None) -> Iterator[None]:
    """Change the working directory for the duration of the block."""
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
