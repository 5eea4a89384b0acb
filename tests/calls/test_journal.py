"""Records are committed together with others that arrive at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from creval.calls.journal import CallJournal, CallRecord
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import DATABASE, RunWriter
from tests.databases import edit_database


def record(number: int, text: str = "Yes") -> CallRecord:
    ask = CallKey("j", EditKey("A", f"s{number}"), ("IF/1",))
    return ask, Reply(VerdictStatus.ANSWERED, text), [Verdict("IF/1", VerdictStatus.ANSWERED, 1.0)]


def rows(folder: Path, table: str) -> int:
    with edit_database(folder / DATABASE) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_when_put_returns_others_can_read_it(tmp_path: Path) -> None:
    async def run(store: RunWriter) -> None:
        ledger = CallJournal(store)
        for number in range(20):
            ledger.record_edit(Edit(EditKey("A", f"s{number}")), {})
        await ledger.append([record(0)])
        assert rows(tmp_path, "verdicts") == 1
        await asyncio.gather(*(ledger.append([record(number)]) for number in range(1, 20)))
        assert rows(tmp_path, "verdicts") == 20
        ledger.record_edit(Edit(EditKey("B", "s0")), {})
        await ledger.close()
        assert rows(tmp_path, "edits") == 21

    with RunWriter(tmp_path) as store:
        asyncio.run(run(store))


def test_a_full_disk_is_a_sentence_and_spoils_nothing(tmp_path: Path) -> None:
    async def run(store: RunWriter) -> None:
        ledger = CallJournal(store)
        ledger.record_edit(Edit(EditKey("A", "s0")), {})
        await ledger.append([record(0)])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(CrevalError, match="the disk is full"):
            await ledger.append([record(0, "long " * 100_000)])
        await ledger.close()

    with RunWriter(tmp_path) as store:
        asyncio.run(run(store))
    with edit_database(tmp_path / DATABASE) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert rows(tmp_path, "verdicts") == 1
    assert rows(tmp_path, "replies") == 1
