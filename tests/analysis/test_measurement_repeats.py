from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from creval.analysis.measurement_repeats import RepeatVariation, measure_repeat_variation, observed_variation
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.judging.judge_run import judge
from creval.store import Run, open_run
from creval.touchstone.builder import build_touchstone


def test_four_measurements_by_hand() -> None:
    """With K = 1, the variation is half the range of four measurements."""
    assert observed_variation(np.array([[3.0, 7.0, 5.0, 4.0], [1.0, 1.0, 1.0, 2.0]]), 1) == (2 + 0.5) / 2


def test_missing_measurements_are_ignored() -> None:
    array = np.array([[np.nan, 3.0, 7.0, 5.0, 4.0], [1.0, np.nan, np.nan, 1.0, 9.0]])
    assert observed_variation(array, 1) == 2.0


def test_the_computed_variation_is_the_observed_one() -> None:
    array = np.random.default_rng(1).normal(50, 3, (4000, 80))
    found = RepeatVariation({"Q": array}, {"Q": {}}, {"Q": 3.0})
    for count in (1, 5, 20):
        assert found.variation("Q", count) == pytest.approx(observed_variation(array, count), rel=0.02)
    assert found.repeats_needed("Q", 0.5) == 39
    assert found.repeats_needed("Q", 0.0) is None


def test_the_fewest_repeats_are_taken_from_observed_variations() -> None:
    found = RepeatVariation({}, {"Q": {1: 2.0, 2: 1.4, 3: 0.9}}, {"Q": 2.0})
    assert (found.repeats_needed("Q", 1.4), found.repeats_needed("Q", 1.0)) == (2, 3)
    assert found.repeats_needed("Q", 0.5) == 17


def test_a_run_with_repeats(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 6, 1, edits=tmp_path / "edits", editors=["lazy"])
    settings = Settings(repeat=8, metrics=("VQ",))
    judge(open_benchmark(tmp_path), [tmp_path / "edits" / "lazy"], "noisy:0.8,0.8", tmp_path / "run", settings)
    with open_run(tmp_path / "run") as run:
        found = measure_repeat_variation(run)
    assert set(found.values) == {"VQ"}
    assert found.values["VQ"].shape == (6, 8)
    assert list(found.observed["VQ"]) == [1, 2]
    # Five questions, each right in 80 %: a score's standard deviation is 100 * sqrt(0.16 / 5).
    assert found.standard_deviation["VQ"] == pytest.approx(17.9, rel=0.35)


@pytest.mark.parametrize("samples", [12, pytest.param(30, marks=pytest.mark.slow)])
def test_the_standard_deviation_of_two_measurements_is_unbiased(samples: int, tmp_path: Path) -> None:
    """The sample standard deviation of two values is too small on average and is corrected."""
    build_touchstone(tmp_path / "bench", samples, 1, edits=tmp_path / "edits", editors=["clumsy"])
    found = {}
    for times in (2, 12):
        folder = tmp_path / f"run{times}"
        settings = Settings(repeat=times)
        edits = [tmp_path / "edits" / "clumsy"]
        judge(open_benchmark(tmp_path), edits, "noisy:0.8,0.8", folder, settings)
        with open_run(folder) as run:
            found[times] = measure_repeat_variation(run).standard_deviation["IF"]
    assert found[2] == pytest.approx(found[12], rel=0.25)


def test_one_measurement_is_refused(small_run: Run) -> None:
    with pytest.raises(CrevalError, match="asked only once"):
        measure_repeat_variation(small_run)
