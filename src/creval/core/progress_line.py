"""Progress display: in a terminal or a notebook, one line that is updated; elsewhere, a new line every ten seconds."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")
_INITIAL_DELAY = 2.0  # seconds before any progress is shown
_CHANGE_INTERVAL = 0.2  # seconds between updates of a line
_LOG_INTERVAL = 10.0  # seconds between new lines


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class ProgressLine:
    """Line of progress in a notebook cell's output or on standard error. It first appears after two seconds."""

    def __init__(self) -> None:
        self._terminal, self._notebook = sys.stderr.isatty(), in_notebook()
        self._every = _CHANGE_INTERVAL if self._terminal or self._notebook else _LOG_INTERVAL
        self.started = time.monotonic()
        self._shown = self.started + _INITIAL_DELAY - self._every
        self._visible = False
        self._cell_output: Any = None

    def due(self) -> bool:
        """Return whether it is time for an update."""
        now = time.monotonic()
        return now - self.started > _INITIAL_DELAY and now - self._shown > self._every

    def show(self, text: str) -> None:
        """Show a text in place of the previous one."""
        self._shown = time.monotonic()
        self._visible = self._terminal or self._notebook
        if self._notebook:
            self._show_in_cell(text)
            return
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            text = text if len(text) <= width else text[: width - 1] + "…"
        sys.stderr.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        sys.stderr.flush()

    def _show_in_cell(self, text: str) -> None:
        display: Any = import_module("IPython.display").display
        shown = {"text/plain": text}
        if self._cell_output is None:
            self._cell_output = display(shown, raw=True, display_id=True)
        else:
            self._cell_output.update(shown, raw=True)

    def clear(self) -> None:
        """Remove the shown text, if possible."""
        if self._visible and self._notebook:
            self._show_in_cell("")
        elif self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._visible = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def count_progress(line: ProgressLine, what: str) -> Callable[[int, int], None]:
    """Return a callback that shows the number of finished items and the time left."""

    def watch(done: int, of: int) -> None:
        if line.due():
            left = (time.monotonic() - line.started) / done * (of - done)
            line.show(f"{done:,} of {of:,} {what}, {left:.0f} s left")

    return watch


def track(items: Sequence[T], what: str) -> Iterator[T]:
    """Yield the items, and show progress after two seconds."""
    line = ProgressLine()
    for done, item in enumerate(items):
        # Reading the clock for each item would take longer than many items do.
        if not done & 63 and line.due():
            left = (time.monotonic() - line.started) / done * (len(items) - done)
            line.show(f"{what}: {done} of {len(items)}, {left:.0f} s left")
        yield item
    line.clear()
