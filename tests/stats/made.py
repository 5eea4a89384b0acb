"""Score tables for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.benchmarks.creval.protocol import SCHEMA
from creval.stats.score_table import Floats, ScoreTable

CATEGORY = [0, 0, 0, 1, 1, 1, 2, 2, 2]


def table(values: Floats, dimensions: Sequence[int]) -> ScoreTable:
    """Return a table of CREval's schema from values with the axes model, sample, metric."""
    place = np.asarray(dimensions, dtype=np.int64)
    total = np.full(values.shape, 5, dtype=np.int64)
    return ScoreTable(
        schema=SCHEMA,
        models=tuple("ABCDEFGHIJKL"[: len(values)]),
        samples=tuple(f"s{n}" for n in range(values.shape[1])),
        groups={"category": np.array(CATEGORY)[place], "dimension": place},
        values=values,
        scored=np.where(np.isnan(values), 0, total),
        total=total,
        unanswered={},
        unasked={},
        clusters=np.arange(values.shape[1]),
    )
