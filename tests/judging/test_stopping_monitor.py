"""Early stopping of a run: no needless calls, and the same outcome after a kill."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.analysis.scoring import build_score_table
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.judging.judge_run import judge
from creval.judging.stopping_monitor import simulate_early_stopping
from creval.judging.summary import JudgeSummary
from creval.stats.elimination import RANKING, StoppingRule
from creval.store import open_run
from creval.testing.fake_chat_server import ChatQuery, FakeServer
from miniature import write_miniature
from tests.commands import creval
from tests.processes import Running
from tests.serving import serving

SKILLS = {"Good": 90, "Fair": 80, "Poor": 50}
QUESTIONS = 15


class Knowing(FakeServer):
    """Server that answers yes with a probability of the edit's width, in percent."""

    def build_reply(self, body: Mapping[str, Any], asked: ChatQuery) -> dict[str, Any]:
        images = [p for p in body["messages"][-1]["content"] if p["type"] == "image_url"]
        content = images[-1]["image_url"]["url"].partition(",")[2]
        self._skill = Image.open(io.BytesIO(base64.b64decode(content))).width / 100
        return super().build_reply(body, asked)

    def _choose_answer(self, asked: ChatQuery, question: str, choice: int) -> str | int:
        return "Yes" if self._hash_fraction(asked, question, choice) < self._skill else "No"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a benchmark of 180 samples, and edits of models with given skills."""
    folder = write_miniature(tmp_path_factory.mktemp("bench"), samples=180, models={})
    generator = np.random.default_rng(0)
    for name, skill in {**SKILLS, "Twin": SKILLS["Good"]}.items():
        (folder / "edits" / name).mkdir(parents=True)
        for sample in open_benchmark(folder).dataset.samples:
            shade = tuple(map(int, generator.integers(0, 255, 3)))
            Image.new("RGB", (skill, 20), shade).save(folder / "edits" / name / f"{sample.id}.png")
    return folder


def ask(bench: Path, run: Path, server: FakeServer, *models: str, spec: str = "", **chosen: Any) -> JudgeSummary:
    settings = Settings(**{"concurrency": 8} | chosen)
    folders = [bench / "edits" / name for name in models or SKILLS]
    with serving(server.app()) as url:
        where = spec.replace("URL", url) or f"openai:fake@{url}/v1"
        return judge(open_benchmark(bench), folders, where, run, settings)


@pytest.fixture(scope="module")
def whole(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run in which all questions were asked."""
    run = tmp_path_factory.mktemp("whole") / "run"
    ask(bench, run, Knowing(), concurrency=32)
    return run


@pytest.mark.parametrize(
    "rule",
    [StoppingRule(), StoppingRule(margin=3.0), StoppingRule(RANKING, alpha=0.2), StoppingRule(RANKING, margin=4.0)],
)
def test_a_run_stops_where_a_simulation_of_all_answers_stops(
    bench: Path, whole: Path, tmp_path: Path, rule: StoppingRule
) -> None:
    server = Knowing()
    done = ask(bench, tmp_path / "run", server, stopping_rule=rule, seed=5)
    assert done.outcome is not None
    with open_run(whole) as run:
        table = build_score_table(run, models=tuple(SKILLS))
    expected = simulate_early_stopping(table, open_benchmark(bench).dataset.samples, rule, seed=5)
    assert done.outcome.to_dict() == expected.to_dict()
    with open_run(tmp_path / "run") as run:
        assert run.manifest["stopping"] == expected.to_dict()
        asked = {model: sum(found.values()) for model, found in run.count_statuses().items()}
    assert expected.best == "Good"
    # In-flight calls are stored and paid when the question is settled.
    used = expected.answers_used
    assert used <= sum(asked.values()) <= used + (8 + 2 * 8 * 3) * 5
    assert server.stats["requests"] * 5 == sum(asked.values())
    assert asked["Poor"] < asked["Good"] or rule.question == RANKING
    assert expected.answers_total == 180 * 3 * QUESTIONS


def test_a_settled_run_makes_no_more_calls(bench: Path, tmp_path: Path) -> None:
    server = Knowing()
    with serving(server.app()) as url:
        where = f"openai:fake@{url}/v1"
        folders = [bench / "edits" / name for name in SKILLS]
        settings = Settings(concurrency=4, stopping_rule=StoppingRule(margin=3.0))
        done = [judge(open_benchmark(bench), folders, where, tmp_path / "run", settings) for _ in range(2)]
        assert done[1].progress.requests_sent == 0
        assert done[0].outcome == done[1].outcome
        # Without the rule the rest is asked, and the outcome is removed from the manifest.
        judge(open_benchmark(bench), folders, where, tmp_path / "run", Settings())
    assert server.stats["requests"] == 180 * 3 * 3
    with open_run(tmp_path / "run") as run:
        assert run.manifest["stopping"] is None


@pytest.mark.attack
@pytest.mark.parametrize(
    ("faults", "kills"),
    [(0.3, 1), pytest.param(0.0, 3, marks=pytest.mark.slow), pytest.param(0.3, 3, marks=pytest.mark.slow)],
)
def test_a_run_that_was_killed_has_the_same_outcome(bench: Path, tmp_path: Path, faults: float, kills: int) -> None:
    calm = ask(bench, tmp_path / "calm", Knowing(), stopping_rule=StoppingRule(margin=3.0), concurrency=4)
    # Follow-up questions of a killed run are asked again.
    server = Knowing(latency=0.03, fault_rate=faults, fault_kinds=("left out", "garbled", "server error"))
    run = tmp_path / "run"
    with serving(server.app()) as url:
        given = ["judge", bench, "--edits", *(bench / "edits" / name for name in SKILLS)]
        given += ["--judge", f"openai:fake@{url}/v1", "--run", run, "--concurrency", "4"]
        given += ["--until-decided", "best", "--margin", "3", "--retries", "20"]
        for _ in range(kills):
            before = server.stats["requests"]
            running = Running(*given)
            running.wait_while(lambda before=before: server.stats["requests"] < before + 40)  # type: ignore[misc]
            running.kill()
        server.latency = 0.0
        last = creval(*given)
    assert last.returncode == 0, last.stderr
    assert calm.outcome is not None
    with open_run(run) as opened:
        assert opened.manifest["stopping"] == calm.outcome.to_dict()
    assert "Good is the best of 3 models in S" in last.stdout
    assert "at most" in last.stderr


def test_equal_models_are_judged_to_the_last_sample(bench: Path, tmp_path: Path) -> None:
    done = ask(bench, tmp_path / "run", Knowing(), "Good", "Twin", stopping_rule=StoppingRule(), concurrency=32)
    assert done.outcome is not None
    assert (done.outcome.best, done.outcome.reason) == (None, "out of samples")
    assert set(done.outcome.undecided) == {"Good", "Twin"}
    assert done.outcome.answers_used == done.outcome.answers_total == 180 * 2 * QUESTIONS


def test_without_answers_nothing_is_decided(bench: Path, tmp_path: Path) -> None:
    for margin in (0.0, 5.0):
        server = Knowing(skipped_phrase="e")
        run = tmp_path / f"run{margin}"
        done = ask(bench, run, server, stopping_rule=StoppingRule(margin=margin), retries=0, limit=60)
        assert done.outcome is not None
        assert (done.outcome.best, done.outcome.reason) == (None, "out of samples")
        assert len(done.outcome.undecided) == 3
        assert done.outcome.standings[0].value is None


def test_unanswered_questions_are_missing_in_a_resumed_run(bench: Path, tmp_path: Path) -> None:
    server = Knowing(skipped_phrase="shadow plausible")
    folders = [bench / "edits" / name for name in SKILLS]
    settings = Settings(concurrency=4, stopping_rule=StoppingRule(), retries=1)
    with serving(server.app()) as url:
        where = f"openai:fake@{url}/v1"
        first, again = (judge(open_benchmark(bench), folders, where, tmp_path / "run", settings) for _ in "ab")
    assert first.unanswered > 0
    assert first.outcome == again.outcome
    assert again.progress.requests_sent == 0, "it is settled"


def test_all_voices_are_awaited(bench: Path, tmp_path: Path) -> None:
    panel = "panel:openai:a@URL/v1+openai:b@URL/v1"
    rule = StoppingRule(margin=3.0)
    done = ask(bench, tmp_path / "run", Knowing(), spec=panel, repeat=2, stopping_rule=rule)
    assert done.outcome is not None
    assert done.outcome.answers_total == 180 * 3 * QUESTIONS * 4
    with open_run(tmp_path / "run") as run:
        table = build_score_table(run, models=tuple(SKILLS))
        answers = replace(table, total=table.total * 4)
    expected = simulate_early_stopping(answers, open_benchmark(bench).dataset.samples, rule, seed=0)
    assert expected.to_dict() == done.outcome.to_dict()


def test_a_broken_image_counts_as_missing(bench: Path, tmp_path: Path) -> None:
    models = []
    for name in ("Good", "Poor"):
        folder = tmp_path / name
        folder.mkdir()
        for path in sorted((bench / "edits" / name).iterdir()):
            if name == "Good" and path.stem.endswith("0"):
                (folder / path.name).write_bytes(b"not an image")
            elif not (name == "Poor" and path.stem.endswith("1")):
                (folder / path.name).write_bytes(path.read_bytes())
        models.append(folder)
    with serving(Knowing().app()) as url:
        where = f"openai:fake@{url}/v1"
        settings = Settings(concurrency=8, stopping_rule=StoppingRule(margin=1.0))
        done = judge(open_benchmark(bench), models, where, tmp_path / "run", settings)
    assert done.outcome is not None
    assert done.outcome.best == "Good"
    good, poor = done.outcome.standings
    assert good.samples < done.outcome.samples_used > poor.samples


def test_undecidable_questions_are_refused_before_the_first_call(bench: Path, tmp_path: Path) -> None:
    server = Knowing()
    with pytest.raises(CrevalError, match="give two or more"):
        ask(bench, tmp_path / "run", server, "Good", stopping_rule=StoppingRule())
    with pytest.raises(CrevalError, match="needs VQ: add it to `metrics`"):
        ask(bench, tmp_path / "run", server, stopping_rule=StoppingRule(), metrics=("IF", "VC"))
    assert server.stats["requests"] == 0
