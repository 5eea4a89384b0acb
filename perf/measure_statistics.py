"""Speed of scores with intervals and comparisons of eight models on 900 samples with 10,000 resamples, compared with
one matrix product of that size."""

from __future__ import annotations

import statistics
import time

import numpy as np

from creval.benchmarks.creval.protocol import SCHEMA
from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import build_scorecard

MODELS, SAMPLES, RESAMPLES, ROUNDS = 8, 900, 10_000, 5
MOST = 2.0  # seconds


def main() -> None:
    made = table()
    counts = np.ones((RESAMPLES, SAMPLES))
    flat = made.values.transpose(1, 0, 2).reshape(SAMPLES, -1)
    products, wholes = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        counts @ flat
        products.append(time.perf_counter() - began)
        began = time.perf_counter()
        build_scorecard(made, resamples=RESAMPLES)
        wholes.append(time.perf_counter() - began)
    whole = statistics.median(wholes)
    ratio = statistics.median(w / p for w, p in zip(wholes, products, strict=True))
    print(f"{RESAMPLES:,} resamples x {MODELS} models x {SAMPLES} samples: {whole:.2f} s", end="")
    print(f" (at most {MOST:.0f}), {ratio:.0f} times a product of matrices of that size")


def table() -> ScoreTable:
    chance = np.random.default_rng(1)
    values = chance.normal(70, 15, (MODELS, SAMPLES, len(SCHEMA.metrics)))
    place = np.arange(SAMPLES) % 9
    total = np.full(values.shape, 5, dtype=np.int64)
    return ScoreTable(
        schema=SCHEMA,
        models=tuple(f"model {n}" for n in range(MODELS)),
        samples=tuple(f"s{n}" for n in range(SAMPLES)),
        groups={"category": place // 3, "dimension": place},
        values=values,
        scored=total,
        total=total,
        unanswered={},
        unasked={},
        clusters=np.arange(SAMPLES),
    )


if __name__ == "__main__":
    main()
