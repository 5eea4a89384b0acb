"""The nouns that everything else speaks in."""

from creval.core.benchmark import Benchmark, Dataset, Finding, Protocol, System
from creval.core.card import OVERALL, Card, Composite, Level, Metric, Part, Score
from creval.core.contract import Contract, contract_named
from creval.core.errors import CrevalError
from creval.core.probe import Ask, EditKey, Measurement, Probe, Question
from creval.core.sample import Box, Edit, EditStatus, Sample, Step
from creval.core.verdict import Rating, Reply, Status, Verdict

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
