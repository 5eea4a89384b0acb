"""Measuring edits outside a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.analysis.measure_edits import gauge_edits
from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.metrics.base import open_gauges
from creval.metrics.embeddings import Embeddings, Wish
from tests.metrics.images import noise
from tests.metrics.test_embeddings import Counting


def test_who_interrupts_does_not_wait_for_all_that_models_could_make(
    miniature: Path, tmp_path: Path
) -> None:
    (tmp_path / "A").mkdir()
    noise(1, (40, 30)).save(tmp_path / "A" / "mini_001.png")
    embeddings = Embeddings()

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gauge_edits(
            open_benchmark(miniature / "bench"), [tmp_path / "A"],
            open_gauges(["colorfulness"], {}), embeddings, watch=interrupt,
        )  # fmt: skip
    with pytest.raises(CrevalError, match="stopped"):
        embeddings.grant([Wish(Counting(), "more")])
