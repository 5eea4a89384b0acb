"""The newest snapshot of a run that may still be growing.

A background thread reads the run. A page asks the thread to check for changes, waits for a moment, and takes the newest
snapshot. So a page never waits for scores.
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

_DEFAULT_WAIT = 0.05  # seconds that a page waits for a new snapshot
StatusCallback = Callable[[str], None]
"""Called with the name of the current step, such as "scoring"."""


class LiveSnapshot:
    """The newest snapshot of the run in a folder, and its search index."""

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
        """Return the newest snapshot, after waiting up to `timeout` seconds for changes of the run.

        By default, it waits for a moment, but not at all while the background thread is already taking a snapshot.
        """
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
        """Error of the last attempt to read the run, or ""."""
        return "" if self._error is None else str(self._error)

    def _run_thread(self) -> None:
        run = None
        try:
            run = RunLookup(self.folder, labels=True)
            seen = run.data_version()
            self._refresh()
        except Exception as error:
            if run is not None:
                run.close()
            self._error = error
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            return
        self._mark_served(0)
        while (request := self._wait_for_request()) is not None:
            began = time.monotonic()
            try:
                now = run.data_version()
                if now[1:] != seen[1:]:  # the run was replaced by another file
                    run.close()
                    run = RunLookup(self.folder, labels=True)
                    now = run.data_version()
                    self.index.clear()
                if now != seen:
                    self._busy = True
                    self._refresh()
                    seen = now
            except Exception as error:  # the run is being replaced or was deleted; keep the last snapshot
                self._error = error
            else:
                self._error = None
            self._mark_served(request)
            if self._busy:
                self._cool_down(time.monotonic() - began)
        run.close()

    def _cool_down(self, seconds: float) -> None:
        """Pause for twice the time that the last update took, so that pages get the CPU."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, 2 * seconds)
            self._busy = False

    def _wait_for_request(self) -> int | None:
        """Wait for a request and return its number. Returns None after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._requests > self._served or self._closed)
            return None if self._closed else self._requests

    def _mark_served(self, request: int) -> None:
        with self._changed:
            self._served = max(request, 1)
            self._requests = max(self._requests, 1)
            self._changed.notify_all()

    def _refresh(self) -> None:
        """Take a snapshot, then update the search index and the scores."""
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
