"""Where output goes: tables to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import TYPE_CHECKING

from creval.cli.flags import with_flags
from creval.core.progress_line import ProgressLine as ProgressLine
from creval.core.progress_line import count_progress as count_progress
from creval.core.progress_line import track as track

if TYPE_CHECKING:
    from rich.console import Console

    from creval.reporting.output import CommandOutput, OutputTable

_INVISIBLE = re.compile(r"[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_DEFAULT_WIDTH = 160  # columns where nobody's terminal sets them


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
