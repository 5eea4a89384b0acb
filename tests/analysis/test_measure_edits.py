"""Metrics of edits without a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.analysis.measure_edits import measure_edits
from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.metrics.base import open_image_metrics
from creval.metrics.features import FeatureCache, FeatureRequest
from tests.metrics.images import noise
from tests.metrics.test_features import Counting


def test_an_interrupt_does_not_wait_for_slow_models(miniature: Path, tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    noise(1, (40, 30)).save(tmp_path / "A" / "mini_001.png")
    embeddings = FeatureCache()

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_edits(
            open_benchmark(miniature / "bench"),
            [tmp_path / "A"],
            open_image_metrics(["colorfulness"], {}),
            embeddings,
            on_progress=interrupt,
        )
    with pytest.raises(CrevalError, match="stopped"):
        embeddings.compute([FeatureRequest(Counting(), "more")])
