"""CREval: creative edits judged by yes/no questions in three metrics (arXiv 2603.26174).

A sample's metric = sum(weight * correct) / sum(weight), in percent. The composite is S = 0.4 IF + 0.4 VC + 0.2 VQ, at
every level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from creval.benchmarks.creval import release
from creval.benchmarks.creval.release import LEVELS, METRICS
from creval.core.benchmark import BenchmarkFormat, Protocol
from creval.core.probe import Probe, Question
from creval.core.sample import Sample
from creval.core.scales import YesNo
from creval.core.schema import Composite, Metric, Score, ScoreSchema

SCHEMA = ScoreSchema(
    metrics=(Metric("IF", "instruction following"), Metric("VC", "visual consistency"), Metric("VQ", "visual quality")),
    composite=Composite("S", "overall score", {"IF": 0.4, "VC": 0.4, "VQ": 0.2}),
    levels=LEVELS,
)


class CREval(Protocol):
    """CREval's questions and their scoring."""

    name = "creval"
    schema = SCHEMA
    has_strict = True
    authors_prompt_differs = True

    def probes(self, sample: Sample) -> Sequence[Question]:
        return [question for question in sample.questions if question.metric in METRICS]

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        """Return the scores of a sample.

        With `strict`, an unanswered question counts as wrong, and references are used as released, without repairs.
        """
        return self.weighted_shares(probes, values, strict=strict)

    def credit(self, question: Question, value: float | None, *, strict: bool = False) -> float | None:
        if not strict:
            if value is None or question.reference is None:
                return None
            return _YES_NO.credit(value, question.reference)
        # The authors compare texts, ignoring case, so a reference such as `** Yes` matches no answer.
        reference = question.released_reference.strip().capitalize()
        if value is None or reference not in _YES_NO.choices:
            return 0.0
        return _YES_NO.credit(value, reference)


_YES_NO = YesNo()

BENCHMARK_FORMAT = BenchmarkFormat(
    name=CREval.name,
    title="creative edits, yes/no questions on instruction following, consistency and quality",
    recognise=release.find_creval_folder,
    load=release.load_creval_dataset,
    protocol=CREval,
    published=Path(__file__).with_name("published.json"),
    release=release.SOURCE,
)
