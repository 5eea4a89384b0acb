"""Who can still be best, and which places are still open: the rule, without names or files."""

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
    """What is to be decided, at which risk of deciding wrongly, and within how many points."""

    question: str = BEST
    alpha: float = 0.05
    margin: float = 0.0

    def __post_init__(self) -> None:
        require_known("question to decide", self.question, QUESTIONS)
        if not 0 < self.alpha <= 0.5:
            raise CrevalError("`alpha` takes a risk above 0 and up to 0.5, such as 0.05.")
        if not 0 <= self.margin < float("inf"):
            raise CrevalError("`margin` takes points, 0 or more, such as 1.5.")


class Elimination:
    """Models that are compared until the question is settled, in several runs side by side.

    `active` says, by run and model, whose answers are still needed; `settled` which runs are over;
    `beaten` who was surely worse than another when it was dropped. `bounds` are the differences as
    they were last looked at, for each pair while both were there.

    On `best`: a model is dropped when another is surely better; or, together with others, when all who stay are
    surely not worse by the margin than any of those dropped. Who is alone in the end is best. Of K models still in
    the race, each pair takes on each side the K (K - 1)-th part of alpha. Among equals anyone is dropped with at most
    that risk. Only comparisons with the true best can cost it its place; in whatever fixed order the others leave,
    the risks of these add up to alpha (1/2 + 1/6 + ... + 1 / (K (K - 1))) < alpha.

    On `ranking`: a pair is settled when its order is sure, or that the two differ by less than the
    margin; a model is dropped when all its pairs are settled. All pairs share alpha to the end.

    With a margin, what is claimed is about all samples of the benchmark, drawn without replacement. Without one it is
    about samples of this kind: on exactly these, the last sample would settle every tie.
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
        """One more sample of every run that is not settled, and what follows from it."""
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
        """Return the risk that each difference takes on one side, by run."""
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
        """Those than whom all others are surely not worse by the margin; as many as possible."""
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
        """On `ranking`, the pairs whose order is not settled."""
        return [(i, j) for i, j in np.argwhere(~self._settled_pairs[run]).tolist() if i < j]
