"""The nouns that everything else speaks in."""

from creval.core.benchmark import Benchmark, Dataset, Finding, Protocol, System
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.human_ratings import Rating
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Box, Sample, Step
from creval.core.scales import Contract, contract_named
from creval.core.schema import OVERALL, Card, Composite, Level, Metric, Part, Score
from creval.core.verdict import Status, Verdict

__all__ = [
    "OVERALL",
    "Ask",
    "Benchmark",
    "Box",
    "Card",
    "Composite",
    "Contract",
    "CrevalError",
    "Dataset",
    "Edit",
    "EditKey",
    "EditStatus",
    "Finding",
    "Level",
    "Measurement",
    "Metric",
    "Part",
    "Probe",
    "Protocol",
    "Question",
    "Rating",
    "Reply",
    "Sample",
    "Score",
    "Status",
    "Step",
    "System",
    "Verdict",
    "contract_named",
]
