"""Commands run in the process of a test, which takes a tenth of the time of another's."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
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


@contextmanager
def working_folder(folder: Path | None) -> Iterator[None]:
    """Work in another folder for a while."""
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
