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
from collections.abc import Collection, Mapping, Sequence

from creval.core.errors import CrevalError
from creval.core.redaction import find_secret_words, hide_secrets, hide_values, hide_words
from creval.providers.call_errors import PROGRAM_FAILED, CallError, ProviderUnusable
from creval.providers.source_digests import command_digests

_MAX_LOG_CHARS = 4_000  # characters of what a program said that are kept
_MAX_LOG_BYTES = 4 * _MAX_LOG_CHARS + 4  # bytes of so many characters
_LOG_CHUNK = 1 << 16
_PIPE_BYTES = 1 << 20  # bytes that a pipe can hold
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

    @property
    def digests(self) -> dict[str, str]:
        """The program and the files among the words, by their content."""
        fixed = [part if not _find_placeholders(part) else "" for part in self._parts]
        return command_digests([part.format() if part else "" for part in fixed])

    def stands_alone(self, place: str) -> bool:
        """Return whether a place is a word of its own, where a value that begins with a dash is read as an option."""
        return f"{{{place}}}" in self._parts

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


async def run_program(name: str, arguments: Sequence[str], timeout: float, secrets: Sequence[str] = ()) -> str:
    """Run a program and return the end of what it printed, without `secrets`; the rest is dropped as it comes."""
    with _LogEnd() as log:
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log.write_end,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise ProviderUnusable(f"{name} cannot be started: {error}.") from error
        except (OSError, ValueError) as error:  # these arguments: too long, or with a NUL
            reason = getattr(error, "strerror", None) or error
            raise CallError("cannot be started", f"with this sample: {reason}", retryable=False) from error
        try:
            log.begin()
            await asyncio.wait_for(program.wait(), timeout)
        except asyncio.TimeoutError as error:
            raise CallError("timeout", f"the program took more than {timeout:g} s") from error
        finally:
            await _terminate(program)
        text = hide_secrets(hide_values(log.text(), secrets))
        if program.returncode:
            raise CallError(PROGRAM_FAILED, f"exit status {program.returncode}: {text}")
        return text


class _LogEnd:
    """A pipe of which the last characters are kept. It is not read to its end: children may hold it open."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop = asyncio.get_running_loop()
        self._end = b""

    def begin(self) -> None:
        """Read, once the program has its own end of the pipe."""
        self._close_write_end()
        self._loop.add_reader(self._read_end, self._read)

    def _read(self) -> bool:
        try:
            content = os.read(self._read_end, _LOG_CHUNK)
        except OSError:  # nothing more by now
            return False
        if not content:
            self._loop.remove_reader(self._read_end)
        self._end = (self._end + content)[-_MAX_LOG_BYTES:]
        return bool(content)

    def text(self) -> str:
        """Return the end of what was printed."""
        for _ in range(_PIPE_BYTES // _LOG_CHUNK):
            if not self._read():
                break
        return self._end.decode("utf-8", "replace").strip()[-_MAX_LOG_CHARS:]

    def _close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
        self.write_end = -1

    def __enter__(self) -> _LogEnd:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_write_end()
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)


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
