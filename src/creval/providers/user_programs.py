"""User programs: command templates, and running them.

A template is split into arguments by shell rules, but is not run by a shell. Arguments can contain placeholders such
as `{source}`. An argument with a placeholder that ends in `?` is omitted if it has no value. An argument with
a placeholder for several values is repeated for each of them.
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
from creval.core.redaction import find_secret_words, hide_in_message, hide_words
from creval.providers.call_errors import PROGRAM_FAILED, CallError, ProviderUnusable
from creval.providers.source_digests import command_digests

_MAX_LOG_CHARS = 4_000  # characters of a program's output that are stored
_MAX_LOG_BYTES = 4 * _MAX_LOG_CHARS + 4  # maximum size of these characters in UTF-8
_LOG_CHUNK = 1 << 16
_PIPE_BYTES = 1 << 20  # maximum size of a pipe's buffer
_TERMINATE_SECONDS = 2.0  # seconds that a program has to exit after SIGTERM


class ProgramTemplate:
    """A command with placeholders. `placeholders` are the names of the placeholders in it."""

    def __init__(self, template: str, places: Collection[str], example: str) -> None:
        shown = hide_words(template)
        try:
            self._parts = shlex.split(template)
        except ValueError as error:
            problem = "a backslash at its end" if "escaped" in str(error) else "an unclosed quotation mark"
            raise CrevalError(
                f"command:{shown}: it has {problem}. The command is split by shell rules. To use a "
                "quotation mark or a backslash as such, put a backslash before it."
            ) from error
        try:
            self.placeholders = set().union(*map(_find_placeholders, self._parts))
            for part in self._parts:
                if any(spec or conversion for _, name, spec, conversion in string.Formatter().parse(part) if name):
                    raise ValueError("braces must contain only a name")
                part.format(**dict.fromkeys(places, ""))
        except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
            known = " ".join(f"{{{place}}}" for place in places)
            raise CrevalError(f"command:{shown}: invalid placeholder ({error}). Available: {known}.") from error
        if not self._parts or "output" not in self.placeholders:
            raise CrevalError(
                f"command:{shown or '(nothing)'}: give a program with {{output}}, the file that it "
                f"writes, such as command:'{example}'."
            )

    @property
    def secrets(self) -> list[str]:
        """The arguments that look like secrets, which must not appear in a log."""
        return find_secret_words(self._parts)

    @property
    def digests(self) -> dict[str, str]:
        """The digests of the program and of the files among the arguments."""
        fixed = [part if not _find_placeholders(part) else "" for part in self._parts]
        return command_digests([part.format() if part else "" for part in fixed])

    def stands_alone(self, place: str) -> bool:
        """Return True if a placeholder is a whole argument.

        The program then reads a value with a leading dash as an option.
        """
        return f"{{{place}}}" in self._parts

    def fill(self, values: Mapping[str, str | Sequence[str]]) -> list[str]:
        """Return the arguments with the placeholders replaced by values."""
        found = []
        for part in self._parts:
            names = _find_placeholders(part)
            if any(name.endswith("?") and not values[name] for name in names):
                continue
            lists = [name for name in names if not isinstance(values[name], str)]
            for value in values[lists[0]] if lists else [""]:
                found.append(part.format(**{**values, **dict.fromkeys(lists, value)}))
        return found


def _find_placeholders(part: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(part) if name}


async def run_program(name: str, arguments: Sequence[str], timeout: float, secrets: Sequence[str] = ()) -> str:
    """Run a program and return the end of its output, without `secrets`. Earlier output is discarded."""
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
        except (OSError, ValueError) as error:  # arguments that are too long, or contain a NUL
            reason = getattr(error, "strerror", None) or error
            raise CallError(
                "cannot be started", f"the arguments for this sample are not accepted: {reason}", retryable=False
            ) from error
        try:
            log.begin()
            await asyncio.wait_for(program.wait(), timeout)
        except asyncio.TimeoutError as error:
            raise CallError("timeout", f"the program took more than {timeout:g} s") from error
        finally:
            await _terminate(program)
        text = hide_in_message(log.text(), secrets)
        if program.returncode:
            raise CallError(PROGRAM_FAILED, f"exit status {program.returncode}: {text}")
        return text


class _LogEnd:
    """A pipe for a program's output. Only the last characters are kept.

    The pipe is not read until end of file, because child processes may keep it open.
    """

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop = asyncio.get_running_loop()
        self._end = b""

    def begin(self) -> None:
        """Start reading, after the program has inherited the pipe."""
        self._close_write_end()
        self._loop.add_reader(self._read_end, self._read)

    def _read(self) -> bool:
        try:
            content = os.read(self._read_end, _LOG_CHUNK)
        except OSError:  # no more output yet
            return False
        if not content:
            self._loop.remove_reader(self._read_end)
        self._end = (self._end + content)[-_MAX_LOG_BYTES:]
        return bool(content)

    def text(self) -> str:
        """Return the end of the output."""
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
    """End a program and its children, with SIGTERM first and then SIGKILL."""
    try:
        if program.returncode is None:
            _signal_group(program, signal.SIGTERM)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(program.wait(), _TERMINATE_SECONDS)
    finally:
        _signal_group(program, signal.SIGKILL)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(program.wait(), _TERMINATE_SECONDS)


def _signal_group(program: asyncio.subprocess.Process, number: signal.Signals) -> None:
    # No process is left. macOS raises PermissionError if only zombies are left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, number)
