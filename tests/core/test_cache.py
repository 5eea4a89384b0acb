"""Cached folders with data derived from files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from creval.core.cache import CACHE_ENV, cache_folder, cached_folder
from creval.core.errors import CrevalError


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_ENV, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_made_once_for_each_state_of_its_files(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("a")
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "copy").write_text(source.read_text())

    first = cached_folder("copies", [source], make)
    assert cached_folder("copies", [source], make) == first
    assert len(made) == 1
    source.write_text("bc")
    second = cached_folder("copies", [source], make)
    assert (second / "copy").read_text() == "bc"
    assert second != first
    assert {entry.name for entry in first.parent.iterdir()} == {first.name, second.name}


def test_a_failed_creation_leaves_no_files(tmp_path: Path, own: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        cached_folder("copies", [tmp_path], fail)
    assert list((own / "copies").iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path, own: Path) -> None:
    own.write_text("a file")
    with pytest.raises(CrevalError, match=CACHE_ENV):
        cached_folder("copies", [tmp_path], lambda _: None)


def test_without_the_variable_it_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_ENV)
    monkeypatch.setenv("XDG_CACHE_HOME", os.sep + "somewhere")
    assert cache_folder() == Path(os.sep, "somewhere", "creval")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "creval"


def test_another_process_that_is_quicker(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("")
    made: list[Path] = []

    def make(folder: Path) -> None:
        (folder / "mine").write_text("")
        if not made:
            made.append(folder)
            cached_folder("copies", [source], make)

    found = cached_folder("copies", [source], make)
    assert (found / "mine").exists()
    assert [entry.name for entry in found.parent.iterdir()] == [found.name]
