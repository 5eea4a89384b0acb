"""Samples without an edit, worked out by hand: excluded, counted as failed, or excluded for all models."""

from __future__ import annotations

from dataclasses import astuple, replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.comparison import compare
from creval.analysis.correction import correct_scores
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.benchmarks.creval.protocol import CREval
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.probe import Measurement
from creval.core.verdict import Verdict, VerdictStatus
from creval.stats.calibration import Calibration
from creval.stats.scorecard import Scorecard, build_scorecard
from creval.store import Run, RunWriter, open_run
from creval.store.manifest import describe_run
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.stats import made, written

REFUSED, FAILED, ABSENT = EditStatus.REFUSED, EditStatus.FAILED, EditStatus.ABSENT
DIMENSIONS = {
    "s1": "Surreal Fantasy",
    "s2": "Surreal Fantasy",
    "s3": "Derivative Characters",
    "s4": "Commercial Design",
}
ANSWERS = {
    "A": {"s1": "++++", "s2": "+-++", "s3": REFUSED, "s4": "-++-"},
    "B": {"s1": "++++", "s2": "++++", "s3": "-+?+", "s4": ABSENT},
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return open_run(written.write(tmp_path, ANSWERS, DIMENSIONS))


def values(card: Scorecard, model: str, group: str = "overall") -> list[float | None]:
    return [card.cell(model, column, group).value for column in ("IF", "VC", "VQ", "S")]


def test_missing_edits_are_excluded(run: Run) -> None:
    card = score(run, resamples=100)
    third = 200 / 3
    assert values(card, "A") == pytest.approx([third, 75, third, 70])
    assert values(card, "A", "Customization") == pytest.approx([100, 62.5, 100, 85])
    assert values(card, "A", "Derivative Characters") == [None] * 4
    assert astuple(card.cell("A", "VC"))[3:] == (6, 8)


def test_missing_edits_count_as_failed(run: Run) -> None:
    """s3 of A counts zero: in its dimension, in the mean of dimensions, and overall."""
    card = score(run, resamples=100, missing="zero")
    assert values(card, "A") == pytest.approx([50, 56.25, 50, 52.5])
    assert values(card, "A", "Derivative Characters") == [0, 0, 0, 0]
    assert values(card, "A", "Customization") == pytest.approx([50, 31.25, 50, 42.5])
    assert values(card, "A", "Commercial Design") == pytest.approx([0, 100, 0, 40])
    assert astuple(card.cell("A", "VC"))[3:] == (8, 8)
    assert card.cell("A", "S", "s3", "sample").value == 0
    # Absent edits count as well.
    assert values(card, "B", "Commercial Design") == [0, 0, 0, 0]
    assert values(card, "B") == pytest.approx([50, 75, 75, 65])
    assert card.table.missing == "zero"


def test_unanswered_questions_never_count_zero(run: Run) -> None:
    for rule in ("exclude", "zero"):
        cell = score(run, resamples=100, missing=rule).cell("B", "VC", "s3", "sample")
        assert (cell.value, cell.scored, cell.total) == (100, 1, 2)


def test_strict(run: Run) -> None:
    """With strict, the unanswered question of B counts as wrong; missing edits follow `missing`."""
    left_out = score(run, resamples=100, strict=True)
    assert left_out.cell("B", "VC").value == pytest.approx((100 + 100 + 75) / 3)
    counted = score(run, resamples=100, strict=True, missing="zero")
    assert counted.cell("B", "VC").value == pytest.approx((100 + 100 + 75 + 0) / 4)


def test_weights_and_chosen_models(run: Run) -> None:
    card = score(run, resamples=100, missing="zero", weights={"VC": 1}, models=("A",))
    assert card.cell("A", "S").value == pytest.approx(56.25)


def test_models_are_compared_with_failed_samples(run: Run) -> None:
    """On s1 and s2, which both have, A loses 0 and 75 in VC; each model lacks one of the others."""
    left_out = compare(run, "A", "B", resamples=100).differences["overall", "overall", "VC"]
    assert left_out.value == pytest.approx(-75 / 2)
    assert left_out.samples == 2
    counted = compare(run, "A", "B", resamples=100, missing="zero")
    found = counted.differences["overall", "overall", "VC"]
    assert found.value == pytest.approx((-75 - 100 + 100) / 4)
    assert found.samples == 4
    (pair,) = score(run, resamples=100, missing="zero").differences
    assert pair.value == pytest.approx(52.5 - 65)


def test_intervals_are_those_of_zeros(tmp_path: Path) -> None:
    """30 of 40 samples are right and 10 refused, so a resample's mean is binomial."""
    names = {f"s{n}": "Surreal Fantasy" for n in range(40)}
    given = {n: ("++++" if at < 30 else REFUSED) for at, n in enumerate(names)}
    with open_run(written.write(tmp_path, {"A": given}, names)) as run:
        left_out = score(run, resamples=500)
        counted = score(run, resamples=4000, missing="zero")
    assert astuple(left_out.cell("A", "S"))[:3] == pytest.approx((100, 100, 100))
    cell = counted.cell("A", "S")
    assert cell.value == pytest.approx(75)
    low, high = (100 * binomial_quantile(39, 0.75, share) / 39 for share in (0.025, 0.975))
    assert cell.low == pytest.approx(low, abs=100 / 39)
    assert cell.high == pytest.approx(high, abs=100 / 39)
    zeros = np.full((1, 40, 3), 100.0)
    zeros[:, 30:] = 0
    by_hand = build_scorecard(made.table(zeros, [2] * 40), resamples=4000)
    assert astuple(cell)[:3] == pytest.approx(astuple(by_hand.cell("A", "S"))[:3])


def binomial_quantile(n: int, p: float, share: float) -> int:
    total = 0.0
    for k in range(n + 1):
        total += comb(n, k) * p**k * (1 - p) ** (n - k)
        if total >= share:
            return k
    return n


def test_a_refused_draw_counts(tmp_path: Path) -> None:
    given = {"A": {"s1": ["++++", REFUSED, "-+++"]}}
    with open_run(written.write(tmp_path, given, {"s1": "Surreal Fantasy"})) as run:
        assert score(run, resamples=100).cell("A", "IF").value == pytest.approx(50)
        counted = score(run, resamples=100, missing="zero")
    assert counted.cell("A", "IF").value == pytest.approx(100 / 3)
    assert counted.cell("A", "VC").value == pytest.approx(200 / 3)


def test_draws_that_were_added_later_are_not_absent(tmp_path: Path) -> None:
    for status in (ABSENT, EditStatus.IMPOSSIBLE):
        given = {"A": {"s1": [status, "++++", "++++"]}}
        folder = written.write(tmp_path / str(status), given, {"s1": "Surreal Fantasy"})
        with open_run(folder) as run:
            assert run.missing_edits() == []
            assert score(run, resamples=100, missing="zero").cell("A", "IF").value == 100


def test_repeats_change_nothing(tmp_path: Path) -> None:
    with open_run(written.write(tmp_path, ANSWERS, DIMENSIONS, repeats=3)) as run:
        card = score(run, resamples=100, missing="zero")
    assert values(card, "A") == pytest.approx([50, 56.25, 50, 52.5])


def test_samples_and_metrics_outside_a_run_are_not_counted(tmp_path: Path) -> None:
    """s4 was not requested of A, and VQ was never asked."""
    given = {"A": {"s1": "+++ ", "s2": REFUSED}, "B": {"s1": "+++ ", "s2": "+++ ", "s3": "+++ ", "s4": "+++ "}}
    with open_run(written.write(tmp_path, given, DIMENSIONS)) as run:
        card = score(run, resamples=100, missing="zero")
    assert values(card, "A") == [50, 50, None, None]
    assert astuple(card.cell("A", "IF"))[3:] == (2, 4)


def test_an_image_that_cannot_be_opened_is_not_missing(tmp_path: Path) -> None:
    written.write(tmp_path, {"A": {"s1": "++++"}}, DIMENSIONS)
    with RunWriter(tmp_path) as store:
        broken = Edit(EditKey("A", "s2"), FAILED, Path("s2.png"), "no image")
        store.put_edits([broken])
    with open_run(tmp_path) as run:
        assert (run.count_unopened_images(), run.missing_edits()) == (1, [])
        assert score(run, resamples=100, missing="zero").cell("A", "IF").value == 100


def test_unsupported_edits_follow_the_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"A": {"s1": "++++", "s2": EditStatus.UNSUPPORTED}}
    with open_run(written.write(tmp_path, given, DIMENSIONS)) as run:
        for rule in ("exclude", "zero"):
            assert score(run, resamples=100, missing=rule).cell("A", "IF").value == 100
        monkeypatch.setattr(CREval, "schema", replace(CREval.schema, unsupported_value=0.0))
        for rule in ("exclude", "zero"):
            assert score(run, resamples=100, missing=rule).cell("A", "IF").value == 50


def test_edits_that_the_benchmark_made_impossible_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"A": {"s1": "++++", "s2": EditStatus.IMPOSSIBLE}}
    with open_run(written.write(tmp_path, given, DIMENSIONS)) as run:
        for unsupported in (None, 0.0):
            monkeypatch.setattr(CREval, "schema", replace(CREval.schema, unsupported_value=unsupported))
            for rule in ("exclude", "zero"):
                card = score(run, resamples=100, missing=rule)
                assert card.cell("A", "IF").value == 100
        (gone,) = run.missing_edits()
        assert (gone.edit.sample, gone.reason) == ("s2", "in the benchmark, s.png does not exist")


def test_zero_is_refused_for_an_unfinished_run(tmp_path: Path) -> None:
    """If some edits are not judged yet, the zeros of all missing edits would outweigh the few scores."""
    given = {"A": {"s1": "++++", "s2": REFUSED, "s3": "    "}, "B": {"s1": "++++", "s2": "    "}}
    with open_run(written.write(tmp_path, given, DIMENSIONS)) as run:
        with pytest.raises(CrevalError, match="1 edits of 'A' are not judged"):
            score(run, missing="zero")
        assert score(run, resamples=100, missing="zero", models=("B",)).cell("B", "IF").value == 100


def test_unknown_or_contradictory_policies_are_refused(run: Run, small_run: Run) -> None:
    with pytest.raises(CrevalError, match="takes exclude or zero, not 'none'"):
        score(run, missing="none")
    with pytest.raises(CrevalError, match="choose one"):
        score(run, missing="zero", common=True)
    with pytest.raises(CrevalError, match="a replay of recorded answers does not know"):
        score(small_run, missing="zero")
    with pytest.raises(CrevalError, match="`correct` cannot be combined with"):
        correct_scores(run, score(run, resamples=100, missing="zero"), Calibration("j", {}))


def test_common_samples(run: Run) -> None:
    """s1 and s2, because A lacks s3 and B lacks s4."""
    card = score(run, resamples=100, common=True)
    assert card.table.samples == ("s1", "s2")
    assert card.table.sample_count_before_common == 4
    assert values(card, "A") == pytest.approx([100, 62.5, 100, 85])
    assert values(card, "B") == pytest.approx([100, 100, 100, 100])
    assert astuple(card.cell("A", "VC"))[3:] == (4, 4)
    assert card.table.unasked == {"A": 0, "B": 0}
    assert card.groups("dimension") == ("Surreal Fantasy",)
    alone = score(run, resamples=100, common=True, models=("A",))
    assert alone.table.samples == ("s1", "s2", "s4")


def test_a_sample_with_a_missing_answer_is_not_common(tmp_path: Path) -> None:
    """s2 has no VC of B, therefore no S: not both models have a score of it."""
    given = {"A": {"s1": "++++", "s2": "-+++"}, "B": {"s1": "+-++", "s2": "+??+"}}
    with open_run(written.write(tmp_path, given, DIMENSIONS)) as run:
        card = score(run, resamples=100, common=True)
        assert card.table.samples == ("s1",)
        # Ranked by IF alone, s2 is common. Its VC is still ignored for all models.
        ranked = score(run, resamples=100, common=True, weights={"IF": 1})
    assert ranked.table.samples == ("s1", "s2")
    assert astuple(ranked.cell("A", "VC"))[:1] + astuple(ranked.cell("A", "VC"))[3:] == (100, 2, 4)
    assert ranked.cell("A", "IF").value == 50


def test_intervals_of_common_samples_are_those_of_a_run_with_only_these(tmp_path: Path) -> None:
    names = {f"s{n}": "Surreal Fantasy" for n in range(20)}
    chance = np.random.default_rng(1)
    given: dict[str, dict[str, written.Answers]] = {
        model: {name: "".join(chance.choice(["+", "-"], 4)) for name in names} for model in "AB"
    }
    whole = {model: dict(said) for model, said in given.items()}
    given["A"]["s3"], given["B"]["s7"] = REFUSED, ABSENT
    less = [name for name in names if name not in ("s3", "s7")]
    with open_run(written.write(tmp_path / "1", given, names)) as run:
        card = score(run, resamples=500, common=True)
    fewer = {model: {name: said[name] for name in less} for model, said in whole.items()}
    with open_run(written.write(tmp_path / "2", fewer, {n: names[n] for n in less})) as run:
        expected = score(run, resamples=500)
    for model in "AB":
        for column in ("IF", "VC", "VQ", "S"):
            assert card.cell(model, column) == expected.cell(model, column)


def test_no_common_sample(tmp_path: Path) -> None:
    given = {"A": {"s1": "++++", "s2": "++++"}, "B": {"s3": "++++"}}
    written.write(tmp_path, given, DIMENSIONS)
    sentence = r"of all 2 models\. 'B' has the fewest \(1\)"
    with open_run(tmp_path) as run, pytest.raises(CrevalError, match=sentence):
        score(run, common=True)


def test_zero_in_complexbench_edit(tmp_path: Path) -> None:
    """One of two samples of each subset is refused: scores and those of step types are halved. Distances have
    no worst value and do not change."""
    benchmark = open_benchmark(write_release(tmp_path / "bench"))
    with RunWriter(tmp_path / "run") as store, store.transaction():
        store.put_manifest(describe_run(benchmark, "j"))
        samples = benchmark.dataset.samples
        store.put_samples([(s, benchmark.protocol.probes(s)) for s in samples], {})
        for number, sample in enumerate(samples):
            key = EditKey("A", sample.id)
            if number % 2:
                store.put_edits([Edit(key, REFUSED, reason="no")])
                continue
            store.put_edits([Edit(key)])
            verdicts = [
                Verdict(p.id, VerdictStatus.ANSWERED, 0.1 if isinstance(p, Measurement) else 5.0)
                for p in benchmark.protocol.probes(sample)
            ]
            ask = CallKey("j", key, tuple(verdict.probe for verdict in verdicts))
            store.put_replies([(ask, Reply(VerdictStatus.ANSWERED), verdicts)])
    with open_run(tmp_path / "run") as run:
        left_out, counted = (score(run, resamples=100, missing=r) for r in ("exclude", "zero"))
    assert left_out.cell("A", "score").value == pytest.approx(100)
    assert counted.cell("A", "score").value == pytest.approx(50)
    for subset in counted.groups("subset"):
        assert counted.cell("A", "score", subset).value == pytest.approx(50)
    kind = counted.cell("A", "score", "change object", "edit_type")
    assert kind.value == pytest.approx(50)
    assert kind.scored == kind.total
    assert left_out.cell("A", "score", "change object", "edit_type").value == pytest.approx(100)
    for column in ("L1", "L2"):
        assert astuple(counted.cell("A", column))[:3] == astuple(left_out.cell("A", column))[:3]
        assert counted.cell("A", column).value == pytest.approx(0.1)
