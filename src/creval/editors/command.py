"""`command:TEMPLATE`: any program edits.

The template is split as a shell would, but no shell sees it; each part may hold `{source}`,
`{instruction}`, `{output}`, `{seed}` and `{mask}`. The program writes a picture to `{output}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import string
import tempfile
from pathlib import Path
from typing import IO

from creval.core.errors import CrevalError
from creval.core.files import read_bytes
from creval.core.images import ImageError, encode
from creval.editors.checks import read_picture
from creval.editors.editor import (
    Editor,
    EditorOptions,
    Job,
    Produced,
    Ticket,
    refuse_settings,
)
from creval.judges.judge import Fault, Unusable

PLACES = ("source", "instruction", "output", "seed", "mask")
_LOG = 4_000  # characters of what a program said that are kept
_PATIENCE = 2.0  # seconds that a program has to end when it is told to


class Command(Editor):
    """A program of the user's."""

    def __init__(self, name: str, template: str, options: EditorOptions) -> None:
        self.name, self.model, self.learned = name, template, []
        refuse_settings("a command", options)
        self._parts, self._places = _parts(template)
        self.price = options.price
        self._timeout = options.timeout

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        del ticket
        self.without(job, "references", *({"mask"} - self._places))
        # What a program locks away in the folder is no reason to stop.
        with tempfile.TemporaryDirectory(prefix="creval-", ignore_cleanup_errors=True) as folder:
            output = Path(folder) / "edit.png"
            source = await asyncio.to_thread(_upright, job.source, Path(folder) / "source.png")
            values = {
                "source": source,
                "instruction": job.instruction,
                "output": str(output),
                "seed": str(job.seed),
                "mask": "" if job.mask is None else str(job.mask.absolute()),
            }
            with tempfile.TemporaryFile(dir=folder) as log:
                said = await self._run([part.format(**values) for part in self._parts], log)
            if not os.path.lexists(output):
                raise Fault("no picture", f"the program wrote none to {{output}}: {said}".strip())
            content = await asyncio.to_thread(read_picture, output, links=False)
            return Produced(content, cost=self.price, facts={"log": said} if said else {})

    async def _run(self, arguments: list[str], log: IO[bytes]) -> str:
        """Run the program to its end; the end of what it said.

        That goes to a file: a pipe ends only when all that the program has started have closed it.
        """
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=log,
                stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except (FileNotFoundError, PermissionError) as error:
            raise Unusable(f"{self.name} cannot be started: {error}.") from error
        except (OSError, ValueError) as error:  # these arguments: too long, or with a NUL
            reason = getattr(error, "strerror", None) or error
            raise Fault("cannot be started", f"with this sample: {reason}", again=False) from error
        try:
            await asyncio.wait_for(program.wait(), self._timeout)
        except asyncio.TimeoutError as error:
            raise Fault("timeout", f"the program took more than {self._timeout:g} s") from error
        finally:
            await _end(program)
        text = _end_of(log)
        if program.returncode:
            raise Fault("the program failed", f"exit status {program.returncode}: {text}")
        return text


def _upright(source: Path | None, copy: Path) -> str:
    """The path of a source, or of an upright copy: many a program overlooks what EXIF says."""
    if source is None:
        return ""
    try:
        sent = encode(source)
    except ImageError as error:
        raise Fault("unreadable source", str(error), again=False) from None
    if sent.content == read_bytes(source):
        return str(source.absolute())
    copy.write_bytes(sent.content)
    return str(copy)


async def _end(program: asyncio.subprocess.Process) -> None:
    """End a program, kindly first, and what it has left behind."""
    try:
        if program.returncode is None:
            _signal(program, signal.SIGTERM)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(program.wait(), _PATIENCE)
    finally:
        _signal(program, signal.SIGKILL)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(program.wait(), _PATIENCE)


def _signal(program: asyncio.subprocess.Process, word: signal.Signals) -> None:
    # None is left; or, as macOS says it, none that is not over.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, word)


def _end_of(log: IO[bytes]) -> str:
    most = 4 * _LOG + 4  # bytes of so many characters
    log.seek(max(0, log.seek(0, os.SEEK_END) - most))
    return log.read(most).decode("utf-8", "replace").strip()[-_LOG:]


def _parts(template: str) -> tuple[list[str], set[str]]:
    """The parts of a template, and the places in them."""
    try:
        parts = shlex.split(template)
    except ValueError as error:
        what = "a backslash at its end" if "escaped" in str(error) else "an unclosed quotation mark"
        raise CrevalError(
            f"command:{template}: it has {what}. It is split into words as in a shell: to mean the "
            "character itself, put a backslash before it."
        ) from error
    try:
        named = {name for part in parts for _, name, _, _ in string.Formatter().parse(part) if name}
        for part in parts:
            part.format(**dict.fromkeys(PLACES, ""))
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        places = " ".join(f"{{{place}}}" for place in PLACES)
        raise CrevalError(f"command:{template}: its places are {places} ({error}).") from error
    if not parts or "output" not in named:
        raise CrevalError(
            f"command:{template or '(nothing)'}: give a program with {{output}}, the file that it "
            "is to write, such as command:'python edit.py {source} {instruction} {output}'."
        )
    return parts, named
