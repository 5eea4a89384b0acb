"""Concurrent builds and reviews of one folder: no change is lost."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.creval.builder import CrevalBuilder
from creval.building.creval.builder import CrevalBuildOptions as CrevalWish
from creval.building.review.base import ACCEPTED, DROPPED
from creval.building.review.loader import open_review
from creval.calls.settings import Settings
from creval.core import files
from creval.store import lock
from creval.store.lock import StoreBusy, StoreNotWritableError, file_lock
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated, complex_edit, complexbench, draw_images
from tests.building.ice.made import building, draw_task
from tests.building.made import drawn
from tests.serving import serving


def creval(folder: Path, url: str, again: bool = False) -> None:
    drawn(folder / "pictures", "cat", "dog", *["eel"] * again)
    roles = dict.fromkeys(("writer", "asker", "checker"), f"openai:w@{url}/v1")
    settings = Settings(retries=4)
    CrevalBuilder(folder / "pictures", folder / "bench", roles, CrevalWish(), settings).run()


def ice(folder: Path, url: str, again: bool = False) -> None:
    for name in ("a", "b", *["c"] * again):
        draw_task(folder / "pictures", TASKS["Color Editing"], name)
    building(folder / "pictures", folder / "bench", url).run()


def chains(folder: Path, url: str, again: bool = False) -> None:
    if not again:
        annotated(folder, FITTING[:2])
    levels = ("three-chain", *["parallel"] * again)
    complexbench(folder, folder / "bench", url, levels=levels).run()


def rows(folder: Path, url: str) -> None:
    draw_images(folder / "pictures", 1)
    complex_edit(folder / "pictures", folder / "bench", url, steps=2, retries=4).run()


@pytest.fixture
def url() -> Iterator[str]:
    with serving(FakeServer(seed=3).app()) as address:
        yield address


@contextmanager
def meanwhile(act: Callable[[], object], *names: str) -> Iterator[None]:
    """Run `act` in a thread when a file (or one with these names) is first written, then let the write continue."""
    write, threads = files.atomic_path, list[Thread]()

    def held(path: Path) -> AbstractContextManager[Path]:
        if not threads and (not names or path.name in names):
            threads.append(Thread(target=act))
            threads[0].start()
            threads[0].join(0.5)
        return write(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "atomic_path", held)
        yield
        threads[0].join()


@pytest.mark.parametrize("make", [creval, ice, chains, rows])
def test_two_reviews_keep_both_decisions(make: Callable[[Path, str], None], url: str, tmp_path: Path) -> None:
    make(tmp_path, url)
    one, two = open_review(tmp_path / "bench"), open_review(tmp_path / "bench")
    items = [(group, item.id) for group in one.groups() for item in one.group(group).items]
    first, last = items[0], next(item for item in reversed(items) if item[1] == items[0][1])
    last = items[-1] if last == first else last  # in the same file
    left = one.count_undecided()
    with meanwhile(lambda: two.decide(*last, ACCEPTED, {})):
        one.decide(*first, ACCEPTED, {})
    for review in (one, two, open_review(tmp_path / "bench")):
        assert review.count_undecided() == left - 2


@pytest.mark.parametrize(
    ("make", "name"), [(creval, "instruction.json"), (ice, "data.jsonl"), (chains, "final_update_v2.json")]
)
@pytest.mark.parametrize("last", [False, True], ids=["pictures first", "texts at last"])
def test_decisions_during_a_build_are_stored(
    make: Callable[[Path, str, bool], None], name: str, last: bool, url: str, tmp_path: Path
) -> None:
    make(tmp_path, url, False)
    review = open_review(tmp_path / "bench")
    group, before = review.groups()[-1], len(review.groups())
    item = review.group(group).items[0].id
    with meanwhile(lambda: review.decide(group, item, DROPPED, {}), *[name] * last):
        make(tmp_path, url, True)
    again = open_review(tmp_path / "bench")
    assert len(again.groups()) > before, "the built items exist"
    assert again.group(group).items[0].verdict == DROPPED


def test_a_turn_is_waited_for_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, said = Event(), list[str]()

    def hold() -> None:
        with file_lock(tmp_path):
            inside.set()
            time.sleep(0.4)
            said.append("first")

    other = Thread(target=hold)
    other.start()
    inside.wait()
    with file_lock(tmp_path):
        said.append("second")
    assert said == ["first", "second"]
    monkeypatch.setattr(lock, "_LOCK_TIMEOUT", 0.1)
    refused = pytest.raises(StoreBusy, match="another creval process is writing")
    with file_lock(tmp_path), refused, file_lock(tmp_path):
        pass
    with file_lock(tmp_path):
        pass


def test_a_turn_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritableError, match="cannot be written"), file_lock(tmp_path / "none"):
        pass
    with pytest.raises(sqlite3.Error), file_lock(tmp_path):
        raise sqlite3.Error("what goes wrong inside stays what it is")
