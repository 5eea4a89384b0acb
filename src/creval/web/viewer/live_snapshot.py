"""The newest snapshot of a run that may still be going, taken beside the pages.

One thread reads the run. Whoever wants the snapshot asks it to look whether the run has changed,
waits a moment, and takes what is there: a page never waits for scores.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from creval.store.lookup import CloseUp
from creval.web.viewer.search import Index
from creval.web.viewer.snapshot import Snapshot, take

_PATIENCE = 0.05  # seconds that a page waits for news
Watch = Callable[[str], None]
"""Told what is being done."""


class Current:
    """The newest snapshot of the run in a folder, and the index of its texts."""

    def __init__(self, folder: Path, watch: Watch = lambda _: None) -> None:
        self.folder = folder
        self.index = Index()
        self._changed = threading.Condition()
        self._asked, self._looked, self._ended, self._busy = 0, 0, False, False
        self._snapshot: Snapshot | None = None
        self._failure: Exception | None = None
        self._watch = watch
        self._thread = threading.Thread(target=self._work, name="creval run", daemon=True)
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._looked or self._ended)
        self._watch = lambda _: None
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def close(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def get(self, patience: float | None = None) -> Snapshot:
        """The snapshot as it is after at most this many seconds: a moment, or where it is being
        taken anew already, none."""
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            if patience is None:
                patience = 0.0 if self._busy else _PATIENCE
            self._changed.wait_for(lambda: self._looked >= mine or self._ended, patience)
            if self._snapshot is None:
                raise self._failure or RuntimeError("the run was never read")
            return self._snapshot

    @property
    def problem(self) -> str:
        """Why the run could not be read the last time, if so."""
        return "" if self._failure is None else str(self._failure)

    def _work(self) -> None:
        try:
            eye = CloseUp(self.folder)
            seen = eye.version()
            self._read()
        except Exception as error:
            self._failure = error
            with self._changed:
                self._ended = True
                self._changed.notify_all()
            return
        self._done(0)
        while (asked := self._wait()) is not None:
            began = time.monotonic()
            try:
                now = eye.version()
                if now[1:] != seen[1:]:  # the run was made anew, in another file
                    eye.close()
                    eye = CloseUp(self.folder)
                    now = eye.version()
                    self.index.clear()
                if now != seen:
                    self._busy = True
                    self._read()
                    seen = now
            except Exception as error:  # the run is being replaced, or is gone: what is there stays
                self._failure = error
            else:
                self._failure = None
            self._done(asked)
            if self._busy:
                self._rest(time.monotonic() - began)
        eye.close()

    def _rest(self, seconds: float) -> None:
        """Leave the machine to the pages for as long as reading has taken, and once more."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended, 2 * seconds)
            self._busy = False

    def _wait(self) -> int | None:
        """Wait until somebody asks; how many have asked, or none where it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked > self._looked or self._ended)
            return None if self._ended else self._asked

    def _done(self, asked: int) -> None:
        with self._changed:
            self._looked = max(asked, 1)
            self._asked = max(self._asked, 1)
            self._changed.notify_all()

    def _read(self) -> None:
        """Take a snapshot, then bring the index and the scores up to date."""
        with CloseUp(self.folder) as run:
            self._watch("reading the run")
            taken = take(run, self._snapshot)
            if self._snapshot is not None:
                self._put(taken)
            self._watch("indexing its texts")
            self.index.update(run)
        self._watch("scoring")
        self._put(taken.scored())

    def _put(self, snapshot: Snapshot) -> None:
        snapshot.ready()
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify_all()
