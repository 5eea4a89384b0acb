"""The protocol for your own yes/no questions, each of which belongs to a metric.

A sample's metric = sum(weight * correct) / sum(weight), in percent. If there are several metrics, `mean` is their
unweighted mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from creval.benchmarks.own_samples import release
from creval.benchmarks.own_samples.question_rows import COMPOSITE, DEFAULT_METRIC
from creval.core.benchmark import BenchmarkFormat, Protocol
from creval.core.probe import Probe, Question
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Composite, Metric, Score, ScoreSchema


class OwnQuestions(Protocol):
    """The yes/no questions of a dataset, scored by metric."""

    name = "questions"

    def __init__(self, metrics: Sequence[str] = ()) -> None:
        names = tuple(metrics) or (DEFAULT_METRIC,)
        weights = dict.fromkeys(names, 1 / len(names))
        composite = Composite(COMPOSITE, "mean of the metrics", weights) if len(names) > 1 else None
        self.schema = ScoreSchema(tuple(Metric(name, name) for name in names), composite, (OVERALL,))

    def for_metrics(self, metrics: Sequence[str]) -> Protocol:
        return OwnQuestions(metrics)

    def probes(self, sample: Sample) -> Sequence[Question]:
        return sample.questions

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        return self.weighted_shares(probes, values)


BENCHMARK_FORMAT = BenchmarkFormat(
    name=release.NAME,
    title="your own samples, in samples.csv or samples.jsonl",
    recognise=release.find_samples_folder,
    load=release.load_own_samples,
    protocol=OwnQuestions,
)
