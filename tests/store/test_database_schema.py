from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.store import DATABASE, RunWriter, database_schema, open_run


def test_a_store_of_a_newer_version_says_so(tmp_path: Path) -> None:
    RunWriter(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for opened in (open_run, RunWriter):
        with pytest.raises(CrevalError, match=r"newer creval .* version 99"):
            opened(tmp_path)


def test_other_databases_and_files_are_not_runs(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(CrevalError, match="was not created by creval"):
        open_run(tmp_path)
    (tmp_path / DATABASE).write_bytes(b"no database at all" * 100)
    with pytest.raises(CrevalError, match="is not a run"):
        open_run(tmp_path)


def test_an_older_store_is_brought_up_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunWriter(tmp_path) as store:
        store.put_manifest({"protocol": "creval"})
    step = "ALTER TABLE edits ADD COLUMN cost REAL;"
    monkeypatch.setattr(database_schema, "MIGRATIONS", (*database_schema.MIGRATIONS, step))
    with open_run(tmp_path) as run:
        assert run.manifest == {"protocol": "creval"}
    connection = sqlite3.connect(tmp_path / DATABASE)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert "cost" in [row[1] for row in connection.execute("PRAGMA table_info(edits)")]
    connection.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    RunWriter(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    steps = (*database_schema.MIGRATIONS, "CREATE TABLE extra (a); CREATE TABLE edits (a);")
    with pytest.raises(sqlite3.Error):
        database_schema.migrate(connection, 1, steps)
    assert database_schema.read_version(connection, tmp_path) == 1
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
    assert "extra" not in names
    connection.close()
