"""Commands run in the process of a test, which takes a tenth of the time of another's."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from creval.cli import main


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def creval(*arguments: object, cwd: Path | None = None) -> Done:
    """What a command says, and its exit status."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["creval", *map(str, arguments)]
    with mock.patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err), working_folder(cwd):
        try:
            main()
        except SystemExit as end:
            return Done(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("a command ends with an exit status")


def right(*arguments: object, cwd: Path | None = None) -> str:
    done = creval(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def wrong(*arguments: object) -> str:
    """The one sentence of a command that cannot be done."""
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
    """Work in another folder for a while."""
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
