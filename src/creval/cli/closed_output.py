"""Closed output streams, as with `| head`: the command then ends without an error message."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any


class OutputClosedError(BaseException):
    """Standard output was closed by its reader. Not a subclass of `OSError`, which libraries might catch."""


class _Output(io.FileIO):
    """Wrapper of standard output or standard error. If `optional`, output to a closed reader is discarded."""

    def __init__(self, descriptor: int, *, optional: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._optional = optional

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or 0
        except BrokenPipeError:
            if self._optional:
                return len(content)
            raise OutputClosedError from None


def watch_output() -> None:
    """Make standard output raise `OutputClosedError` once its reader is gone; standard error then discards output.

    A stream that was closed from the start is redirected to the null device.
    """
    for name, optional in (("stdout", False), ("stderr", True)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif os.name == "posix" and type(stream) is io.TextIOWrapper:
            stream.flush()
            buffered = isinstance(stream.buffer, io.BufferedWriter) and not stream.line_buffering and not optional
            output = io.BufferedWriter(_Output(stream.fileno(), optional=optional))
            watched = io.TextIOWrapper(output, stream.encoding, stream.errors, line_buffering=not buffered)
            setattr(sys, name, watched)


def discard_output() -> None:
    """Discard buffered output that cannot be written."""
    try:
        sys.stdout.flush()
    except (OSError, OutputClosedError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
