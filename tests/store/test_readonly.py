from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.verdict import VerdictStatus
from creval.store import DATABASE, RunWriter, read_stored_texts


def ask(role: str, item: str, text: str, again: int = 0) -> CallKey:
    return CallKey("judge", EditKey(role, item), ("plan",), "plan@1", (), {"text": text}, again)


def test_texts_are_counted_once_each(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_manifest({"system": "creval"})
        store.put_edits(Edit(EditKey(role, "a")) for role in ("writer", "asker"))
        said = Reply(VerdictStatus.ANSWERED, "words", "judge", 1)
        store.put_replies(
            [
                (ask("writer", "a", "x"), said, ()),
                (ask("writer", "a", "x"), said, ()),
                (ask("writer", "a", "x", 1), said, ()),
                (ask("asker", "a", "x"), Reply(VerdictStatus.REFUSED, "no", "judge", 1), ()),
                (ask("asker", "a", "y"), Reply(VerdictStatus.ANSWERED, "", "judge", 1), ()),
            ]
        )
    with RunWriter(tmp_path):
        held = read_stored_texts(tmp_path)
    assert held.manifest == {"system": "creval"}
    assert held.texts == {("judge", "writer", "a"): 2}


def test_reading_a_missing_folder_creates_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    assert read_stored_texts(folder) == ({}, {})
    assert not folder.exists()
    folder.mkdir()
    (folder / DATABASE).touch()
    assert read_stored_texts(folder) == ({}, {})
    (folder / DATABASE).write_bytes(b"no database" * 100)
    with pytest.raises(CrevalError, match="is not a run"):
        read_stored_texts(folder)
