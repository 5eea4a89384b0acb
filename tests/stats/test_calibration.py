"""Judges' error rates, and scores corrected for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.correction import correct_scores
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.judging.calibration_run import CalibrationRun, read_trial_answers
from creval.judging.judge_run import judge
from creval.stats.calibration import (
    Calibration,
    JudgeRates,
    KnownAnswer,
    answer_flips,
    compute_judge_rates,
    judge_rates_by,
    judge_rates_to_json,
    parse_calibration,
)
from creval.stats.intervals import Proportion
from creval.store import open_run
from creval.touchstone.builder import build_touchstone
from creval.touchstone.calibration_trials import VARIANTS, make_cases
from creval.touchstone.simulated_edits import SIMULATED_EDITORS

TRUE = {"sensitivity": 0.85, "specificity": 0.75}


@cache
def asked() -> list[tuple[str, str, str, bool]]:
    """Return the questions of a calibration of the usual size."""
    return [
        (case.id, metric, check.kind, truth) for case in make_cases(60, 0) for metric, check, truth in case.questions
    ]


def told(chance: np.random.Generator) -> list[KnownAnswer]:
    """Return the answers of a judge with known rates."""
    found = []
    for unit, metric, kind, truth in asked():
        right = chance.random() < (TRUE["sensitivity"] if truth else TRUE["specificity"])
        found.append(KnownAnswer(unit, metric, kind, truth, truth == right))
    return found


def held(seeds: int) -> float:
    """Return the lowest coverage of the true rates over the kinds of interval."""
    hits: list[tuple[str, bool]] = []
    for seed in range(seeds):
        answers = told(np.random.default_rng(seed))
        for found in (compute_judge_rates(answers), *judge_rates_by(answers, "metric").values()):
            for name, true in {**TRUE, "accuracy": 0.8, "yes_bias": 0.05}.items():
                low, high = getattr(found, name).interval
                hits.append((name, low <= true <= high))
    return min(float(np.mean([hit for name, hit in hits if name == one])) for one in dict(hits))


def test_intervals_cover_the_true_rates() -> None:
    assert held(300) >= 0.93


@pytest.mark.study
def test_intervals_cover_the_true_rates_in_many_seeds() -> None:
    assert held(1000) >= 0.93


def test_rates_by_hand() -> None:
    answers = [(True, True), (True, True), (True, False), (False, False), (False, True)]
    found = compute_judge_rates([KnownAnswer(str(n), "IF", "size", *one) for n, one in enumerate(answers)])
    assert found.sensitivity.value == pytest.approx(2 / 3)
    assert found.specificity.value == 0.5
    assert found.accuracy.value == pytest.approx((2 / 3 + 0.5) / 2)
    assert found.yes_bias.value == pytest.approx((2 / 3 - 0.5) / 2)
    assert judge_rates_by([], "metric") == {}


def test_correlated_answers_have_a_smaller_effective_size() -> None:
    alike = [KnownAnswer(f"u{n}", "IF", "x", True, n % 2 == 0) for n in range(20) for _ in range(10)]
    found = compute_judge_rates(alike).sensitivity
    assert found.value == 0.5
    assert found.total == pytest.approx(20, rel=0.1), "twenty images, not two hundred questions"


def test_a_calibration_is_parsed_and_other_content_is_refused() -> None:
    found = compute_judge_rates(told(np.random.default_rng(1)))
    content = json.loads(json.dumps({"judge": "x", "metrics": {"IF": judge_rates_to_json(found)}}))
    assert parse_calibration(content, "x.json") == Calibration("x", {"IF": found})
    more = {"sensitivity": {"right": 5, "of": 3}, "specificity": {"right": 1, "of": 2}, "asked": 1}
    others: list[object] = [[], {}, {"metrics": []}, {"metrics": {"IF": {}}}]
    for wrong in (*others, {"metrics": {"IF": more}}):
        with pytest.raises(CrevalError, match="is not a calibration"):
            parse_calibration(wrong, "x.json")


def test_one_sided_flips_are_distinguished_from_two_sided_ones() -> None:
    first = {n: KnownAnswer("u", "IF", "x", True, n < 50) for n in range(100)}
    obeyed = {n: KnownAnswer("u", "IF", "x", True, n < 70) for n in range(100)}
    noisy = {n: KnownAnswer("u", "IF", "x", True, 10 <= n < 60) for n in range(100)}
    assert (answer_flips(first, obeyed), answer_flips(first, obeyed).is_decided) == ((20, 0, 100), True)
    assert (answer_flips(first, noisy), answer_flips(first, noisy).is_decided) == ((10, 10, 100), False)


def test_cases_are_balanced_and_reproducible() -> None:
    cases = make_cases(24, 3)
    assert cases == make_cases(24, 3)
    for metric in ("IF", "VC", "VQ"):
        truths = [t for case in cases for m, _, t in case.questions if m == metric]
        assert sum(truths) * 2 == len(truths) > 50


def test_every_variant_is_asked_and_a_perfect_judge_is_right_in_all(tmp_path: Path) -> None:
    trials = CalibrationRun("truth", tmp_path, 6, 2, Settings(temperature=0.0), seed=1)
    trials.draw(lambda _, __: None)
    heard = trials.run(lambda _: lambda _: None)
    assert set(heard) == set(VARIANTS)
    for variant, found in heard.items():
        assert found.unanswered_count == 0, variant
        assert compute_judge_rates(list(found.answers.values())).accuracy.value == 1.0, variant
    assert heard["plain"].repeated_count == heard["plain"].consistent_count == len(heard["plain"].answers)
    assert read_trial_answers(tmp_path / "runs-6-1" / "plain") == heard["plain"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples with the edits of six editors, and the run of a judge that knows the truth. Read-only."""
    folder = tmp_path_factory.mktemp("drawn")
    build_touchstone(folder / "bench", 27, 5, edits=folder / "edits")
    judge(open_benchmark(folder), [folder / "edits" / editor for editor in SIMULATED_EDITORS], "truth", folder / "run")
    return folder


def covered(seeds: int, drawn: Path, folder: Path) -> Iterator[tuple[bool, bool]]:
    """Return, for each cell of the six editors, whether raw and corrected intervals cover the truth."""
    edits = [drawn / "edits" / editor for editor in SIMULATED_EDITORS]
    benchmark = open_benchmark(drawn)
    with open_run(drawn / "run") as run:
        truth = score(run, resamples=100)
    for seed in range(seeds):
        settings = Settings(parameters={"seed": seed})
        judge(benchmark, edits, "noisy:0.85,0.75", folder / f"run{seed}", settings)
        chance = np.random.default_rng(seed)
        first, second = (Proportion(int(chance.binomial(200, p)), 200) for p in TRUE.values())
        found = dict.fromkeys(("IF", "VC", "VQ"), JudgeRates(first, second, 400))
        with open_run(folder / f"run{seed}") as run:
            card = score(run, resamples=400)
            corrected = correct_scores(run, card, Calibration("noisy", found), resamples=400, seed=seed)
        for model in card.models:
            for column in card.table.schema.columns:
                true = truth.cell(model, column).value
                raw = card.cell(model, column)
                cell = corrected.cells["overall", "overall", model, column]
                assert true is not None
                yield tuple(  # type: ignore[misc]
                    one.low is not None and one.high is not None and one.low - 1e-9 <= true <= one.high + 1e-9
                    for one in (raw, cell)
                )


def test_corrected_intervals_cover_where_raw_ones_do_not(drawn: Path, tmp_path: Path) -> None:
    raw, corrected = zip(*covered(3, drawn, tmp_path), strict=True)
    assert np.mean(raw) < 0.5
    assert np.mean(corrected) >= 0.85


def test_several_answers_are_corrected_one_by_one(drawn: Path, tmp_path: Path) -> None:
    """A majority of five is right more often than one answer. Corrected as one answer, it would
    be overcorrected."""
    edits = [drawn / "edits" / editor for editor in SIMULATED_EDITORS]
    benchmark = open_benchmark(drawn)
    judge(benchmark, edits, "noisy:0.85,0.75", tmp_path / "run", Settings(repeat=5))
    judge(benchmark, edits, "panel:truth+noisy:0.9,0.9", tmp_path / "panel")
    known = JudgeRates(Proportion(8500, 10000), Proportion(7500, 10000), 20000)
    calibration = Calibration("noisy", dict.fromkeys(("IF", "VC", "VQ"), known))
    with open_run(drawn / "run") as run:
        truth = score(run, resamples=100)
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=100)
        cells = correct_scores(run, card, calibration, resamples=200).cells
    for model in card.models:
        true = truth.cell(model, "S").value
        cell = cells["overall", "overall", model, "S"]
        assert cell.value == pytest.approx(true, abs=4)
    with (
        open_run(tmp_path / "panel") as run,
        pytest.raises(CrevalError, match="belongs to one judge, but this run has several"),
    ):
        correct_scores(run, score(run, resamples=100), calibration)


@pytest.mark.study
def test_corrected_intervals_cover_in_many_seeds(drawn: Path, tmp_path: Path) -> None:
    raw, corrected = zip(*covered(60, drawn, tmp_path), strict=True)
    print(np.mean(raw), np.mean(corrected))
    assert np.mean(raw) < 0.5
    assert np.mean(corrected) >= 0.92


def test_scores_that_cannot_be_corrected(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 3, 5, edits=tmp_path / "edits", editors=["lazy"])
    judge(open_benchmark(tmp_path), [tmp_path / "edits" / "lazy"], "truth", tmp_path / "run")
    chance = JudgeRates(Proportion(50, 100), Proportion(51, 100), 200)
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=100)
        with pytest.raises(CrevalError, match="hardly better than chance"):
            correct_scores(run, card, Calibration("x", dict.fromkeys(("IF", "VC", "VQ"), chance)))
        with pytest.raises(CrevalError, match="has no rates for VC, VQ"):
            correct_scores(run, card, Calibration("x", {"IF": chance}))
