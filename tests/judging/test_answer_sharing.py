"""Sharing of answers between runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.judging.summary import JudgeSummary
from creval.store import open_run
from creval.store.answer_cache import AnswerCache, answer_cache_path
from creval.testing.fake_chat_server import FakeServer
from tests.databases import edit_database
from tests.serving import serving

MODELS = ("Careful", "Keeper")
pytestmark = pytest.mark.usefixtures("answer_cache")
CALLS = 24  # 4 samples, 2 models, 3 metrics


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    with serving(server.app()) as url:
        server.url = url  # type: ignore[attr-defined]
        yield server


def ask(server: FakeServer, bench: Path, run: Path, *folders: str | Path, **chosen: Any) -> JudgeSummary:
    settings = Settings(**{"concurrency": 8, "limit": 4, "price": None} | chosen)
    edits = folders or [bench / "edits" / model for model in MODELS]
    return judge(open_benchmark(bench), edits, f"openai:fake@{server.url}/v1", run, settings)  # type: ignore[attr-defined]


def values(run: Path) -> dict[tuple[str, str, str], float | None]:
    with open_run(run) as opened:
        return {(a.edit.model, a.edit.sample, a.probe): a.value for a in opened.answers()}


def test_a_second_run_makes_no_calls_and_has_the_same_scores(
    server: FakeServer, miniature: Path, tmp_path: Path
) -> None:
    from creval.providers.pricing import Price

    first = ask(server, miniature, tmp_path / "one", price=Price(2.5, 10))
    second = ask(server, miniature, tmp_path / "two", price=Price(2.5, 10))
    assert (first.progress.requests_sent, second.progress.requests_sent) == (CALLS, 0)
    assert server.stats["requests"] == CALLS
    assert values(tmp_path / "one") == values(tmp_path / "two") != {}
    assert (second.progress.shared, second.progress.cost) == (CALLS, 0.0)
    assert second.progress.saved == pytest.approx(first.progress.cost)
    assert second.cache_sentence.startswith("24 answers from the cache, which had cost 0.")
    with open_run(tmp_path / "two") as run:
        assert (run.costs().calls, run.costs().cost, run.count_cached_replies()) == (0, 0.0, CALLS)


def test_a_renamed_folder_and_a_copied_benchmark_make_no_calls(
    server: FakeServer, miniature: Path, tmp_path: Path
) -> None:
    ask(server, miniature, tmp_path / "one")
    shutil.copytree(miniature / "edits" / "Keeper", tmp_path / "Renamed")
    moved = shutil.copytree(miniature, tmp_path / "elsewhere")
    again = ask(server, moved, tmp_path / "two", tmp_path / "Renamed")
    assert (again.progress.requests_sent, again.progress.shared) == (0, CALLS // 2)


def test_repeats_stay_independent(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    ask(server, miniature, tmp_path / "one", temperature=1.0)
    more = ask(server, miniature, tmp_path / "three", temperature=1.0, repeat=3)
    assert more.progress.shared == CALLS
    with open_run(tmp_path / "three") as run:
        counts = run.count_answers_by_voice()
        assert [repeat for _, repeat in counts] == [0, 1, 2]
        assert len(set(counts.values())) == 1
    # The server returns both new repeats as two completions of one call.
    assert more.progress.requests_sent == CALLS
    again = ask(server, miniature, tmp_path / "again", temperature=1.0, repeat=3)
    assert (again.progress.requests_sent, again.progress.shared) == (0, 3 * CALLS)


def test_without_cache_all_calls_are_made(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    ask(server, miniature, tmp_path / "one")
    assert ask(server, miniature, tmp_path / "two", cache=False).progress.requests_sent == CALLS


def test_a_run_without_cache_shares_nothing(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    ask(server, miniature, tmp_path / "one", cache=False)
    assert not answer_cache_path().exists()


@pytest.mark.parametrize(
    "other",
    [
        {"temperature": 0.5},
        {"parameters": {"top_p": 0.9}},
        {"show_instruction": True},
        {"batch_by": "sample"},
        {"image_fit": "64"},
        {"reasoning": True},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_settings_are_not_answered_from_the_cache(
    server: FakeServer, miniature: Path, tmp_path: Path, other: dict[str, Any]
) -> None:
    ask(server, miniature, tmp_path / "one", limit=1)
    again = ask(server, miniature, tmp_path / "two", **{"limit": 1, **other})
    assert (again.progress.shared, again.progress.requests_sent > 0) == (0, True)


def test_another_image_is_not_answered_from_the_cache(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    edits = shutil.copytree(miniature / "edits" / "Keeper", tmp_path / "Keeper")
    ask(server, miniature, tmp_path / "one", edits)
    with open_run(tmp_path / "one") as run:
        changed = next(path for _, path in run.image_paths() if path)
    Image.new("RGB", (32, 32), "teal").save(changed)
    again = ask(server, miniature, tmp_path / "two", edits)
    assert (again.progress.requests_sent, again.progress.shared) == (3, CALLS // 2 - 3)


def test_another_judge_model_is_not_answered_from_the_cache(
    server: FakeServer, miniature: Path, tmp_path: Path
) -> None:
    ask(server, miniature, tmp_path / "one")
    spec = f"openai:other@{server.url}/v1"  # type: ignore[attr-defined]
    edits = [miniature / "edits" / model for model in MODELS]
    again = judge(open_benchmark(miniature), edits, spec, tmp_path / "two", Settings(limit=4))
    assert again.progress.requests_sent == CALLS


def test_unanswered_questions_are_really_asked_again(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    server.skipped_phrase = "proportions"  # one question of each edit's VC
    first = ask(server, miniature, tmp_path / "one")
    assert first.unanswered == 8
    before = server.stats["requests"]
    ask(server, miniature, tmp_path / "one")  # a rerun asks each of them up to the limit
    assert server.stats["requests"] - before == 8 * 3
    before = server.stats["requests"]
    again = ask(server, miniature, tmp_path / "two")
    assert again.progress.shared == CALLS  # the first replies, with seven of eight answers to VC
    assert server.stats["requests"] - before == 8 * 2
    server.skipped_phrase = ""
    healed = ask(server, miniature, tmp_path / "two")
    assert (healed.unanswered, healed.progress.requests_sent) == (0, 8)
    # Now other runs get these from the cache, too.
    third = ask(server, miniature, tmp_path / "three")
    assert (third.unanswered, third.progress.requests_sent) == (0, 0)
    assert values(tmp_path / "three") == values(tmp_path / "two")


def test_refusals_and_errors_are_not_shared(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    server.fault_rate, server.fault_kinds = 1.0, ("refusal", "content filter", "empty", "length", "garbled")
    ask(server, miniature, tmp_path / "one", retries=0)
    with open_run(tmp_path / "one") as run:
        answered = sum(of.get("answered", 0) for of in run.count_statuses().values())
    assert answered == 0
    assert AnswerCache().list_judges() == []


def test_log_probabilities_are_shared(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    chosen = {"logprobs": True, "batch_by": "question", "limit": 1}
    ask(server, miniature, tmp_path / "one", **chosen)
    again = ask(server, miniature, tmp_path / "two", **chosen)
    assert again.progress.requests_sent == 0
    found = values(tmp_path / "one")
    assert values(tmp_path / "two") == found
    assert any(value not in (0, 1) for value in found.values())


@pytest.mark.parametrize("broken", ["text", "torn", "newer", "folder", "no folder"])
def test_an_unusable_cache_does_not_stop_a_run(
    server: FakeServer, miniature: Path, tmp_path: Path, broken: str
) -> None:
    ask(server, miniature, tmp_path / "one", limit=1)
    path = answer_cache_path()
    if broken == "text":
        path.write_bytes(b"no database at all" * 100)
    elif broken == "torn":
        content = bytearray(path.read_bytes())
        content[4096:] = b"\x55" * (len(content) - 4096)
        path.write_bytes(content)
    elif broken == "newer":
        with edit_database(path) as connection:
            connection.execute("PRAGMA user_version = 99")
    else:
        shutil.rmtree(path.parent)
        if broken == "folder":
            path.mkdir(parents=True)
        else:
            path.parent.write_text("a file")
    again = ask(server, miniature, tmp_path / "two", limit=1)
    assert (again.unanswered, again.progress.requests_sent) == (0, 6)
    assert len([note for note in again.notes if "the cache of answers" in note]) == 1


def test_the_cache_and_its_folder_are_private(server: FakeServer, miniature: Path, tmp_path: Path) -> None:
    ask(server, miniature, tmp_path / "one", limit=1)
    path = answer_cache_path()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
