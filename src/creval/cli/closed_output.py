"""Output that nobody reads any more, as behind `| head`: a command then ends quietly."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any


class OutputClosedError(BaseException):
    """Standard output was closed by its reader. Libraries that handle `OSError` must not handle it."""


class _Output(io.FileIO):
    """Standard output or, if `optional`, standard error: nobody needs to read that."""

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
    """Let standard output raise `OutputClosedError`, and standard error nothing, once their reader is gone.

    What was closed from the start is written nowhere.
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
    """Send nowhere what is still in buffers and cannot be written."""
    try:
        sys.stdout.flush()
    except (OSError, OutputClosedError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
