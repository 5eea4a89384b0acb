"""Outcomes of early stopping: models, reasons and numbers of answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from creval.benchmarks.creval.protocol import SCHEMA
from creval.core.errors import CrevalError
from creval.core.schema import OVERALL, Level, Metric, ScoreSchema
from creval.stats.early_stopping import SequentialTest
from creval.stats.elimination import RANKING, StoppingRule
from creval.stats.score_table import Floats

DIMENSIONS = SCHEMA.find_level("dimension").groups
TAGS = [{"dimension": DIMENSIONS[at % 9]} for at in range(270)]


def stopped(
    rule: StoppingRule, means: list[float], *, card: ScoreSchema = SCHEMA, spread: float = 8.0
) -> SequentialTest:
    """Return a test of models with these means, after it is settled or all samples were added."""
    models = tuple("ABCDEFGH"[: len(means)])
    tags = [tag for tag in TAGS if card is SCHEMA] or [{"subset": "ab"[at > 89]} for at in range(180)]
    made = SequentialTest(rule, card, models, tags)
    generator = np.random.default_rng(1)
    for _ in tags:
        if made.is_settled:
            break
        values: Floats = np.array(means) + generator.normal(0, spread, len(means))
        made.add(values, np.full(len(means), 15))
    return made


def test_dropped_models_use_no_more_answers() -> None:
    made = stopped(StoppingRule(), [70, 80, 40])
    outcome = made.outcome(answers_total=270 * 3 * 15)
    assert (outcome.best, outcome.undecided, outcome.reason) == ("B", (), "settled")
    assert outcome.ranking == ("B", "A", "C")
    best, second, last = outcome.standings
    assert (best.state, second.state, last.state) == ("best", "worse", "worse")
    assert last.samples <= second.samples == best.samples == outcome.samples_used == made.samples_added
    assert outcome.answers_used == 15 * sum(at.samples for at in outcome.standings)
    assert second.high is not None
    assert second.high < 0
    assert second.value == pytest.approx(70, abs=3)
    assert made.active_models == ()


def test_the_reason_is_the_margin_if_models_are_equal() -> None:
    outcome = stopped(StoppingRule(margin=4.0), [75, 75, 40]).outcome(1)
    assert outcome.reason == "within the margin"
    states = {at.model: at.state for at in outcome.standings}
    assert states["C"] == "worse"
    assert sorted(states[name] for name in "AB") == ["best", "not better by the margin"]
    assert stopped(StoppingRule(margin=4.0), [90, 40]).outcome(1).reason == "settled"


def test_models_are_undecided_if_no_samples_are_left() -> None:
    outcome = stopped(StoppingRule(), [75, 75, 40]).outcome(1)
    assert (outcome.best, set(outcome.undecided)) == (None, {"A", "B"})
    assert outcome.reason == "out of samples"
    assert SequentialTest(StoppingRule(), SCHEMA, "AB", TAGS).outcome(1).reason == "not finished"


def test_a_ranking_lists_open_pairs() -> None:
    facts = stopped(StoppingRule(RANKING), [75, 75, 40]).outcome(1).to_dict()
    assert facts["open"] == [["A", "B"]]
    assert facts["best"] is None
    done = stopped(StoppingRule(RANKING), [60, 75, 40]).outcome(1)
    assert (done.ranking, done.best, done.reason) == (("B", "A", "C"), "B", "settled")


def test_the_lowest_is_best_if_lower_is_better() -> None:
    distance = Metric("L1", "distance", 0.0, 1.0, higher_is_better=False)
    levels = (replace(OVERALL, mean_of="subset"), Level("subset", "subsets", ("a", "b")))
    card = ScoreSchema((distance,), None, levels)
    outcome = stopped(StoppingRule(), [0.6, 0.2, 0.5], card=card, spread=0.1).outcome(1)
    assert outcome.best == "B"
    assert outcome.ranking == ("B", "C", "A")
    assert outcome.standings[2].difference == pytest.approx(0.4, abs=0.1)


def test_one_model_is_refused() -> None:
    with pytest.raises(CrevalError, match="give two or more"):
        SequentialTest(StoppingRule(), SCHEMA, ["A"], TAGS)


def test_a_settled_ranking_lists_equal_pairs() -> None:
    alike = stopped(StoppingRule(RANKING, margin=4.0), [75, 75, 40]).outcome(1)
    assert alike.reason == "within the margin"
    assert [set(pair) for pair in alike.equal_pairs] == [{"A", "B"}]
    assert alike.equal_pairs[0] == alike.ranking[:2], "in the order of the ranking"
    assert stopped(StoppingRule(RANKING), [75, 75, 40]).outcome(1).equal_pairs == (), "it is not settled"
    assert stopped(StoppingRule(RANKING), [60, 75, 40]).outcome(1).equal_pairs == (), "all differ"
    assert stopped(StoppingRule(margin=4.0), [75, 75, 40]).outcome(1).equal_pairs == (), "only the best was asked for"
