"""Untrusted databases: opening one changes no other file, and takes bounded time and memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from creval.core.errors import CrevalError
from creval.store import DATABASE, RunWriter, open_run, read_stored_texts
from creval.store.connection import UnusableDatabaseError
from creval.store.feature_cache_file import CACHE_FILE, FeatureCacheFile
from creval.store.lock import file_lock
from creval.store.lookup import RunLookup
from creval.store.provenance import read_call_costs

pytestmark = pytest.mark.attack


def write_hot_journal(database: Path) -> Path:
    """Leave a journal and a half-written file, as a killed writer does."""
    work = database.with_name("work.db")
    shutil.copy(database, work)
    with contextlib.closing(sqlite3.connect(work, isolation_level=None)) as writing:
        writing.execute("PRAGMA journal_mode = DELETE")
        writing.execute("PRAGMA cache_size = 1")
        writing.execute("BEGIN")
        writing.execute("CREATE TABLE filler (content)")
        writing.executemany("INSERT INTO filler VALUES (?)", [("x" * 900,)] * 2000)
        shutil.copy(work, database)
        journal = database.with_name(f"{database.name}-journal")
        shutil.copy(work.with_name("work.db-journal"), journal)
    work.unlink()
    return journal


def add_super_journal(journal: Path, name: Path) -> None:
    """Append a super-journal record, with which a journal names the journal of a transaction over several files."""
    path = os.fsencode(name)
    with journal.open("ab") as file:
        file.write(struct.pack(">I", 2**30 // 4096 + 1) + path)
        file.write(struct.pack(">II", len(path), sum(path)) + bytes.fromhex("d9d505f920a163d7"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with RunWriter(folder) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
    return folder


READERS: list[Callable[[Path], object]] = [open_run, RunLookup, RunWriter, read_stored_texts, read_call_costs]


def test_sqlite_itself_deletes_what_a_journal_names(run: Path, tmp_path: Path) -> None:
    """Show that the attack works without the check, so that the other tests are meaningful."""
    (tmp_path / "thesis.tex").write_text("years of work")
    add_super_journal(write_hot_journal(run / DATABASE), tmp_path / "thesis.tex")
    with contextlib.closing(sqlite3.connect(run / DATABASE)) as opened:
        opened.execute("SELECT count(*) FROM manifest")
    assert not (tmp_path / "thesis.tex").exists()


def write_journal_that_is_the_database(database: Path, name: Path) -> None:
    """Make a database and its journal one file, which names another file only after the rollback."""
    content = database.read_bytes()
    (size,) = struct.unpack(">H", content[16:18])
    add_super_journal(database.with_name("record"), name)
    record = database.with_name("record").read_bytes()
    pages = [content[at : at + size] for at in range(0, len(content), size)] + [record.rjust(size, b"\0")]
    journal = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", len(pages), 0, len(pages), 512, size)
    journal = journal.ljust(512, b"\0")
    for number in range(len(pages), 0, -1):  # the first page comes last, because it replaces this header
        page = pages[number - 1]
        checksum = sum(page[at] for at in range(size - 200, 0, -200))
        journal += struct.pack(">I", number) + page + struct.pack(">I", checksum)
    database.unlink()
    database.write_bytes(journal)
    os.link(database, database.with_name(f"{database.name}-journal"))


@pytest.mark.parametrize("opened", READERS)
def test_a_journal_that_is_the_database_deletes_nothing(
    opened: Callable[[Path], object], run: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    write_journal_that_is_the_database(run / DATABASE, tmp_path / "thesis.tex")
    with pytest.raises(UnusableDatabaseError, match=r"has a second name \(hard link\)"):
        opened(run)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_run_whose_database_has_a_second_name_is_read_and_not_written(run: Path, tmp_path: Path) -> None:
    """`cp -al` creates hard links: a writer would change the copy as well."""
    os.link(run / DATABASE, tmp_path / "backup.db")
    with open_run(run) as opened:
        assert opened.manifest["judge"] == "j"
    with pytest.raises(UnusableDatabaseError, match="Copy the folder, and use the copy"):
        RunWriter(run)


@pytest.mark.parametrize("opened", READERS)
def test_a_journal_that_names_another_file_is_refused(
    opened: Callable[[Path], object], run: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    add_super_journal(write_hot_journal(run / DATABASE), tmp_path / "thesis.tex")
    before = (run / DATABASE).read_bytes()
    with pytest.raises(UnusableDatabaseError, match="refers to another file, which opening the database would delete"):
        opened(run)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert (run / DATABASE).read_bytes() == before


def test_locks_and_caches_do_not_follow_such_a_journal_either(run: Path, tmp_path: Path) -> None:
    for name in ("creval.lock", "creval.lock-files", CACHE_FILE):
        with contextlib.closing(sqlite3.connect(run / name)) as made:
            made.execute("CREATE TABLE t (a)")
        (tmp_path / "thesis.tex").write_text("years of work")
        add_super_journal(write_hot_journal(run / name), tmp_path / "thesis.tex")
    with pytest.raises(UnusableDatabaseError, match=r"creval\.lock-journal refers to"):
        RunWriter(run)
    with pytest.raises(UnusableDatabaseError, match=r"creval\.lock-files-journal refers to"), file_lock(run):
        pass
    vectors = FeatureCacheFile(run)
    assert vectors.get("m", ["a"]) == {}
    vectors.put("m", {"a": np.ones(2)})
    vectors.close()
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("opened", [open_run, RunWriter])
def test_a_transaction_that_was_killed_is_still_rolled_back(opened: Callable[[Path], object], run: Path) -> None:
    with contextlib.closing(sqlite3.connect(run / DATABASE)) as made:
        made.execute("PRAGMA journal_mode = DELETE")
    journal = write_hot_journal(run / DATABASE)
    with contextlib.closing(opened(run)) as store:  # type: ignore[type-var]
        assert store.manifest["judge"] == "j"  # type: ignore[attr-defined]
    assert not journal.exists() or not journal.stat().st_size
    with contextlib.closing(sqlite3.connect(run / DATABASE)) as made:
        assert made.execute("SELECT 1 FROM sqlite_master WHERE name = 'filler'").fetchone() is None


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_links_and_pipes_beside_a_database_are_refused(end: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    beside = run / f"{DATABASE}{end}"
    beside.symlink_to(tmp_path / "elsewhere")
    for opened in (open_run, RunWriter):
        with pytest.raises(UnusableDatabaseError, match=f"{end} is not a regular file"):
            opened(run)
    beside.unlink()
    os.mkfifo(beside)
    with pytest.raises(UnusableDatabaseError, match=f"{end} is not a regular file"):
        open_run(run)
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_no_file_is_written_through_a_link(run: Path, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "places.sqlite")) as made:
        made.execute("CREATE TABLE mine (a)")
    before = (tmp_path / "places.sqlite").read_bytes()
    (run / CACHE_FILE).symlink_to(tmp_path / "places.sqlite")
    FeatureCacheFile(run).put("m", {"a": np.ones(2)})
    (run / DATABASE).rename(tmp_path / "moved.db")
    (run / DATABASE).symlink_to(tmp_path / "moved.db")
    with pytest.raises(UnusableDatabaseError, match="is a symbolic link, and creval does not write through links"):
        RunWriter(run)
    with open_run(run) as opened:
        assert opened.manifest["judge"] == "j", "reading through a link is safe"
    assert (tmp_path / "places.sqlite").read_bytes() == before


def execute(database: Path, script: str) -> None:
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as made:
        made.executescript(script)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "DROP TABLE manifest; CREATE VIEW manifest AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            "FROM n) SELECT i AS key, zeroblob(1000000) AS value FROM n",
            "its table manifest was changed",
        ),
        (
            "DROP TABLE subsets; CREATE TABLE subsets (name TEXT AS (hex(zeroblob(100000000))), sample TEXT)",
            "its table subsets was changed",
        ),
        (
            "DROP VIEW answers; CREATE VIEW answers AS SELECT * FROM verdicts, verdicts, verdicts",
            "its view answers was changed",
        ),
        (
            "CREATE TRIGGER more AFTER INSERT ON replies BEGIN DELETE FROM edits; END",
            "it has the trigger more, which creval did not create",
        ),
        (
            "CREATE INDEX costly ON verdicts (hex(zeroblob(100000000)))",
            "it has the index costly, which creval did not create",
        ),
        ("DROP TABLE voices", "its table voices is missing"),
        ("DROP INDEX verdicts_once", "its index verdicts_once is missing"),
        ("ALTER TABLE edits DROP COLUMN reason", "its table edits was changed"),
    ],
)
def test_only_the_tables_that_creval_made_are_read(script: str, said: str, run: Path) -> None:
    execute(run / DATABASE, script)
    for opened in (open_run, RunWriter):
        with pytest.raises(UnusableDatabaseError, match=f"is damaged: {said}"):
            opened(run)


def test_tables_and_indexes_of_users_are_kept(run: Path) -> None:
    execute(run / DATABASE, "CREATE INDEX replies_of_ask ON replies (ask); CREATE TABLE notes (a); ANALYZE")
    with open_run(run) as opened, RunWriter(run):
        assert opened.models == ()


def test_a_cache_whose_table_is_a_view_is_replaced(tmp_path: Path) -> None:
    execute(tmp_path / CACHE_FILE, "CREATE VIEW vectors AS SELECT 'm' AS model, 'a' AS key, zeroblob(9) AS content")
    vectors = FeatureCacheFile(tmp_path)
    assert vectors.get("m", ["a"]) == {}
    vectors.put("m", {"a": np.ones(2)})
    assert vectors.get("m", ["a"])["a"].tolist() == [1, 1]


def test_a_table_without_end_is_interrupted(run: Path) -> None:
    """In each page of the tree, all children are the same page: 150 ** 6 rows in eight pages."""
    size = 4096
    with contextlib.closing(sqlite3.connect(run / DATABASE)) as made:
        made.execute("PRAGMA journal_mode = DELETE")
        made.execute("INSERT INTO edits VALUES (1, 'A', 's', 0, 'done', NULL, '', '{}')")
        made.commit()
        (leaf,) = made.execute("SELECT rootpage FROM sqlite_master WHERE name = 'edits'").fetchone()
        (pages,) = made.execute("PRAGMA page_count").fetchone()
        content = bytearray((run / DATABASE).read_bytes())
    moved, child = content[(leaf - 1) * size : leaf * size], pages + 1
    content += moved
    for _ in range(6):
        cells = [struct.pack(">I", child) + b"\x01" for _ in range(150)]
        start = size - 5 * len(cells)
        header = struct.pack(">BHHHB", 5, 0, len(cells), start, 0) + struct.pack(">I", child)
        pointers = b"".join(struct.pack(">H", start + 5 * n) for n in range(len(cells)))
        page = (header + pointers).ljust(start, b"\x00") + b"".join(cells)
        content += page
        child += 1
    content[(leaf - 1) * size : leaf * size] = content[-size:]
    content[28:32] = struct.pack(">I", len(content) // size)
    (run / DATABASE).write_bytes(content)
    began = time.monotonic()
    with pytest.raises(CrevalError, match="is damaged"), open_run(run) as opened:
        opened.count_unopened_images()
    assert time.monotonic() - began < 5
