"""The metrics of a benchmark, found in one pass over its probes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from creval.core.benchmark import Benchmark, Dataset, Protocol
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.schema import OVERALL, ScoreSchema


class Counted(Protocol):
    """A protocol with one question and one measurement per sample."""

    name = "counted"
    schema = ScoreSchema((), None, (OVERALL,))
    image_metrics = ("ssim",)

    def __init__(self) -> None:
        self.passes = 0

    def probes(self, sample: Sample) -> Sequence[Probe]:  # noqa: ARG002
        self.passes += 1
        return [Question("a", "IF", "Is it done?"), Measurement("l1", "L1", "outside")]

    def score(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}


def test_metrics_come_from_one_pass_over_the_probes() -> None:
    protocol = Counted()
    samples = tuple(Sample(name, "", None) for name in "abc")
    benchmark = Benchmark(Dataset("made", Path(), samples), protocol)
    assert benchmark.metrics == ("IF", "L1")
    assert benchmark.judged_metrics == {"IF"}
    assert benchmark.image_metrics == {"ssim", "outside"}
    assert protocol.passes == 3
