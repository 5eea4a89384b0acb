"""What was put is committed, together with what came at the same time."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from creval.calls.journal import Ledger, Record
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.verdict import Status, Verdict
from creval.store import DATABASE, Store


def record(number: int, text: str = "Yes") -> Record:
    ask = Ask("j", EditKey("A", f"s{number}"), ("IF/1",))
    return ask, Reply(Status.ANSWERED, text), [Verdict("IF/1", Status.ANSWERED, 1.0)]


def rows(folder: Path, table: str) -> int:
    with sqlite3.connect(folder / DATABASE) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_when_put_returns_others_can_read_it(tmp_path: Path) -> None:
    async def run(store: Store) -> None:
        ledger = Ledger(store)
        for number in range(20):
            ledger.note(Edit(EditKey("A", f"s{number}")), {})
        await ledger.put([record(0)])
        assert rows(tmp_path, "verdicts") == 1
        await asyncio.gather(*(ledger.put([record(number)]) for number in range(1, 20)))
        assert rows(tmp_path, "verdicts") == 20
        ledger.note(Edit(EditKey("B", "s0")), {})
        await ledger.close()
        assert rows(tmp_path, "edits") == 21

    with Store(tmp_path) as store:
        asyncio.run(run(store))


def test_a_full_disk_is_a_sentence_and_spoils_nothing(tmp_path: Path) -> None:
    async def run(store: Store) -> None:
        ledger = Ledger(store)
        ledger.note(Edit(EditKey("A", "s0")), {})
        await ledger.put([record(0)])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(CrevalError, match="the disk is full"):
            await ledger.put([record(0, "long " * 100_000)])
        await ledger.close()

    with Store(tmp_path) as store:
        asyncio.run(run(store))
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert rows(tmp_path, "verdicts") == 1
    assert rows(tmp_path, "replies") == 1
