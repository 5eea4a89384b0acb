"""Commands run in the process of a test, which takes a tenth of the time of another's."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from creval.cli import app
from creval.cli.flags import current_spelling, with_flags
from creval.core.errors import CrevalError


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def creval(*arguments: object) -> Done:
    """What a command says, and its exit status."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = int(app(current_spelling([str(part) for part in arguments]), standalone_mode=False) or 0)
        except CrevalError as error:
            status = 2
            print(with_flags(str(error)), file=err)
    return Done(status, out.getvalue(), err.getvalue())
