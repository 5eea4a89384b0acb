from __future__ import annotations

import errno
import gc
import os
import time
from pathlib import Path

import pytest

from creval.core.files import (
    atomic_copy,
    atomic_write,
    file_signature,
    gc_paused,
    is_file,
    list_files,
    open_file,
    read_bytes,
    read_text,
    write_json,
)
from tests.hostile_images import write_socket


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 300_000])
def test_the_whole_file_is_read(tmp_path: Path, size: int) -> None:
    content = bytes(n % 251 for n in range(size))
    (tmp_path / "a").write_bytes(content)
    assert read_bytes(tmp_path / "a") == content


def test_short_reads_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network drives return short reads."""
    content = bytes(n % 251 for n in range(1_000_000))
    (tmp_path / "a").write_bytes(content)
    read, sizes = os.read, []

    def short(descriptor: int, size: int) -> bytes:
        sizes.append(size)
        return read(descriptor, min(size, 50_000))

    monkeypatch.setattr(os, "read", short)
    assert read_bytes(tmp_path / "a") == content
    assert len(sizes) <= 1_000_000 / 50_000 + 2


def test_unreadable_files_raise_os_errors(tmp_path: Path) -> None:
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
    assert (tmp_path / "new" / "b").read_bytes() == b"\x00\xff", "the old file remains"
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["b"]


def test_json_that_people_can_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_json(path, {"says": "Grüße\ud800", "of": [1]})
    assert path.read_bytes().decode() == '{\n  "says": "Grüße?",\n  "of": [\n    1\n  ]\n}\n'


def test_only_regular_files_of_a_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert read_bytes(tmp_path / "a", 100) == b"x" * 100
    os.mkfifo(tmp_path / "pipe")
    write_socket(tmp_path / "socket")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        "a": "larger than 99 bytes, the limit",
        "pipe": "it is a pipe, not a file",
        "socket": "it is a socket or a device, not a file",
        "zero": "it is a device, not a file",
        "loop": "symbolic links",
    }
    for name, reason in cases.items():
        for read in (read_bytes, open_file):
            with pytest.raises(OSError, match=reason) as caught:
                read(tmp_path / name, 99)
            assert caught.value.filename == str(tmp_path / name)


def test_a_file_that_grows_while_it_is_read_stays_within_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    monkeypatch.setattr(os, "read", lambda _, size: b"x" * size)
    with pytest.raises(OSError, match="larger than 1 MB"):
        read_bytes(tmp_path / "a", 1 << 20)


def test_text_has_the_line_ends_of_python(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert read_text(tmp_path / "a", "utf-8-sig") == "a\nb\n"


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800", ""])
def test_a_name_that_no_file_can_have_is_no_file(tmp_path: Path, name: str) -> None:
    assert not is_file(f"{tmp_path}/{name}")
    assert not is_file(None)


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left on device") as raised:
        atomic_write(tmp_path / "image.png", b"content")
    assert raised.value.filename == str(tmp_path / "image.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="st_ctime is the time of creation on Windows")
def test_a_file_that_only_its_change_time_betrays_has_another_signature(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text("yes")
    before, status = file_signature(path), path.stat()
    time.sleep(0.02)
    path.write_text("not")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file_signature(path) != before
