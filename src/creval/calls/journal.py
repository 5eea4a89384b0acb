"""Keeping what comes back while asking goes on: committed first, and only then done."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey, EditStatus, Stamp
from creval.core.errors import CrevalError
from creval.core.verdict import Verdict
from creval.store import Store

_COMPANY = 0.002  # seconds
Record = tuple[Ask, Reply, Sequence[Verdict]]


class Ledger:
    """Writes records to a store in a thread of its own, those that come together in one commit.

    A commit waits two milliseconds for company, which costs a call nothing that could be noticed,
    and makes one commit of what a burst of replies brings.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-ledger")
        self._edits: dict[EditKey, Edit] = {}
        self._open: set[EditKey] = set()
        self._waiting: list[tuple[Sequence[Record], asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    def note(self, edit: Edit, seen: Mapping[str, Stamp], broken: str = "") -> None:
        """Keep, with the next records, which pictures of an edit were looked at, or what is wrong
        with them. What others noted about it before stays."""
        known = self._edits.get(edit.key, edit)
        known = known._replace(seen={**known.seen, **seen})
        if broken:
            known = known._replace(status=EditStatus.FAILED, reason=broken)
        self._edits[edit.key] = known
        self._open.add(edit.key)

    async def put(self, records: Sequence[Record]) -> None:
        """Keep records; when this returns, they outlive a kill."""
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((records, kept))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await kept

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(_COMPANY)
            waiting, self._waiting = self._waiting, []
            open_, self._open = self._open, set()
            edits = [self._edits[key] for key in open_]
            records = [record for several, _ in waiting for record in several]
            try:
                await loop.run_in_executor(self._thread, self._commit, edits, records)
            except Exception as error:
                self._open |= open_
                for _, kept in waiting:
                    if not kept.done():
                        kept.set_exception(_in_words(error))
            else:
                for _, kept in waiting:
                    if not kept.done():
                        kept.set_result(None)
        self._writing = None

    def _commit(self, edits: Sequence[Edit], records: Sequence[Record]) -> None:
        with self._store.transaction():
            self._store.put_edits(edits)
            self._store.put_replies(records)

    async def close(self) -> None:
        """Keep what is still noted, and end the thread."""
        if self._writing is not None:
            await self._writing
        if self._open:
            await self.put(())
        self._thread.shutdown()


def _in_words(error: Exception) -> Exception:
    if isinstance(error, sqlite3.Error | OSError):
        if "full" in str(error):
            return CrevalError(
                "the disk is full: what was answered before is kept, the last answers could not "
                "be. Make room, then repeat the command to go on."
            )
        return CrevalError(f"the run can no longer be written ({error}). Repeat the command.")
    return error
