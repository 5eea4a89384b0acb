from __future__ import annotations

import tracemalloc
from dataclasses import astuple, replace

import numpy as np
import pytest

from creval.analysis.scoring import score
from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.reporting import sentences
from creval.stats.scorecard import Difference, Scorecard, build_scorecard
from creval.store import Run
from tests.stats.made import table

FEW = "A value without an interval is based on fewer than 5 samples; samples of the same source image count as one."
GENERATOR = np.random.default_rng(1)
BASE = GENERATOR.uniform(20, 80, (1, 60, 3))
NOISE = GENERATOR.normal(0, 5, (3, 60, 3))
NOISE -= NOISE.mean(axis=1, keepdims=True)
CARD = build_scorecard(table(np.concatenate([BASE, BASE + 0.1, BASE + 4]) + NOISE, [0, 4, 8] * 20), resamples=1000)


def test_cells_have_value_interval_and_coverage() -> None:
    cell = CARD.cell("A", "IF")
    assert cell.value == pytest.approx((BASE + NOISE)[0, :, 0].mean())
    assert None not in astuple(cell)
    assert sorted(astuple(cell)[:3]) == [cell.low, cell.value, cell.high]
    assert (cell.scored, cell.total) == (300, 300)
    assert CARD.cell("A", "S").total == 900
    group = CARD.cell("B", "VQ", "Surreal Fantasy")
    assert (group.value, group.low, group.total) == (None, None, 0)


def test_models_are_in_the_order_of_the_composite() -> None:
    assert CARD.models[0] == "C"


def test_paired_differences_are_decided_where_intervals_overlap() -> None:
    low = {model: CARD.cell(model, "S").low or 0 for model in "ABC"}
    high = {model: CARD.cell(model, "S").high or 0 for model in "ABC"}
    found = {(d.first, d.second): d for d in CARD.differences}
    assert high["A"] > low["C"], "their own intervals overlap"
    assert found["A", "C"].is_decided
    assert found["A", "C"].value == pytest.approx(-4, abs=2)
    assert not found["A", "B"].is_decided


def test_models_are_compared_on_the_samples_that_both_have() -> None:
    values = np.array([[[50.0] * 3] * 4 + [[90.0] * 3] * 4, [[40.0] * 3] * 4 + [[np.nan] * 3] * 4])
    (found,) = build_scorecard(table(values, [0] * 8), resamples=200).differences
    assert found.value == pytest.approx(10)
    assert found.samples == 4


def test_memory_does_not_grow_with_the_pairs_of_models() -> None:
    """24 models are 276 pairs, twelve are 66: all pairs in memory at once would take four times as much."""
    made = table(np.random.default_rng(2).uniform(0, 100, (12, 90, 3)), [*range(9)] * 10)
    peaks = []
    for times in (1, 2):
        models = made.select_models(*made.models * times)
        tracemalloc.start()
        card = build_scorecard(models, resamples=200)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(card.differences) == {1: 66, 2: 276}[times]
    assert peaks[1] < 1.6 * peaks[0]


def test_pairs_compared_in_blocks_have_the_same_differences() -> None:
    made = table(np.random.default_rng(3).uniform(0, 100, (12, 30, 3)), [0, 4, 8] * 10)
    whole = {(d.first, d.second): d for d in build_scorecard(made, resamples=200).differences}
    some = build_scorecard(made.select_models("A", "K", "L"), resamples=200).differences
    assert len(whole) == 66, "more than a block"
    for found in some:
        here = whole[found.first, found.second]
        assert astuple(found)[:3] == pytest.approx(astuple(here)[:3])
        assert found.samples == here.samples == 30


def test_few_samples_have_no_interval() -> None:
    card = build_scorecard(table(np.full((2, 4, 3), 50.0), [0, 1, 2, 3]), resamples=200)
    assert astuple(card.cell("A", "S"))[:3] == (50.0, None, None)
    assert card.differences[0].is_decided is False


def test_a_metric_with_few_samples_clears_only_its_own_interval_and_that_of_the_composite() -> None:
    values = np.random.default_rng(0).uniform(0, 100, (2, 20, 3))
    values[:, 3:, 1] = np.nan
    card = build_scorecard(table(values, [0] * 20), resamples=200)
    ends = {column: card.cell("A", column).low is not None for column in ("IF", "VC", "VQ", "S")}
    assert ends == {"IF": True, "VC": False, "VQ": True, "S": False}
    assert card.differences[0].low is None


def test_samples_are_a_level_too() -> None:
    cell = CARD.cell("A", "S", "s3", "sample")
    expected = (BASE + NOISE)[0, 3] @ [0.4, 0.4, 0.2]
    assert cell.value == pytest.approx(expected)
    assert astuple(cell)[1:] == (None, None, 15, 15)
    assert CARD.groups("sample") == CARD.table.samples


def test_unknown_names_are_refused() -> None:
    for names, sentence in (
        (("a", "IF", "overall"), "no model 'a'; did you mean 'A'"),
        (("A", "if", "overall"), "no metric 'if'; did you mean 'IF'"),
        (("A", "IF", "Stylisation"), "did you mean 'Stylization'"),
    ):
        with pytest.raises(CrevalError, match=sentence):
            CARD.cell(*names)


def test_a_frame_holds_every_cell(small_run: Run) -> None:
    card = score(small_run, resamples=200)
    frame = card.frame()
    assert frame.shape[0] == (1 + 3 + 9) * 3 * 4
    assert card.frame("sample").shape[0] == 18 * 3 * 4
    assert card.frame("sample").schema == card.frame(["sample", "overall"]).schema == frame.schema


def test_weights_change_the_composite_only(small_run: Run) -> None:
    plain = score(small_run, resamples=200)
    other = score(small_run, resamples=200, weights={"IF": 1, "VC": 1})
    assert other.cell("Keeper", "VC") == plain.cell("Keeper", "VC")
    parts = [plain.cell("Keeper", metric).value or 0 for metric in ("IF", "VC")]
    assert other.cell("Keeper", "S").value == pytest.approx(sum(parts) / 2)


def test_unsupported_samples_count_but_have_no_cell() -> None:
    """They count zero in higher means; a group without supported samples has no value."""
    made = table(np.full((2, 12, 3), 80.0), [0] * 6 + [1] * 6)
    values, total = made.values.copy(), made.total.copy()
    values[1, :6], total[1, :6] = 0.0, 0
    made = replace(made, values=values, scored=total, total=total, unsupported={"A": 0, "B": 6})
    card = build_scorecard(made, resamples=200)
    first, second = card.table.schema.find_level("dimension").groups[:2]
    assert astuple(card.cell("B", "IF", first))[:3] == (None, None, None)
    assert card.cell("B", "IF", second).value == 80.0
    assert card.cell("B", "S").value == pytest.approx(40.0)
    assert card.cell("B", "IF", "Customization").value == pytest.approx(40.0)
    assert (card.cell("B", "IF").scored, card.cell("B", "IF").total) == (30, 30)
    assert card.cell("B", "S", "s0", "sample").value is None
    (difference,) = card.differences
    assert difference.value == pytest.approx(40.0), "as the overall scores differ"


def test_a_model_that_supports_nothing_has_no_score() -> None:
    made = table(np.zeros((1, 6, 3)), [0] * 6)
    nothing = np.zeros_like(made.total)
    card = build_scorecard(replace(made, scored=nothing, total=nothing), resamples=100)
    assert card.cell("A", "S").value is None
    assert card.groups("dimension") == ()


def test_samples_of_one_image_are_one_cluster() -> None:
    """Eight samples of four images have no interval, of five images they have one; values do not change."""
    values = np.random.default_rng(0).normal(60, 10, (2, 8, 3))
    for images, sure in (([0, 0, 0, 1, 1, 2, 2, 3], False), ([0, 0, 1, 1, 2, 2, 3, 4], True)):
        made = replace(table(values, [0] * 8), clusters=np.array(images))
        card = build_scorecard(made, resamples=200)
        for column in ("IF", "S"):
            cell = card.cell("A", column)
            assert cell.value == build_scorecard(table(values, [0] * 8)).cell("A", column).value
            assert (cell.low is not None) == sure
        (difference,) = card.differences
        assert (difference.low is not None) == sure
        assert difference.samples == 8
        said = sentences.missing_interval_sentences(card, [("overall", "overall")])
        assert said == ([] if sure else [FEW])


@pytest.mark.parametrize(
    ("low", "high", "p", "is_decided"),
    [
        (0.1, 2.0, None, True),
        (-2.0, -0.1, None, True),
        (-0.1, 2.0, None, False),
        (0.0, 2.0, None, False),
        (-2.0, 0.0, None, False),
        (-0.1, 2.0, 0.05, True),
        (0.1, 2.0, 0.051, False),
        (None, None, 0.001, False),
    ],
)
def test_a_difference_is_decided_by_the_test_or_by_the_interval(
    low: float | None, high: float | None, p: float | None, is_decided: bool
) -> None:
    assert Difference(1.0, low, high, first="A", second="B", samples=9, p=p).is_decided is is_decided


def test_only_decided_pairs_are_listed_the_better_model_first() -> None:
    differences = (
        Difference(2.0, 1.0, 3.0, first="A", second="B", samples=9),
        Difference(-2.0, -3.0, -1.0, first="A", second="C", samples=9),
        Difference(5.0, -1.0, 11.0, first="B", second="C", samples=9),
        Difference(None, None, None, first="B", second="D", samples=0),
    )
    made = table(np.zeros((4, 2, 3)), [0, 0])
    assert Scorecard(made, {}, differences).decided_pairs == (("A", "B"), ("C", "A"))
    lower = replace(made, schema=replace(made.schema, metrics=(Metric("L1", "distance", higher_is_better=False),)))
    lower = replace(lower, schema=replace(lower.schema, composite=None))
    assert Scorecard(lower, {}, differences).decided_pairs == (("B", "A"), ("A", "C"))


def test_a_difference_has_the_sample_count_of_the_smallest_metric() -> None:
    """Of twelve samples, A lacks IF in three and B lacks VC in five others: 9, 7 and 12 are shared."""
    values = np.random.default_rng(5).uniform(0, 100, (2, 12, 3))
    values[0, :3, 0] = np.nan
    values[1, 3:8, 1] = np.nan
    (found,) = build_scorecard(table(values, [0] * 12), resamples=100).differences
    assert found.samples == 7
    assert found.low is not None
    values[1, 3:11, 1] = np.nan
    (found,) = build_scorecard(table(values, [0] * 12), resamples=100).differences
    assert (found.samples, found.low) == (4, None), "too few for an interval"


def test_groups_of_models_have_means_and_gaps() -> None:
    values = np.concatenate([BASE, BASE + 0.1, BASE + 4]) + NOISE
    made = build_scorecard(
        table(values, [0, 4, 8] * 20), resamples=1000, groups={"open": ["A", "B"], "closed": ["C"]}, average=True
    )
    assert [one.name for one in made.model_sets] == [
        "mean of open",
        "mean of closed",
        "open minus closed",
        "average over models",
    ]
    mean = (made.cell("A", "S").value or 0) / 2 + (made.cell("B", "S").value or 0) / 2
    assert made.cell("mean of open", "S").value == pytest.approx(mean)
    assert made.cell("mean of closed", "S") == made.cell("C", "S")
    gap = made.cell("open minus closed", "S")
    assert gap.value == pytest.approx(mean - (made.cell("C", "S").value or 0))
    # The gap is paired over samples: much narrower than the intervals of its parts, and near mean +- 1.96 errors.
    apart = values[:2].mean(axis=0) - values[2]
    composite = apart @ [0.4, 0.4, 0.2]
    within = np.mean([composite[n::3].var(ddof=1) / 20 for n in range(3)]) / 3
    assert gap.low is not None
    assert gap.high is not None
    assert gap.high - gap.low == pytest.approx(2 * 1.96 * within**0.5, rel=0.08)
    assert made.cell("open minus closed", "IF", "Customization").value == pytest.approx(
        np.mean([(made.cell(name, "IF", "Customization").value or 0) for name in "AB"])
        - (made.cell("C", "IF", "Customization").value or 0)
    )


def test_a_group_ignores_models_without_a_value() -> None:
    values = BASE + np.zeros((3, 60, 3))
    values[1] = np.nan
    made = build_scorecard(table(values, [0] * 60), resamples=100, groups={"x": ["A", "B"], "y": ["B"]})
    assert made.cell("mean of x", "IF").value == pytest.approx(made.cell("A", "IF").value)
    assert made.cell("x minus y", "IF").value is None


def test_unknown_models_and_empty_groups_are_refused() -> None:
    made = table(BASE + np.zeros((2, 60, 3)), [0] * 60)
    with pytest.raises(CrevalError, match="no model 'Z'"):
        build_scorecard(made, groups={"x": ["Z"]})
    with pytest.raises(CrevalError, match="needs models"):
        build_scorecard(made, groups={"x": []})
