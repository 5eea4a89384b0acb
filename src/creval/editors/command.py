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

from creval.core.errors import CrevalError
from creval.core.files import read_bytes
from creval.core.images import ImageError, encode
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
        with tempfile.TemporaryDirectory(prefix="creval-") as folder:
            output = Path(folder) / "edit.png"
            source = await asyncio.to_thread(_upright, job.source, Path(folder) / "source.png")
            values = {
                "source": source,
                "instruction": job.instruction,
                "output": str(output),
                "seed": str(job.seed),
                "mask": "" if job.mask is None else str(job.mask.absolute()),
            }
            said = await self._run([part.format(**values) for part in self._parts])
            if not output.is_file():
                raise Fault("no picture", f"the program wrote none to {{output}}: {said}".strip())
            facts = {"log": said} if said else {}
            return Produced(output.read_bytes(), cost=self.price, facts=facts)

    async def _run(self, arguments: list[str]) -> str:
        """Run the program to its end; the end of what it said."""
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise Unusable(f"{self.name} cannot be started: {error}.") from error
        try:
            said, _ = await asyncio.wait_for(program.communicate(), self._timeout)
        except asyncio.TimeoutError as error:
            raise Fault("timeout", f"the program took more than {self._timeout:g} s") from error
        finally:
            await _end(program)
        text = said.decode("utf-8", "replace").strip()[-_LOG:]
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
    """End a program and what it has started, kindly first."""
    if program.returncode is not None:
        return
    for word in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, word)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(program.wait(), _PATIENCE)
            return


def _parts(template: str) -> tuple[list[str], set[str]]:
    """The parts of a template, and the places in them."""
    try:
        parts = shlex.split(template)
        named = {name for part in parts for _, name, _, _ in string.Formatter().parse(part) if name}
        for part in parts:
            part.format(**dict.fromkeys(PLACES, ""))
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        places = " ".join(f"{{{place}}}" for place in PLACES)
        raise CrevalError(f"command:{template}: its places are {places} ({error}).") from error
    if not parts or "output" not in named:
        raise CrevalError(
            f"command:{template or '(nothing)'}: give a program with {{output}}, the file that it "
            "is to write, such as command:'python edit.py {source} {instruction} {output}'."
        )
    return parts, named
