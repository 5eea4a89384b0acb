"""A run of ICE-Bench with generated values, of models that support all, some and one of its tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import creval.judging.metric_models as gauging
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.judging.summary import JudgeSummary
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs, NotMeasurable
from creval.providers.huggingface import DependencyMissing
from tests.benchmarks.ice_bench.release_files import write_edits

SPANS = {"aesthetic": (3.0, 7.0), "imaging": (30.0, 80.0), "clip_cap": (0.1, 0.35)}


class Made(ImageMetric):
    """Fake metric that returns a different number for each image, in the range of the real metric."""

    info = MetricInfo("made", "", (), "")

    def __init__(self, name: str, *, here: bool = True) -> None:
        self.name, self._here = name, here

    def measure(self, exhibit: MetricInputs, made: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        sample, edit = exhibit.sample, exhibit.edit_path
        if not self._here:
            raise DependencyMissing(f"{self.name} is not here")
        if self.name == "face" and sample.references[0].stem.startswith(("0", "1", "2")):
            raise NotMeasurable("there is no face in the reference")
        place = int(hashlib.sha256(f"{self.name}{edit}".encode()).hexdigest()[:8], 16) / 2**32
        low, high = SPANS.get(self.name, (0.0, 1.0))
        return {self.name: low + (high - low) * place}


def made_of(names: Iterable[str], _: Mapping[str, str]) -> dict[str, ImageMetric]:
    return {name: Made(name) for name in names}


ABLE: Mapping[str, frozenset[int]] = {
    "Everything": frozenset(range(1, 32)),
    "Painter": frozenset({1}),
    "Steered": frozenset({4, 24, 25, 26, 27}),
}


def write_models(
    release: Path, folder: Path, able: Mapping[str, Collection[int]] = ABLE, listed: str = ""
) -> list[Path]:
    """Write a folder of edits for each model, for the numbers of the tasks that it supports.

    A model's edits may be listed in a file.
    """
    return [
        write_edits(
            release,
            folder / name,
            listed=name == listed,
            seed=at,
            supports=lambda task, numbers=numbers: task.number in numbers,  # type: ignore[misc]
        )
        for at, (name, numbers) in enumerate(able.items())
    ]


def make_run(root: Path, judge_spec: str = "", without: Collection[str] = (), **settings: Any) -> JudgeSummary:
    """Judge and measure the edits of these models in `root`/results with generated values.

    `without` are metrics that are not available.
    """

    def some(names: Iterable[str], _: Mapping[str, str]) -> dict[str, ImageMetric]:
        return {name: Made(name, here=name not in without) for name in names}

    folders = [root / "results" / name for name in ABLE]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gauging, "open_image_metrics", some)
        return judge(open_benchmark(root / "ICE"), folders, judge_spec, root / "run", Settings(**settings))
