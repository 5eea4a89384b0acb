"""Tests of early stopping on recorded answers: on the command line, and many times on the released answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from creval.analysis.scoring import build_score_table
from creval.benchmarks import open_benchmark
from creval.judging.stopping_monitor import simulate_early_stopping
from creval.stats.elimination import StoppingRule
from creval.stats.score_table import Floats, Integers, ScoreTable
from creval.store import open_run
from tests.commands import creval
from tests.stats.test_elimination import Raced, orders, raced

MARGIN = 1.5


def test_a_replay_on_the_command_line(miniature: Path, tmp_path: Path) -> None:
    given = ("replay", miniature, "--answers", miniature / "answers", "--run", tmp_path / "run")
    shown = creval(*given, "--until-decided", "best")
    assert shown.returncode == 0, shown.stderr
    # 18 samples are too few for a claim about other samples of this kind.
    assert "The best model in S is not decided. Candidates: Careful, " in shown.stdout
    assert "Used 18 of 18 samples and 810 of 810 answers (100.0 %)" in shown.stdout
    assert "still open" in shown.stdout
    # With a margin, the claim is about these 18 samples, which are all known.
    found = json.loads(creval(*given, "--until-decided", "best", "--margin", "0.1", "--json").stdout)
    assert (found["best"], found["undecided"], found["used"]) == ("Careful", [], 810)
    assert found["answers"]["Careful"] == {"answered": 270}
    plain = json.loads(creval(*given, "--json").stdout)
    assert set(plain) == {"judge", "answers"}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--until-decided", "best", "--model", "Keeper"), "compares models: give two or more."),
        (("--until-decided", "worst"), "there is no question to decide 'worst'"),
        (("--until-decided", "best", "--alpha", "0"), "--alpha takes a risk greater than 0"),
        (("--until-decided", "best", "--margin", "-2"), "--margin takes a number of points, 0 or more"),
        (("--margin", "2"), "--alpha and --margin require --until-decided"),
    ],
)
def test_wrong_options_are_errors(miniature: Path, tmp_path: Path, more: tuple[str, ...], sentence: str) -> None:
    given = ("replay", miniature, "--answers", miniature / "answers", "--run", tmp_path / "run")
    done = creval(*given, *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


class Scores(NamedTuple):
    """S of each model on each sample, and the dimensions of the samples."""

    table: ScoreTable
    values: Floats
    strata: Integers


@pytest.fixture(scope="module")
def scores(release_run: Path) -> Scores:
    with open_run(release_run) as run:
        table = build_score_table(run)
    values = table.with_composite()[..., -1]
    return Scores(table, values, table.groups["dimension"])


def replayed(scores: Scores, values: Floats, rule: StoppingRule, runs: int, seed: int) -> Raced:
    """Simulate races in random orders of the samples. The axes of `values` are model and sample."""
    order = orders(scores.strata, runs, np.random.default_rng(seed))
    return raced(np.broadcast_to(values, (runs, *values.shape)), scores.strata, rule, order)


def test_two_hundred_replays_with_a_margin(scores: Scores) -> None:
    done = replayed(scores, scores.values, StoppingRule(margin=MARGIN), 200, seed=1)
    share = done.used.sum(axis=1) / scores.values.size
    assert share.mean() <= 0.16, "a plain asymptotic sequence uses 19 %"
    named, means = done.named(), np.nanmean(scores.values, axis=1)
    assert (named >= 0).all()
    worse = means.max() - means[named] > MARGIN
    assert worse.mean() <= 0.05


def test_equally_good_models_are_rarely_separated(scores: Scores) -> None:
    # The two best models, shifted so that their means are equal on all samples that both have.
    pair = scores.values[np.argsort(np.nanmean(scores.values, axis=1))[-2:]]
    pair = pair - np.nanmean(np.where(np.isnan(pair).any(axis=0), np.nan, pair), axis=1)[:, None]
    done = replayed(scores, pair, StoppingRule(), 200, seed=2)
    assert (done.named() >= 0).mean() <= 0.05


@pytest.mark.study
def test_equally_good_models_are_rarely_separated_in_2000_sets(scores: Scores) -> None:
    # The scores of each sample are permuted between models. So all models are equally good, with the same variance.
    generator = np.random.default_rng(3)
    here = ~np.isnan(scores.values).any(axis=0)
    values, strata = scores.values[:, here], scores.strata[here]
    for models in (2, 3, 5):
        wrong = 0
        for _ in range(4):
            drawn = generator.random((500, *values.shape)).argsort(axis=1)[:, :models]
            sets = np.take_along_axis(np.broadcast_to(values, (500, *values.shape)), drawn, axis=1)
            done = raced(sets, strata, StoppingRule(), orders(strata, 500, generator))
            wrong += int((~done.race.active).any(axis=1).sum())
        assert wrong <= 0.05 * 2000, models


@pytest.mark.study
def test_a_model_worse_by_the_margin_is_rarely_named_in_2000_orders(scores: Scores) -> None:
    names = np.argsort(np.nanmean(scores.values, axis=1))[-2:]
    pair = scores.values[names][:, ~np.isnan(scores.values[names]).any(axis=0)]
    strata = scores.strata[~np.isnan(scores.values[names]).any(axis=0)]
    pair = pair - pair.mean(axis=1, keepdims=True) + np.array([[MARGIN], [0.0]])
    order = orders(strata, 2000, np.random.default_rng(4))
    done = raced(np.broadcast_to(pair, (2000, *pair.shape)), strata, StoppingRule(margin=MARGIN), order)
    assert (done.named() == 1).mean() <= 0.05


def test_a_replay_equals_the_simulation(release: Path, scores: Scores, tmp_path: Path) -> None:
    given = ("replay", release, "--answers", release / "answer_gpt", "--run", tmp_path)
    rules = ("--until-decided", "best", "--margin", "1.5", "--seed", "4")
    done = creval(*given, *rules, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("judge")
    assert "is the best of 5 models in S within 1.5 points" in found.pop("sentences")[0]
    assert found.pop("answers")["Bagel"]["answered"] == 15_746
    rule = StoppingRule(margin=MARGIN)
    outcome = simulate_early_stopping(scores.table, open_benchmark(release).dataset.samples, rule, seed=4)
    assert found == json.loads(json.dumps({**outcome.to_dict(), "seed": 4}))
    assert found["best"] in ("gpt-image-1", "qwen-image-edit_output_edit-2509")
    assert found["undecided"] == []
    assert 0 < found["used"] < 0.3 * found["total"]
    assert found["total"] == 5 * 15_797
