"""Safe connections to SQLite files from untrusted sources."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError

_SUPER_JOURNAL_END = bytes.fromhex("d9d505f920a163d7")
_FILES_BESIDE = ("-journal", "-wal", "-shm")
_MAX_VALUE_BYTES = 1 << 26  # per value; SQLite itself allows a gigabyte
_STEPS_PER_CHECK = 100_000
_MIN_STEPS = 3_000_000
_STEPS_PER_BYTE = 20


class UnusableDatabaseError(CrevalError):
    """A database is damaged, or unsafe to open."""


def connect(path: Path, mode: str = "rwc", *, immutable: bool = False, **options: Any) -> StoreConnection:
    """Open a database with the mode `ro`, `rw`, or `rwc` (create if missing).

    `options` are passed to `sqlite3.connect`. Raises `UnusableDatabaseError` if opening could write to, wait for or
    delete a file elsewhere.
    """
    whole = Path(os.path.realpath(path))
    try:
        _check_files(path, whole, may_be_link=mode == "ro")
    except OSError as error:
        raise UnusableDatabaseError(f"{path} cannot be opened: {error.strerror}.") from error
    uri = f"{whole.as_uri()}?mode={mode}{'&immutable=1' * immutable}"
    connection = sqlite3.connect(uri, uri=True, factory=StoreConnection, **options)
    try:
        if hasattr(connection, "setlimit"):  # from Python 3.11 on
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_files(path: Path, whole: Path, *, may_be_link: bool) -> None:
    """Refuse unsafe files: links, special files, and journals with a super-journal.

    SQLite deletes the file that a super-journal names. Hard links are refused for two reasons. creval would also change
    the file at the other place. And a journal could be a hard link to the database itself: it would pass the check for
    a super-journal, and name one only after a rollback.
    """
    if path.is_symlink() and not may_be_link:
        raise UnusableDatabaseError(
            f"{path} is a symbolic link, and creval does not write through links. Replace it by the file itself."
        )
    if whole.exists() and not whole.is_file():
        raise UnusableDatabaseError(f"{path} is not a regular file. Delete it, or give another folder.")
    if not may_be_link:
        _refuse_second_name(whole)
    for beside in (whole.with_name(f"{whole.name}{end}") for end in _FILES_BESIDE):
        if os.path.lexists(beside) and not stat.S_ISREG(beside.lstat().st_mode):
            raise UnusableDatabaseError(f"{beside} is not a regular file. Delete it, or do not use this folder.")
        _refuse_second_name(beside)
    if _names_another_file(whole.with_name(f"{whole.name}-journal")):
        raise UnusableDatabaseError(
            f"{whole}-journal refers to another file, which opening the database would delete. creval writes no such "
            "journal: do not use this folder, or delete the journal."
        )


def _refuse_second_name(path: Path) -> None:
    if path.exists() and path.lstat().st_nlink > 1:
        raise UnusableDatabaseError(
            f"{path} has a second name (hard link), so creval would change that file, too. Copy the folder, and use "
            "the copy."
        )


def _names_another_file(journal: Path) -> bool:
    """Return whether a rollback journal ends with a super-journal record."""
    try:
        with journal.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - len(_SUPER_JOURNAL_END)))
            return file.read() == _SUPER_JOURNAL_END
    except FileNotFoundError:
        return False


class StoreConnection(sqlite3.Connection):
    """A connection that can limit the steps of a statement.

    In a crafted file, pages can refer to each other in a circle, so that a table of a few kilobytes has endless rows.
    """

    _steps: _StepLimit | None = None

    def limit_steps(self, path: Path) -> None:
        """Interrupt statements that take more steps than a file of this size can need."""
        self._steps = _StepLimit(path)
        self.set_progress_handler(self._steps.check, _STEPS_PER_CHECK)

    def unlimit_steps(self) -> None:
        self.set_progress_handler(None, 0)

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        if self._steps is not None:
            self._steps.taken = 0
        try:
            return super().execute(*statement)
        except UnicodeDecodeError as error:  # from SQLite's message, which quotes the schema
            raise sqlite3.DatabaseError("its schema is not valid UTF-8") from error


class _StepLimit:
    """Counter of the steps since the most recent statement began."""

    def __init__(self, path: Path) -> None:
        self.taken = 0
        self._files = [path, path.with_name(f"{path.name}-wal")]

    def check(self) -> bool:
        """Return whether to interrupt the statement."""
        self.taken += _STEPS_PER_CHECK
        if self.taken < _MIN_STEPS:
            return False
        size = sum(file.stat().st_size for file in self._files if file.exists())
        return self.taken > _MIN_STEPS + _STEPS_PER_BYTE * size
