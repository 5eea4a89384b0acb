"""Where output goes: tables to standard output, progress and notes to standard error."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
_UNSEEN = re.compile(r"[\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_WIDE = 160  # columns where nobody's terminal sets them
_QUIET = 2.0  # seconds before progress is worth showing
_EVERY = 10.0  # seconds between lines where there is no terminal


def console() -> Console:
    """Standard output for tables, wide enough where it is not a terminal."""
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = _WIDE
    return out


def note(line: str) -> None:
    """A line on standard error."""
    print(line, file=sys.stderr)


def print_json(value: object) -> None:
    """JSON on standard output; what would move a terminal's cursor is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    print(_UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def track(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with progress on standard error once they take more than two seconds."""
    return _tracked(items, what) if items else items


def _tracked(items: Sequence[T], what: str) -> Iterator[T]:
    terminal = sys.stderr.isatty()
    start = time.monotonic()
    shown = start + _QUIET - (0.2 if terminal else _EVERY)
    for done, item in enumerate(items):
        # Asking the clock costs more than many an item.
        if not done & 63:
            now = time.monotonic()
            if now - start > _QUIET and now - shown > (0.2 if terminal else _EVERY):
                shown = now
                left = (now - start) / done * (len(items) - done)
                line = f"{what}: {done} of {len(items)}, {left:.0f} s left"
                sys.stderr.write(f"\r{line}\x1b[K" if terminal else f"{line}\n")
                sys.stderr.flush()
        yield item
    if terminal and time.monotonic() - start > _QUIET:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
