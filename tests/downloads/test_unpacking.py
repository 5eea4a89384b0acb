"""Unpacking of hostile zip files."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.downloads.unpacking import unpack
from tests.downloads.servers import sha256, zipped


def unpacked(archive: Path, folder: Path, max_bytes: int = 10**6) -> list[str]:
    return [file.path for file in unpack(archive, folder, lambda name: name, max_bytes=max_bytes)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "C:\\evil", "a/./b", ".hidden", "a\x07"])
def test_nothing_is_written_outside_and_nothing_before_all_names_are_checked(folder: Path, name: str) -> None:
    archive = folder.parent / "a.zip"
    archive.write_bytes(zipped({"good.txt": b"good", name: b"evil"}))
    with pytest.raises(CrevalError, match="a file of the release"):
        unpacked(archive, folder)
    assert list(folder.rglob("*")) == []
    assert not (folder.parent / "evil").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(folder: Path, kind: int) -> None:
    archive = folder.parent / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (kind | 0o777) << 16
        made.writestr(entry, "/etc/passwd")
    with pytest.raises(CrevalError, match="a link or a device"):
        unpacked(archive, folder)


def test_sizes_have_a_limit(folder: Path) -> None:
    archive = folder.parent / "a.zip"
    archive.write_bytes(zipped({"a": b"0" * 600_000, "b": b"0" * 600_000}))
    with pytest.raises(CrevalError, match="unpacks to more than"):
        unpacked(archive, folder)
    assert list(folder.iterdir()) == []


def test_a_member_that_is_larger_than_stated_is_refused(folder: Path) -> None:
    """The size in the directory of the archive is 3, and the content has 600,000 bytes."""
    archive = folder.parent / "a.zip"
    content = zipped({"bomb": b"0" * 600_000})
    size = (600_000).to_bytes(4, "little")
    archive.write_bytes(content.replace(size, (3).to_bytes(4, "little")))
    with pytest.raises(CrevalError):
        unpacked(archive, folder)
    assert list(folder.iterdir()) == []


def test_names_that_occur_twice_are_refused(folder: Path) -> None:
    archive = folder.parent / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("a", "2")
    with pytest.raises(CrevalError, match="twice"):
        unpacked(archive, folder)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 not a zip", zipped({"a": b"0" * 1000})[:-30]], ids=["empty", "other", "cut"]
)
def test_a_damaged_archive_is_an_error(folder: Path, content: bytes) -> None:
    archive = folder.parent / "a.zip"
    archive.write_bytes(content)
    with pytest.raises(CrevalError, match=r"a\.zip is not a zip file"):
        unpacked(archive, folder)


def test_damaged_content_is_an_error_and_leaves_nothing(folder: Path) -> None:
    archive = folder.parent / "a.zip"
    content = bytearray(zipped({"a": bytes(range(256)) * 100}))
    content[60] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(CrevalError):
        unpacked(archive, folder)
    assert list(folder.iterdir()) == []


def test_existing_files_are_kept(folder: Path) -> None:
    archive = folder.parent / "a.zip"
    archive.write_bytes(zipped({"a": b"1", "b/c": b"2"}))
    (found, _) = unpack(archive, folder, lambda name: name)
    assert (found.path, found.size, found.sha256) == ("a", 1, sha256(b"1"))
    assert unpacked(archive, folder) == ["a", "b/c"]
    (folder / "a").write_text("mine")
    with pytest.raises(CrevalError, match="exists with different content"):
        unpacked(archive, folder)
    assert (folder / "a").read_text() == "mine"
