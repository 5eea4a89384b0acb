"""Console output: tables go to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from creval.cli.flags import with_flags
from creval.core.formatting import escape_control, format_count, format_duration, format_money, pluralise
from creval.core.progress_line import ProgressLine as ProgressLine
from creval.core.progress_line import count_progress as count_progress
from creval.core.progress_line import track as track
from creval.core.redaction import hide_secrets

if TYPE_CHECKING:
    from rich.console import Console

    from creval.calls.retry import Progress
    from creval.reporting.output import CommandOutput, OutputTable

_INVISIBLE = re.compile(r"[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_DEFAULT_WIDTH = 160  # columns without a terminal
_MAX_ERROR_KINDS = 8  # kinds of errors in a note


def stdout_console() -> Console:
    """Return a console on standard output. Without a terminal, it has a fixed width."""
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = _DEFAULT_WIDTH
    return out


def print_note(*lines: str) -> None:
    """Print lines on standard error, with control characters escaped."""
    for line in lines:
        print(with_flags(escape_control(hide_secrets(line))), file=sys.stderr)


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())


def log_to_stderr() -> None:
    """Print log records of creval as notes."""
    log = logging.getLogger("creval")
    if not log.handlers:
        log.addHandler(_NoteHandler())
    log.setLevel(logging.INFO)


def print_json(value: object) -> None:
    """Print JSON on standard output, with control characters escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    print(_INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def print_output(output: CommandOutput, as_json: bool = False) -> None:
    """Print a command's output: sentences, tables and notes, or all of it as JSON."""
    if as_json:
        print_json(output.as_json())
        return
    out = stdout_console()
    for sentence in output.sentences:
        out.print(with_flags(sentence))
    for grid in output.tables:
        print_table(grid)
    print_note(*output.notes)


def print_table(table: OutputTable) -> None:
    """Print a table, split into several if the terminal is too narrow."""
    from creval.reporting.output import rich_table, split_to_width

    out = stdout_console()
    for part in split_to_width(table, out.width):
        out.print(rich_table(part))


def watch_calls(line: ProgressLine, label: str = "") -> Callable[..., None]:
    """Return a callback that shows the progress of calls to models. Each use can override `label` and `unit`."""

    def watch(progress: Progress, label: str = label, unit: str = "calls") -> None:
        left = progress.calls - progress.done
        if left == 0 and progress.measurements_done >= progress.measurements_total:
            line.clear()
            return
        if not line.due():
            return
        if progress.stopping:
            line.show(
                f"stopping: waiting for {progress.in_flight:,} {unit} in flight; press Ctrl-C again to stop at once"
            )
            return
        rate = (progress.done - progress.cached) / (time.monotonic() - progress.started_at)
        about = "about " if progress.tokens_estimated else ""
        tokens, errors = progress.tokens_in + progress.tokens_out, sum(progress.error_counts.values())
        parts = []
        if progress.measurements_total:
            parts.append(f"{progress.measurements_done:,} of {progress.measurements_total:,} measurements")
        if progress.calls:
            parts += [f"{progress.done:,} of {progress.calls:,} {unit}", f"{rate:.1f}/s"]
        if progress.answered or progress.unanswered:
            parts.append(f"{progress.answered:,} answered, {progress.unanswered:,} unanswered")
        if progress.shared:
            parts.append(f"{progress.shared:,} from the cache")
        if tokens:
            parts.append(f"{about}{format_count(tokens)} tokens")
        if progress.cost:
            parts.append(f"{about}{format_money(progress.cost)}")
        if errors:
            parts.append(f"{errors:,} errors ({progress.error_counts.most_common(1)[0][0]})")
        if rate and left > 0:
            parts.append(f"{format_duration(left / rate)} left")
        line.show((f"{label}: " if label else "") + ", ".join(parts))

    return watch


def error_notes(progress: Progress, wanted: str = "answer") -> list[str]:
    """Return a note with the number of failed calls by kind of error; empty if none failed."""
    kinds = ", ".join(f"{kind} {n}" for kind, n in progress.error_counts.most_common(_MAX_ERROR_KINDS))
    return [escape_control(f"calls without an {wanted}: {kinds}")] if kinds else []


def call_summary(
    progress: Progress, *, kept: str = "", folder_cost: float | None = None, folder_calls: int | None = None
) -> str:
    """Summarise a command's calls: number, time, tokens, cost, and how many results were `kept` from before.

    `folder_cost` and `folder_calls` are totals over all commands that wrote to the folder, if known.
    """
    about = "about " if progress.tokens_estimated else ""
    tokens = progress.tokens_in + progress.tokens_out
    parts = [
        f"{pluralise(progress.calls_answered, 'call')} in {format_duration(time.monotonic() - progress.started_at)}"
    ]
    if folder_calls not in (None, progress.calls_answered):
        parts.append(f"{folder_calls:,} in the whole run")
    if tokens:
        parts.append(f"{about}{format_count(tokens)} tokens")
    if folder_cost:
        parts.append(f"{format_money(folder_cost)} for the whole folder")
    elif tokens and progress.cost and folder_cost is None:
        parts.append(f"{about}{format_money(progress.cost)}")
    return ", ".join(parts) + (
        f"; {pluralise(progress.cached, kept)} kept from before" if kept and progress.cached else ""
    )


def exit_if_stopped(stopped: str, done_word: str) -> None:
    """Exit if a command stopped early. `done_word` describes the finished part, such as `answered`."""
    if stopped == "interrupted":
        print_note(f"stopped: everything {done_word} so far is stored. Repeat the command to resume.")
        sys.exit(130)  # typer.Exit(130) would be reported as another interrupt
    if stopped == "budget":
        print_note("stopped: the budget is spent, or too small for the next call. Raise --budget to resume.")
        raise typer.Exit(1)


def exit_if_too_many_missing(share: float, allowed: float, what: str) -> None:
    """Exit with status 1 if more than the allowed share is missing. `what` says what, such as `answers are missing`."""
    if share > allowed:
        print_note(f"{100 * share:.1f} % {what}, more than --max-unanswered allows: exit status 1.")
        raise typer.Exit(1)
