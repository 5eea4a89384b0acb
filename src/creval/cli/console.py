"""Where output goes: tables to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import logging
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from creval.cli.flags import with_flags

if TYPE_CHECKING:
    from rich.console import Console

    from creval.reporting.output import CommandOutput, OutputTable

T = TypeVar("T")
_INVISIBLE = re.compile(r"[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_DEFAULT_WIDTH = 160  # columns where nobody's terminal sets them
_INITIAL_DELAY = 2.0  # seconds before progress is worth showing
_TERMINAL_INTERVAL = 0.2  # seconds between changes of a line
_LOG_INTERVAL = 10.0  # seconds between lines where there is no terminal


def stdout_console() -> Console:
    """Standard output for tables, wide enough where it is not a terminal."""
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = _DEFAULT_WIDTH
    return out


def print_note(line: str) -> None:
    """A line on standard error."""
    print(with_flags(line), file=sys.stderr)


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from creval.core.formatting import escape_control

        print_note(escape_control(record.getMessage()))


def log_to_stderr() -> None:
    """What creval's own code logs becomes notes."""
    log = logging.getLogger("creval")
    if not log.handlers:
        log.addHandler(_NoteHandler())
    log.setLevel(logging.INFO)


def print_json(value: object) -> None:
    """JSON on standard output; what would move a terminal's cursor is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    print(_INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def print_output(output: CommandOutput, as_json: bool = False) -> None:
    """What a command found: its sentences and tables, or all of it as JSON."""
    if as_json:
        print_json(output.as_json())
        return
    out = stdout_console()
    for sentence in output.sentences:
        out.print(with_flags(sentence))
    for grid in output.tables:
        print_table(grid)
    for line in output.notes:
        print_note(line)


def print_table(table: OutputTable) -> None:
    """A table, or several where the terminal is too narrow for one."""
    from creval.reporting.output import rich_table, split_to_width

    out = stdout_console()
    for part in split_to_width(table, out.width):
        out.print(rich_table(part))


class ProgressLine:
    """Progress on standard error, once there is something to wait for: one line that changes, or
    without a terminal a new line now and then."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._every = _TERMINAL_INTERVAL if self._terminal else _LOG_INTERVAL
        self.started = time.monotonic()
        self._shown = self.started + _INITIAL_DELAY - self._every
        self._visible = False

    def due(self) -> bool:
        """Whether it is time to show something."""
        now = time.monotonic()
        return now - self.started > _INITIAL_DELAY and now - self._shown > self._every

    def show(self, text: str) -> None:
        self._shown = time.monotonic()
        self._visible = self._terminal
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            text = text if len(text) <= width else text[: width - 1] + "…"
        sys.stderr.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._visible = False


def count_progress(line: ProgressLine, what: str) -> Callable[[int, int], None]:
    """Shows how many of how many are done, and how long the rest will take."""

    def watch(done: int, of: int) -> None:
        if line.due():
            left = (time.monotonic() - line.started) / done * (of - done)
            line.show(f"{done:,} of {of:,} {what}, {left:.0f} s left")

    return watch


def track(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with progress on standard error once they take more than two seconds."""
    return _iter_with_progress(items, what) if items else items


def _iter_with_progress(items: Sequence[T], what: str) -> Iterator[T]:
    line = ProgressLine()
    for done, item in enumerate(items):
        # Asking the clock costs more than many an item.
        if not done & 63 and line.due():
            left = (time.monotonic() - line.started) / done * (len(items) - done)
            line.show(f"{what}: {done} of {len(items)}, {left:.0f} s left")
        yield item
    line.clear()
