"""The newest snapshot of a run that may still be going, taken beside the pages.

One thread reads the run. Whoever wants the snapshot asks it to look whether the run has changed,
waits a moment, and takes what is there: a page never waits for scores.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from creval.analysis.scoring_options import ViewOptions
from creval.store.lookup import RunLookup
from creval.web.viewer.search_index import TextIndex
from creval.web.viewer.snapshot import Snapshot, take_snapshot

_DEFAULT_WAIT = 0.05  # seconds that a page waits for news
StatusCallback = Callable[[str], None]
"""Told what is being done."""


class LiveSnapshot:
    """The newest snapshot of the run in a folder, and the index of its texts."""

    def __init__(
        self, folder: Path, watch: StatusCallback = lambda _: None, scoring: ViewOptions | None = None
    ) -> None:
        self.folder, self._scoring = folder, scoring or {}
        self.index = TextIndex()
        self._changed = threading.Condition()
        self._requests, self._served, self._closed, self._busy = 0, 0, False, False
        self._snapshot: Snapshot | None = None
        self._error: Exception | None = None
        self._watch = watch
        self._thread = threading.Thread(target=self._run_thread, name="creval run", daemon=True)
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._served or self._closed)
        self._watch = lambda _: None
        if self._error is not None:
            self._thread.join()
            raise self._error

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def get(self, timeout: float | None = None) -> Snapshot:
        """The snapshot after at most this many seconds: a moment, or none while it is being taken anew."""
        with self._changed:
            self._requests += 1
            mine = self._requests
            self._changed.notify_all()
            if timeout is None:
                timeout = 0.0 if self._busy else _DEFAULT_WAIT
            self._changed.wait_for(lambda: self._served >= mine or self._closed, timeout)
            if self._snapshot is None:
                raise self._error or RuntimeError("the run was never read")
            return self._snapshot

    @property
    def problem(self) -> str:
        """Why the run could not be read the last time, if so."""
        return "" if self._error is None else str(self._error)

    def _run_thread(self) -> None:
        eye = None
        try:
            eye = RunLookup(self.folder, labels=True)
            seen = eye.data_version()
            self._refresh()
        except Exception as error:
            if eye is not None:
                eye.close()
            self._error = error
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            return
        self._mark_served(0)
        while (asked := self._wait_for_request()) is not None:
            began = time.monotonic()
            try:
                now = eye.data_version()
                if now[1:] != seen[1:]:  # the run was made anew, in another file
                    eye.close()
                    eye = RunLookup(self.folder, labels=True)
                    now = eye.data_version()
                    self.index.clear()
                if now != seen:
                    self._busy = True
                    self._refresh()
                    seen = now
            except Exception as error:  # the run is being replaced, or is gone: what is there stays
                self._error = error
            else:
                self._error = None
            self._mark_served(asked)
            if self._busy:
                self._cool_down(time.monotonic() - began)
        eye.close()

    def _cool_down(self, seconds: float) -> None:
        """Leave the machine to the pages for as long as reading has taken, and once more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, 2 * seconds)
            self._busy = False

    def _wait_for_request(self) -> int | None:
        """Wait until somebody asks; how many have asked, or none where it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._requests > self._served or self._closed)
            return None if self._closed else self._requests

    def _mark_served(self, request: int) -> None:
        with self._changed:
            self._served = max(request, 1)
            self._requests = max(self._requests, 1)
            self._changed.notify_all()

    def _refresh(self) -> None:
        """Take a snapshot, then bring the index and the scores up to date."""
        with RunLookup(self.folder, labels=True) as run:
            self._watch("reading the run")
            taken = take_snapshot(run, self._snapshot, self._scoring)
            if self._snapshot is not None:
                self._publish(taken)
            self._watch("indexing its texts")
            self.index.update(run, taken.models, taken.samples)
            self._watch("scoring")
            self._publish(taken.with_scores())

    def _publish(self, snapshot: Snapshot) -> None:
        snapshot.precompute()
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify_all()
