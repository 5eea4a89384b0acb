"""The cache of answers that runs share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest

import creval as library
from creval.core.errors import CrevalError
from creval.store.answer_cache import AnswerCache, CachedAnswer, answer_cache_path
from tests.commands import creval
from tests.databases import edit_database

pytestmark = pytest.mark.usefixtures("answer_cache")


def fill(judge: str, count: int, *, size: int = 100, start: int = 0) -> AnswerCache:
    cache = AnswerCache()
    cache.put(
        judge,
        {
            b"%s %d" % (judge.encode(), n): CachedAnswer("x" * size, "stop", (), 10, 2, 0.01)
            for n in range(start, start + count)
        },
    )
    return cache


def age(seconds: float) -> None:
    with edit_database(answer_cache_path()) as database:
        database.execute("UPDATE answers SET made = made - ?", (seconds,))


def test_an_answer_is_returned_completely() -> None:
    token = ("Yes", (("Yes", -0.1), ("No", -2.5)))
    kept = CachedAnswer("Jawohl “ja” \udcff", "stop", (token,), 10, None, 0.5)
    cache = AnswerCache()
    cache.put("openai:m", {b"a": kept, b"b": CachedAnswer("No", "stop")})
    cache.close()
    found = AnswerCache().get([b"a", b"b", b"c"])
    assert set(found) == {b"a", b"b"}
    assert found[b"a"].text == "Jawohl “ja” ?"
    assert found[b"a"].logprobs == [["Yes", [["Yes", -0.1], ["No", -2.5]]]]
    assert found[b"a"][3:] == (10, None, 0.5)


def test_the_command_shows_and_prunes() -> None:
    assert "No answers are cached yet" in creval("cache").stdout
    fill("openai:old", 3)
    age(40 * 86400)
    fill("openai:new", 2)
    shown = json.loads(creval("cache", "--json").stdout)
    assert [(one["judge"], one["answers"]) for one in shown["judges"]] == [("openai:old", 3), ("openai:new", 2)]
    assert shown["judges"][0]["cost"] == pytest.approx(0.03)
    assert "5 answers" in creval("cache").stdout
    assert json.loads(creval("cache", "prune", "--older-than", "30d", "--json").stdout)["deleted"] == 3
    assert creval("cache", "prune", "--judge", "openai:new@http://anywhere:8000/v1").returncode == 0
    assert json.loads(creval("cache", "--json").stdout)["judges"] == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((), "give what to delete: --older-than 30d, --to 1GB or --judge"),
        (("--older-than", "soon"), "--older-than takes a time such as 30d, not 'soon'"),
        (("--to", "-1GB"), "--to takes a size such as 1GB"),
        (("--to", "9" * 400), "--to takes a size such as 1GB"),
        (("--judge", "openai:unknown"), "has no answers of 'openai:unknown'"),
    ],
)
def test_wrong_prunes_get_a_sentence(given: tuple[str, ...], sentence: str) -> None:
    fill("openai:m", 1)
    done = creval("cache", "prune", *given)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    assert AnswerCache().count_answers(["openai:m"]) == 1


def test_pruning_to_a_size_keeps_the_newest() -> None:
    fill("openai:m", 300, size=1000)
    age(60)
    fill("openai:m", 100, size=1000, start=300)
    assert library.prune_cache(max_bytes=200_000).value > 200
    assert answer_cache_path().stat().st_size < 260_000
    newest = AnswerCache().get([b"openai:m %d" % n for n in range(300, 400)])
    assert len(newest) == 100


def test_other_folders_of_the_cache_are_shown() -> None:
    folder = answer_cache_path().parent.parent / "coco" / "abc"
    folder.mkdir(parents=True)
    (folder / "boxes").write_bytes(b"x" * 5000)
    assert library.cache().to_json()["folders"] == {"coco": 5000}


def test_a_file_that_is_no_cache_gets_a_sentence() -> None:
    path = answer_cache_path()
    path.parent.mkdir(parents=True)
    path.write_text("no database" * 100)
    with pytest.raises(CrevalError, match="you can delete it"):
        library.cache()
    assert creval("cache").returncode == 2


@pytest.mark.parametrize(
    "damage",
    [
        "text = x'ff'",
        "ended = x'00'",
        "logprobs = '[1]'",
        "logprobs = '{\"a\": 1}'",
        "logprobs = '['",
        "cost = 'dear'",
        "cost = -7",
        "cost = 9e999",
        "tokens_in = 'many'",
        "judge = x'00'",
        "made = 'once'",
    ],
)
def test_a_row_that_is_no_answer_counts_as_not_there(damage: str) -> None:
    fill("openai:m", 2)
    with edit_database(answer_cache_path()) as database:
        database.execute(f"UPDATE answers SET {damage} WHERE key = ?", (b"openai:m 0",))
    cache = AnswerCache()
    assert (set(cache.get([b"openai:m 0", b"openai:m 1"])), cache.problem) == ({b"openai:m 1"}, "")
    assert creval("cache").returncode == 0


def test_a_cache_of_another_user_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    fill("openai:m", 1)
    monkeypatch.setattr(os, "geteuid", lambda: answer_cache_path().stat().st_uid + 1000)
    cache = AnswerCache()
    assert cache.get([b"openai:m 0"]) == {}
    assert "belongs to another user" in cache.problem


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_cache_that_everybody_can_write_is_not_believed(place: str) -> None:
    fill("openai:m", 1)
    path = answer_cache_path() if place == "file" else answer_cache_path().parent
    path.chmod(0o777)
    cache = AnswerCache()
    assert cache.get([b"openai:m 0"]) == {}
    assert f"{path} is writable by everybody" in cache.problem


def test_threads_and_processes_write_at_once() -> None:
    code = (
        "import sys; from creval.store.answer_cache import AnswerCache, CachedAnswer\n"
        "cache = AnswerCache()\n"
        "for n in range(40):\n"
        "    cache.put('openai:m', {f'{sys.argv[1]} {n}'.encode(): CachedAnswer('yes', 'stop')})\n"
        "    assert len(cache.get([f'{sys.argv[1]} {n}'.encode()])) == 1\n"
        "assert not cache.problem, cache.problem\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(at)], env=os.environ) for at in range(2)]
    mine = AnswerCache()

    def write(name: int) -> None:
        for n in range(40):
            mine.put("openai:m", {b"t%d %d" % (name, n): CachedAnswer("no", "stop")})
            mine.get([b"t%d %d" % (name, n)])

    threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert (mine.problem, mine.count_answers(["openai:m"])) == ("", 160)


def test_a_lookup_takes_microseconds() -> None:
    fill("openai:m", 2000)
    cache = AnswerCache()
    keys = [b"openai:m %d" % n for n in range(2000)]
    began = time.perf_counter()
    for key in keys:
        cache.get([key])
    assert time.perf_counter() - began < 2000 * 0.001
