from __future__ import annotations

from dataclasses import replace

import numpy as np

from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.reporting import sentences
from creval.reporting.commands.comparison_output import comparison_output
from creval.stats.scorecard import build_scorecard
from creval.store import Run
from tests.stats.made import table


def test_significant_and_other_differences() -> None:
    noise = np.random.default_rng(2).normal(0, 8, (3, 30, 3))
    noise -= noise.mean(axis=1, keepdims=True)
    card = build_scorecard(table(np.array([50.0, 50.5, 80])[:, None, None] + noise, [0] * 30))
    sentence = sentences.decided_sentence(card)
    assert sentence.startswith("In S, 2 of 3 pairs of models differ significantly")
    assert "Not significant: B over A (+0.50 [-" in sentence


def test_one_model_is_not_compared() -> None:
    card = build_scorecard(table(np.full((1, 3, 3), 5.0), [0, 1, 2]), resamples=100)
    assert "only one model" in sentences.decided_sentence(card)


def test_the_basis_of_a_table(small_run: Run) -> None:
    card = score(small_run, resamples=100, weights={"IF": 1, "VC": 1})
    sentence = sentences.basis_sentence(card, small_run.manifest, 100)
    assert "judge recorded:answers, 18 samples; S = 0.5 IF + 0.5 VC + 0 VQ." in sentence
    assert sentences.strictness_sentence(card) == "All questions that were asked have an answer."
    strict = score(small_run, strict=True, resamples=100)
    assert sentences.strictness_sentence(strict).startswith("Strict scoring, as in the authors' scripts: 0 unanswered")


def test_two_models_in_one_sentence(small_run: Run) -> None:
    (sentence,) = comparison_output(compare(small_run, "Careful", "Keeper", resamples=300)).sentences
    assert sentence.startswith("S of Careful is ")
    assert "points higher than that of Keeper on the 18 samples that both have (95 % interval" in sentence
    assert sentence.endswith("): significant.")


def test_unsupported_samples() -> None:
    card = build_scorecard(table(np.full((2, 8, 3), 50.0), [0] * 8), resamples=100)
    assert sentences.unsupported_sentences(card.table) == []
    counted = replace(
        card.table, unsupported={"A": 0, "B": 3}, schema=replace(card.table.schema, unsupported_value=0.0)
    )
    (said,) = sentences.unsupported_sentences(counted)
    assert said.startswith("A sample that a model does not support counts as 0. Unsupported samples, of 8: B 3.")
