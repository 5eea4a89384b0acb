"""Identity of judges: a model at any address is one judge; the rehearsal server is separate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.core.scales import YES_NO
from creval.judges.base import JudgeOptions, JudgeRequest
from creval.judges.judge_spec import judge_identity, open_judges
from creval.judging.judge_run import judge
from creval.judging.summary import JudgeSummary
from creval.store import DATABASE, open_run
from creval.store.answer_cache import AnswerCache
from creval.testing.fake_chat_server import FakeServer
from tests.commands import creval
from tests.databases import edit_database
from tests.serving import serving


def ask(bench: Path, run: Path, spec: str, limit: int = 2) -> JudgeSummary:
    return judge(open_benchmark(bench), [bench / "edits" / "Keeper"], spec, run, Settings(limit=limit))


@pytest.mark.parametrize(
    ("spec", "identity"),
    [
        ("openai:gpt-4o", "openai:gpt-4o"),
        ("openai:org/m@http://h:8000/v1", "openai:org/m"),
        ("openai:claude@20250514@https://h/v1", "openai:claude@20250514"),
        ("panel:openai:a@http://h/v1+openai:b@http://i/v1+pixel", "panel:openai:a+openai:b+pixel"),
        ("hf:org/model", "hf:org/model"),
        ("python:judges:mine@http://no", "python:judges:mine@http://no"),
        ("", ""),
    ],
)
def test_an_address_is_not_part_of_a_judges_identity(spec: str, identity: str) -> None:
    assert judge_identity(spec) == identity
    assert judge_identity(identity) == identity


def test_a_run_can_be_resumed_at_another_address(miniature: Path, tmp_path: Path) -> None:
    first, second = FakeServer(), FakeServer()
    with serving(first.app()) as one, serving(second.app()) as other:
        ask(miniature, tmp_path / "run", f"openai:fake@{one}/v1")
        done = ask(miniature, tmp_path / "run", f"openai:fake@{other}/v1", limit=3)
        again = ask(miniature, tmp_path / "run", f"openai:fake@{other}/v1", limit=3)
    assert (first.stats["requests"], second.stats["requests"]) == (6, 3)
    assert (done.unanswered, again.progress.requests_sent) == (0, 0)
    with open_run(tmp_path / "run") as run:
        assert list(run.count_answers_by_voice()) == [("openai:fake", 0)]
        assert run.manifest["judge"] == "openai:fake"
        assert run.manifest["judge_addresses"] == sorted([f"{one}/v1", f"{other}/v1"])


def test_stored_names_with_an_address_are_kept(miniature: Path, tmp_path: Path) -> None:
    """Older versions stored names with addresses."""
    server = FakeServer()
    with serving(server.app()) as url:
        ask(miniature, tmp_path / "run", f"openai:fake@{url}/v1")
        old = "openai:fake@http://10.0.0.1:8000/v1"
        with edit_database(tmp_path / "run" / DATABASE) as database:
            database.execute("UPDATE voices SET judge = ?", (old,))
            database.execute("UPDATE manifest SET value = ? WHERE key = 'judge'", (json.dumps(old),))
        assert ask(miniature, tmp_path / "run", f"openai:fake@{url}/v1").progress.requests_sent == 0
        assert ask(miniature, tmp_path / "run", f"openai:fake@{url}/v1", limit=3).progress.requests_sent == 3
        with pytest.raises(CrevalError, match="is a run with the judge"):
            ask(miniature, tmp_path / "run", f"openai:other@{url}/v1")
    with open_run(tmp_path / "run") as run:
        assert list(run.count_answers_by_voice()) == [(old, 0)]


def test_answers_of_a_custom_server_are_not_shared_with_a_provider() -> None:
    def key(spec: str) -> bytes | None:
        (opened,) = open_judges(spec, JudgeOptions(key_optional=True))
        return opened.cache_key(JudgeRequest([], "Q1: Is it red?", YES_NO, ["Q1"]))

    assert key("openai:gpt-4o") == key("openai:gpt-4o@https://api.openai.com/v1") is not None
    assert key("openai:gpt-4o@http://one:8000/v1") == key("openai:gpt-4o@http://two:8000/v1")
    assert key("openai:gpt-4o") != key("openai:gpt-4o@http://one:8000/v1")


def test_a_panel_with_one_model_at_two_addresses_is_refused() -> None:
    with pytest.raises(CrevalError, match="A model at two addresses counts as one judge"):
        open_judges("panel:openai:m@http://a/v1+openai:m@http://b/v1", JudgeOptions())


@pytest.fixture
def rehearsing() -> FakeServer:
    """The server of `creval fake-server`."""
    return FakeServer(marked=True)


def test_the_rehearsal_server_is_refused_as_a_judge(miniature: Path, tmp_path: Path, rehearsing: FakeServer) -> None:
    named = "rehearsal server.*use rehearsal:gpt-4o@http://127.0.0.1:"
    with serving(rehearsing.app()) as url, pytest.raises(CrevalError, match=named):
        ask(miniature, tmp_path / "run", f"openai:gpt-4o@{url}/v1")
    with open_run(tmp_path / "run") as run:
        assert run.count_answers_by_voice() == {}


def test_another_server_is_refused_as_a_rehearsal(miniature: Path, tmp_path: Path) -> None:
    with serving(FakeServer().app()) as url, pytest.raises(CrevalError, match="is not creval's rehearsal server"):
        ask(miniature, tmp_path / "run", f"rehearsal:m@{url}/v1")


def test_rehearsal_and_real_answers_are_never_in_one_run(
    miniature: Path, tmp_path: Path, rehearsing: FakeServer
) -> None:
    with serving(rehearsing.app()) as url, serving(FakeServer().app()) as real:
        ask(miniature, tmp_path / "rehearsed", f"rehearsal:m@{url}/v1")
        ask(miniature, tmp_path / "real", f"openai:m@{real}/v1")
        with pytest.raises(CrevalError, match="is a run with the judge 'rehearsal:m', not 'openai:m'"):
            ask(miniature, tmp_path / "rehearsed", f"openai:m@{real}/v1")
        with pytest.raises(CrevalError, match="is a run with the judge 'openai:m', not 'rehearsal:m'"):
            ask(miniature, tmp_path / "real", f"rehearsal:m@{url}/v1")
        with pytest.raises(CrevalError, match="cannot be mixed"):
            ask(miniature, tmp_path / "panel", f"panel:rehearsal:m@{url}/v1+openai:m@{real}/v1")


@pytest.mark.usefixtures("answer_cache")
def test_rehearsal_answers_are_never_shared(miniature: Path, tmp_path: Path, rehearsing: FakeServer) -> None:
    with serving(rehearsing.app()) as url:
        ask(miniature, tmp_path / "one", f"rehearsal:m@{url}/v1")
        ask(miniature, tmp_path / "two", f"rehearsal:m@{url}/v1")
    assert rehearsing.stats["requests"] == 12
    assert AnswerCache().list_judges() == []


def test_rehearsal_answers_are_marked_everywhere(miniature: Path, tmp_path: Path, rehearsing: FakeServer) -> None:
    run = tmp_path / "run"
    with serving(rehearsing.app()) as url:
        edits = [miniature / "edits" / "Keeper", miniature / "edits" / "Careful"]
        judge(open_benchmark(miniature), edits, f"rehearsal:m@{url}/v1", run, Settings(limit=4))
    mark = "rehearsal answers, not a judge"
    few = ("--resamples", 100)
    assert mark in " ".join(creval("score", run, *few).stderr.split())
    assert mark in " ".join(creval("score", run, "--markdown", *few).stderr.split())
    assert creval("report", run, "--out", tmp_path / "report.html", "--samples", 0, *few).returncode == 0
    assert mark in (tmp_path / "report.html").read_text()
    assert creval("export", run, "--out", tmp_path / "out", *few).returncode == 0
    assert mark in (tmp_path / "out" / "README.md").read_text()
    assert json.loads(creval("score", run, "--json", *few).stdout)["judge"] == "rehearsal:m"


def test_the_summary_of_judging_shows_labels(miniature: Path, tmp_path: Path) -> None:
    with serving(FakeServer().app()) as url:
        given = ("judge", miniature, "--edits", miniature / "edits" / "Keeper", "--judge", f"openai:m@{url}/v1")
        wrong = creval(*given, "--run", tmp_path / "run", "--limit", 1, "--label", "Keper=K")
        assert (wrong.returncode, "did you mean 'Keeper'" in wrong.stderr) == (2, True)
        done = creval(*given, "--run", tmp_path / "run", "--limit", 1, "--label", "Keeper=Keeper 2")
    assert "Keeper 2" in done.stdout
