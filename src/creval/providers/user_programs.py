"""Programs of the user's: a command's template, and one run of it.

The template is split as a shell would, but no shell sees it. Each part may have places such as
`{source}`; one whose name ends in `?` leaves its part out if there is nothing for it, and a part
with a place for several values stands once for each of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import string
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

from creval.core.errors import CrevalError
from creval.core.redaction import find_secret_words, hide_secrets, hide_values, hide_words
from creval.providers.call_errors import CallError, ProviderUnusable

_MAX_LOG_CHARS = 4_000  # characters of what a program said that are kept
_TERMINATE_SECONDS = 2.0  # seconds that a program has to end when it is told to


class ProgramTemplate:
    """A command with places. `placeholders` are the names of those that it has."""

    def __init__(self, template: str, places: Collection[str], example: str) -> None:
        shown = hide_words(template)
        try:
            self._parts = shlex.split(template)
        except ValueError as error:
            what = "a backslash at its end" if "escaped" in str(error) else "an unclosed quotation mark"
            raise CrevalError(
                f"command:{shown}: it has {what}. It is split into words as in a shell: to mean the "
                "character itself, put a backslash before it."
            ) from error
        try:
            self.placeholders = set().union(*map(_find_placeholders, self._parts))
            for part in self._parts:
                if any(spec or how for _, name, spec, how in string.Formatter().parse(part) if name):
                    raise ValueError("a place stands alone in its braces")
                part.format(**dict.fromkeys(places, ""))
        except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
            known = " ".join(f"{{{place}}}" for place in places)
            raise CrevalError(f"command:{shown}: its places are {known} ({error}).") from error
        if not self._parts or "output" not in self.placeholders:
            raise CrevalError(
                f"command:{shown or '(nothing)'}: give a program with {{output}}, the file that it "
                f"is to write, such as command:'{example}'."
            )

    @property
    def secrets(self) -> list[str]:
        """The words of the command that look like secrets, which its log must not show."""
        return find_secret_words(self._parts)

    def fill(self, values: Mapping[str, str | Sequence[str]]) -> list[str]:
        """Return the words of the command."""
        found = []
        for part in self._parts:
            places = _find_placeholders(part)
            if any(place.endswith("?") and not values[place] for place in places):
                continue
            many = [place for place in places if not isinstance(values[place], str)]
            for one in values[many[0]] if many else [""]:
                found.append(part.format(**{**values, **dict.fromkeys(many, one)}))
        return found


def _find_placeholders(part: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(part) if name}


async def run_program(
    name: str, arguments: Sequence[str], folder: Path, timeout: float, secrets: Sequence[str] = ()
) -> str:
    """Run a program and return the end of its log, without `secrets`.

    The log is a file, as a pipe stays open until all its children end.
    """
    with tempfile.TemporaryFile(dir=folder) as log:
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise ProviderUnusable(f"{name} cannot be started: {error}.") from error
        except (OSError, ValueError) as error:  # these arguments: too long, or with a NUL
            reason = getattr(error, "strerror", None) or error
            raise CallError("cannot be started", f"with this sample: {reason}", retryable=False) from error
        try:
            await asyncio.wait_for(program.wait(), timeout)
        except asyncio.TimeoutError as error:
            raise CallError("timeout", f"the program took more than {timeout:g} s") from error
        finally:
            await _terminate(program)
        text = hide_secrets(hide_values(_read_log_end(log), secrets))
        if program.returncode:
            raise CallError("the program failed", f"exit status {program.returncode}: {text}")
        return text


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
