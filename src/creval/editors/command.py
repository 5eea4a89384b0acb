"""`command:TEMPLATE`: any program edits.

The template is split as a shell would, but no shell sees it; each part may hold `{source}`,
`{instruction}`, `{output}`, `{seed}`, `{mask}` and `{references}`; one with the last stands once
for each of them, one with `{source?}` not where there is none. The program writes a picture to
`{output}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import string
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from creval.core.errors import CrevalError
from creval.core.files import read_bytes
from creval.core.images import ImageError, encode_image
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask, require_no_settings
from creval.editors.output_checks import read_image_bytes
from creval.providers.call_errors import CallError, ProviderUnusable

_REFERENCES, _OPTIONAL_SOURCE = "references", "source?"
PLACEHOLDERS = ("source", _OPTIONAL_SOURCE, "instruction", "output", "seed", "mask", _REFERENCES)
_MAX_LOG_CHARS = 4_000  # characters of what a program said that are kept
_TERMINATE_SECONDS = 2.0  # seconds that a program has to end when it is told to


class CommandEditor(Editor):
    """A program of the user's."""

    def __init__(self, name: str, template: str, options: EditorOptions) -> None:
        self.name, self.model, self.notes = name, template, []
        require_no_settings("a command", options)
        self._template_parts, self._placeholders = _parse_template(template)
        self.needs_source = "source" in self._placeholders
        self.price = options.price
        self._timeout = options.timeout

    def accepts(self, extra: str) -> bool:
        return extra in self._placeholders or f"{extra}?" in self._placeholders

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        self.note_ignored_inputs(job)
        if job.source is None and self.needs_source:
            raise CallError("unsupported", "the program needs a {source}", retryable=False)
        # What a program locks away in the folder is no reason to stop.
        with tempfile.TemporaryDirectory(prefix="creval-", ignore_cleanup_errors=True) as folder:
            output = Path(folder) / "edit.png"
            source = await asyncio.to_thread(_upright_path, job.source, Path(folder) / "source.png")
            values = {
                "source": source,
                _OPTIONAL_SOURCE: source,
                "instruction": job.instruction,
                "output": str(output),
                "seed": str(job.seed),
                "mask": "" if job.mask is None else str(job.mask.absolute()),
            }
            references = [
                await asyncio.to_thread(_upright_path, path, Path(folder) / f"reference{number}.png")
                for number, path in enumerate(job.references, 1)
            ]
            with tempfile.TemporaryFile(dir=folder) as log:
                said = await self._run(_fill_template(self._template_parts, values, references), log)
            if not os.path.lexists(output):
                raise CallError("no picture", f"the program wrote none to {{output}}: {said}".strip())
            content = await asyncio.to_thread(read_image_bytes, output, follow_links=False)
            return EditOutput(content, cost=self.price, metadata={"log": said} if said else {})

    async def _run(self, arguments: list[str], log: IO[bytes]) -> str:
        """Run the program to its end; the end of what it said.

        That goes to a file: a pipe ends only when all that the program has started have closed it.
        """
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise ProviderUnusable(f"{self.name} cannot be started: {error}.") from error
        except (OSError, ValueError) as error:  # these arguments: too long, or with a NUL
            reason = getattr(error, "strerror", None) or error
            raise CallError("cannot be started", f"with this sample: {reason}", retryable=False) from error
        try:
            await asyncio.wait_for(program.wait(), self._timeout)
        except asyncio.TimeoutError as error:
            raise CallError("timeout", f"the program took more than {self._timeout:g} s") from error
        finally:
            await _terminate(program)
        text = _read_log_end(log)
        if program.returncode:
            raise CallError("the program failed", f"exit status {program.returncode}: {text}")
        return text


def _upright_path(image: Path | None, copy: Path) -> str:
    """The path of a picture, or of an upright copy: many a program overlooks what EXIF says."""
    if image is None:
        return ""
    try:
        sent = encode_image(image)
    except ImageError as error:
        raise CallError("unreadable source", str(error), retryable=False) from None
    if sent.content == read_bytes(image):
        return str(image.absolute())
    copy.write_bytes(sent.content)
    return str(copy)


async def _terminate(program: asyncio.subprocess.Process) -> None:
    """End a program, kindly first, and what it has left behind."""
    try:
        if program.returncode is None:
            _signal_group(program, signal.SIGTERM)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(program.wait(), _TERMINATE_SECONDS)
    finally:
        _signal_group(program, signal.SIGKILL)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(program.wait(), _TERMINATE_SECONDS)


def _signal_group(program: asyncio.subprocess.Process, word: signal.Signals) -> None:
    # None is left; or, as macOS says it, none that is not over.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, word)


def _read_log_end(log: IO[bytes]) -> str:
    most = 4 * _MAX_LOG_CHARS + 4  # bytes of so many characters
    log.seek(max(0, log.seek(0, os.SEEK_END) - most))
    return log.read(most).decode("utf-8", "replace").strip()[-_MAX_LOG_CHARS:]


def _fill_template(parts: Sequence[str], values: Mapping[str, str], each: Sequence[str]) -> list[str]:
    """The words of a command; one for each reference where they are named."""
    found = []
    for part in parts:
        places = _find_placeholders(part)
        many = each if _REFERENCES in places else [""]
        if _OPTIONAL_SOURCE not in places or values[_OPTIONAL_SOURCE]:
            found += [part.format(**values, **{_REFERENCES: one}) for one in many]
    return found


def _find_placeholders(part: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(part) if name}


def _parse_template(template: str) -> tuple[list[str], set[str]]:
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
        named = set().union(*map(_find_placeholders, parts))
        for part in parts:
            if any(spec or how for _, name, spec, how in string.Formatter().parse(part) if name):
                raise ValueError("a place stands alone in its braces")
        for part in parts:
            part.format(**dict.fromkeys(PLACEHOLDERS, ""))
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        places = " ".join(f"{{{place}}}" for place in PLACEHOLDERS)
        raise CrevalError(f"command:{template}: its places are {places} ({error}).") from error
    if not parts or "output" not in named:
        raise CrevalError(
            f"command:{template or '(nothing)'}: give a program with {{output}}, the file that it "
            "is to write, such as command:'python edit.py {source} {instruction} {output}'."
        )
    return parts, named
