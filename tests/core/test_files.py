from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from creval.core.files import atomic_copy, atomic_write, gc_paused, list_files, read_bytes, write_json


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 300_000])
def test_the_whole_file_is_read(tmp_path: Path, size: int) -> None:
    content = bytes(n % 251 for n in range(size))
    (tmp_path / "a").write_bytes(content)
    assert read_bytes(tmp_path / "a") == content


def test_a_file_that_comes_in_short_pieces_is_read_in_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As some network drives bring it."""
    content = bytes(n % 251 for n in range(1_000_000))
    (tmp_path / "a").write_bytes(content)
    read, sizes = os.read, []

    def short(descriptor: int, size: int) -> bytes:
        sizes.append(size)
        return read(descriptor, min(size, 50_000))

    monkeypatch.setattr(os, "read", short)
    assert read_bytes(tmp_path / "a") == content
    assert len(sizes) <= 1_000_000 / 50_000 + 2


def test_what_cannot_be_read_raises_as_open_does(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "a")
    with pytest.raises(OSError, match=r"."):
        read_bytes(tmp_path)


def test_the_collector_is_back_afterwards() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        _ = 1 / 0
    assert gc.isenabled()


def test_files_below_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("a.png", ".b.png", "c/d.png", ".old/e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert list_files(tmp_path) == ["a.png", "c/d.png"]


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    assert atomic_write(path, "ü") == 2
    assert path.read_text(encoding="utf-8") == "ü"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        atomic_write(tmp_path / "folder", "x")
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["folder", "new"]


def test_a_copy_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00\xff")
    atomic_copy(tmp_path / "a", tmp_path / "new" / "b")
    assert (tmp_path / "new" / "b").read_bytes() == b"\x00\xff"
    with pytest.raises(FileNotFoundError):
        atomic_copy(tmp_path / "none", tmp_path / "new" / "b")
    assert (tmp_path / "new" / "b").read_bytes() == b"\x00\xff", "what was there stays"
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["b"]


def test_json_that_people_can_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_json(path, {"says": "Grüße\ud800", "of": [1]})
    assert path.read_bytes().decode() == '{\n  "says": "Grüße?",\n  "of": [\n    1\n  ]\n}\n'
