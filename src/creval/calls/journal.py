"""Journal of replies. Each reply is committed to the store before its call counts as done."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus, FileStamp
from creval.core.errors import CrevalError
from creval.core.verdict import Verdict
from creval.store import RunWriter
from creval.store.answer_cache import AnswerCache, CachedAnswer

_COMMIT_DELAY = 0.002  # seconds
CallRecord = tuple[CallKey, Reply, Sequence[Verdict]]


class CallJournal:
    """Writer of call records to a store, in its own thread.

    Each commit is delayed by two milliseconds, so that replies that arrive together become one commit.
    """

    def __init__(self, store: RunWriter, answer_cache: AnswerCache | None = None) -> None:
        self._store, self._answer_cache = store, answer_cache
        self._shared: list[tuple[str, Mapping[bytes, CachedAnswer]]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-ledger")
        self._edits: dict[EditKey, Edit] = {}
        self._changed_edits: set[EditKey] = set()
        self._queue: list[tuple[Sequence[CallRecord], asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    def record_edit(self, edit: Edit, judged_files: Mapping[str, FileStamp], failure: str = "") -> None:
        """Queue an edit's judged image files, or why they are unusable. They are stored at the next commit."""
        known = self._edits.get(edit.key, edit)
        known = known._replace(judged_files={**known.judged_files, **judged_files})
        if failure:
            known = known._replace(status=EditStatus.FAILED, reason=failure)
        self._edits[edit.key] = known
        self._changed_edits.add(edit.key)

    def was_made(self, call: CallKey) -> bool:
        """Return whether the store has a reply to this call, answered or failed."""
        return self._store.has_call(call)

    def share(self, judge: str, answers: Mapping[bytes, CachedAnswer]) -> None:
        """Put answers into the cache that runs share, after the next commit."""
        self._shared.append((judge, answers))

    async def append(self, records: Sequence[CallRecord]) -> None:
        """Commit records. When this returns, they are on disk even if the process is killed."""
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((records, committed))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_queue())
        await committed

    async def _write_queue(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            await asyncio.sleep(_COMMIT_DELAY)
            waiting, self._queue = self._queue, []
            changed, self._changed_edits = self._changed_edits, set()
            edits = [self._edits[key] for key in changed]
            records = [record for several, _ in waiting for record in several]
            failure: Exception | None = None
            try:
                await loop.run_in_executor(self._thread, self._commit, edits, records)
            except Exception as error:
                self._changed_edits |= changed
                failure = _to_user_error(error)
            for committed in (committed for _, committed in waiting if not committed.done()):
                if failure is not None:
                    committed.set_exception(failure)
                else:
                    committed.set_result(None)
            if self._shared and self._answer_cache is not None:
                shared, self._shared = self._shared, []
                await loop.run_in_executor(self._thread, _put_all, self._answer_cache, shared)
        self._writer = None

    def _commit(self, edits: Sequence[Edit], records: Sequence[CallRecord]) -> None:
        with self._store.transaction():
            self._store.put_edits(edits)
            self._store.put_replies(records)

    async def close(self) -> None:
        """Commit the queued edits and stop the thread."""
        if self._writer is not None:
            await self._writer
        if self._changed_edits:
            await self.append(())
        self._thread.shutdown()


def _put_all(cache: AnswerCache, answers: Sequence[tuple[str, Mapping[bytes, CachedAnswer]]]) -> None:
    by_judge: dict[str, dict[bytes, CachedAnswer]] = {}
    for judge, answered in answers:
        by_judge.setdefault(judge, {}).update(answered)
    for judge, merged in by_judge.items():
        cache.put(judge, merged)


def _to_user_error(error: Exception) -> Exception:
    if isinstance(error, sqlite3.Error | OSError):
        if "full" in str(error):
            return CrevalError(
                "the disk is full. Earlier answers are stored, the last ones are lost. "
                "Free some space, then repeat the command to resume."
            )
        return CrevalError(f"the run can no longer be written ({error}). Repeat the command.")
    return error
