"""Data types that all other packages use."""

from creval.core.benchmark import Benchmark, BenchmarkFormat, Dataset, DatasetIssue, Protocol
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.human_ratings import Rating
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Box, InstructionStep, Sample
from creval.core.scales import AnswerScale, get_scale
from creval.core.schema import OVERALL, Composite, Level, Metric, Score, ScoreSchema, SubScore
from creval.core.verdict import Verdict, VerdictStatus

__all__ = [
    "OVERALL",
    "AnswerScale",
    "Benchmark",
    "BenchmarkFormat",
    "Box",
    "CallKey",
    "Composite",
    "CrevalError",
    "Dataset",
    "DatasetIssue",
    "Edit",
    "EditKey",
    "EditStatus",
    "InstructionStep",
    "Level",
    "Measurement",
    "Metric",
    "Probe",
    "Protocol",
    "Question",
    "Rating",
    "Reply",
    "Sample",
    "Score",
    "ScoreSchema",
    "SubScore",
    "Verdict",
    "VerdictStatus",
    "get_scale",
]
