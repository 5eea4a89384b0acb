"""Sequential elimination of models, computed on arrays of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creval.core.errors import CrevalError, require_known
from creval.stats.confidence_sequence import Booleans, ConfidenceSequence, DifferenceBounds, StratumWeights
from creval.stats.score_table import Floats, Integers

BEST, RANKING = "best", "ranking"
QUESTIONS = (BEST, RANKING)


@dataclass(frozen=True)
class StoppingRule:
    """Question to decide, the risk `alpha` of a wrong decision, and the `margin` in points of a tie."""

    question: str = BEST
    alpha: float = 0.05
    margin: float = 0.0

    def __post_init__(self) -> None:
        require_known("question to decide", self.question, QUESTIONS)
        if not 0 < self.alpha <= 0.5:
            raise CrevalError("`alpha` takes a risk greater than 0 and at most 0.5, such as 0.05.")
        if not 0 <= self.margin < float("inf"):
            raise CrevalError("`margin` takes a number of points, 0 or more, such as 1.5.")


class Elimination:
    """Sequential comparison of models until the question is settled. Several runs are computed in parallel.

    A run is one order of the samples, or one simulated set of samples. `active` (axes run, model) are the models whose
    answers are still needed; `settled` are the finished runs; `beaten` are the models that were significantly worse
    than another when they were dropped. `bounds` are the differences of each pair when both models were last active.

    Question `best`: a model is dropped when another is significantly better. A set of models is dropped when every
    model that stays is significantly not worse by the margin than any of the set. The last model is the best. With K
    active models, each side of each pair has the risk alpha / (K (K - 1)), which bounds the risk of dropping one of two
    equal models. Only comparisons with the true best model can eliminate it. Whatever the fixed order in which the
    other models are dropped, these risks add up to alpha (1/2 + 1/6 + ... + 1 / (K (K - 1))) < alpha.

    Question `ranking`: a pair is settled when its order is significant, or when it significantly differs by less than
    the margin. A model is dropped when all its pairs are settled. Alpha is divided among all pairs, and stays so to the
    end.

    With a margin, the claim is about all samples of the benchmark, drawn without replacement. Without a margin, it is
    about the population of such samples: on exactly these samples, the last sample would settle every tie.
    """

    def __init__(
        self,
        rule: StoppingRule,
        sizes: Floats,
        models: int,
        *,
        stratum_weights: StratumWeights,
        value_range: float = 100.0,
        runs: int = 1,
    ) -> None:
        self.rule, self.models = rule, models
        self._sequence = ConfidenceSequence(
            sizes,
            models,
            stratum_weights=stratum_weights,
            value_range=value_range,
            finite_population=rule.margin > 0,
            runs=runs,
        )
        self.active: Booleans = np.ones((runs, models), dtype=np.bool_)
        self.beaten: Booleans = np.zeros((runs, models), dtype=np.bool_)
        self.settled: Booleans = np.full(runs, models == 1)
        self._settled_pairs: Booleans = np.tile(np.eye(models, dtype=np.bool_), (runs, 1, 1))
        self.bounds = DifferenceBounds(*(np.full((runs, models, models), v) for v in (0.0, np.inf)))

    def add(self, stratum: Integers, values: Floats) -> None:
        """Add a sample to every run that is not settled. Then drop models, or settle pairs."""
        going = ~self.settled[:, None]
        self._sequence.add(stratum, values, self.active & going)
        found = self._sequence.bounds(self._alpha_per_side())
        both = (self.active & going)[:, :, None] & self.active[:, None, :]
        pairs = zip(found, self.bounds, strict=True)
        self.bounds = DifferenceBounds(*(np.where(both, new, old) for new, old in pairs))
        if self.rule.question == BEST:
            self._eliminate(both)
        else:
            self._settle_pairs()

    def _alpha_per_side(self) -> Floats:
        """Return the risk alpha of each one-sided comparison, by run."""
        several = self.active.sum(axis=1) if self.rule.question == BEST else self.models
        sides = np.maximum(several * (several - 1), 2)
        return np.broadcast_to(self.rule.alpha / sides, len(self.active)).astype(np.float64)

    def _eliminate(self, both: Booleans) -> None:
        beaten = (both & (self.bounds.low > 0)).any(axis=1)
        self.beaten |= beaten
        if self.rule.margin > 0:
            beaten = beaten | self._within_margin(both)
        self.active &= ~beaten
        self.settled |= self.active.sum(axis=1) == 1

    def _within_margin(self, both: Booleans) -> Booleans:
        """Return the largest set of models to drop: every other model is significantly not worse by the margin."""
        ahead = np.where(both, self.bounds.value, 0.0).sum(axis=2)
        order = np.argsort(np.where(self.active, -ahead, np.inf), axis=1, kind="stable")
        place = np.argsort(order, axis=1, kind="stable")
        near = ~both | (self.bounds.low > -self.rule.margin)
        behind = np.zeros_like(self.active)
        for first in range(self.models - 1, 0, -1):
            front = place < first
            across = front[:, :, None] & ~front[:, None, :]
            sure = np.logical_and.reduce(near | ~across, axis=(1, 2))
            behind = np.where(sure[:, None], ~front, behind)
        return behind & self.active

    def _settle_pairs(self) -> None:
        low, high, margin = self.bounds.low, self.bounds.high, self.rule.margin
        known = (low > 0) | (high < 0)
        if margin > 0:
            known |= (low > -margin) & (high < margin)
        self._settled_pairs |= known
        self.active = np.logical_or.reduce(~self._settled_pairs, axis=2)
        self.settled |= ~self.active.any(axis=1)

    def open_pairs(self, run: int = 0) -> list[tuple[int, int]]:
        """Return the pairs whose order is not settled (question `ranking`)."""
        return [(i, j) for i, j in np.argwhere(~self._settled_pairs[run]).tolist() if i < j]
