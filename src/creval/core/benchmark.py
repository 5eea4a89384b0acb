"""Datasets, protocols and benchmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from creval.core.edit_record import Edit
from creval.core.errors import CrevalError, unknown_name_error
from creval.core.probe import Measurement, Probe, Question
from creval.core.release_source import ReleaseSource
from creval.core.sample import Sample
from creval.core.scales import AnswerScale, get_scale, scales
from creval.core.schema import OVERALL, Level, Score, ScoreSchema, SubScore, Weights


@dataclass(frozen=True)
class DatasetIssue:
    """A problem in a benchmark's files.

    `location` is the file or the sample with the problem, and `item` the place inside it. If creval repaired the
    problem in memory, it replaced `original` by `replacement`. Otherwise `note` describes the consequence.
    """

    rule: str
    location: str
    item: str = ""
    original: str = ""
    replacement: str = ""
    note: str = ""

    @property
    def is_repaired(self) -> bool:
        return bool(self.replacement)


class IssueList(list[DatasetIssue]):
    """Problems found so far in a benchmark's files."""

    def add(
        self, rule: str, location: str, note: str = "", item: str = "", original: str = "", replacement: str = ""
    ) -> None:
        self.append(DatasetIssue(rule, location, item, original, replacement, note))


class EditFile(NamedTuple):
    """The edit that a file contains: its sample, draw and strategy (empty for a direct edit)."""

    sample: str
    draw: int = 0
    strategy: str = ""


@dataclass(frozen=True)
class Dataset:
    """Samples from a folder, named subsets of these samples, and the problems found in the folder's files.

    - `title`: display name, if the dataset has its own.
    - `metrics`: metrics of the dataset's questions, for protocols without metrics of their own.
    - `authored_by`: models that helped to create the dataset, by role (`writer` of instructions, `asker` of questions).
    - `levels`: levels at which samples are grouped in tables. They replace the protocol's levels, except those of
      sub-scores.
    - `match_edit_file`: returns the edit that a file contains, given its path without suffix. Only for benchmarks whose
      authors use a special layout.
    - `read_model_outputs`: reads metadata that a model's output folder declares per sample (e.g. `gen_info.json`).
    - `operation_categories`: the operations (kinds of steps) in its instructions, by category.
    - `requires_all_inputs`: if an editor cannot take a sample's mask or references, the edit is `unsupported`.
    """

    name: str
    root: Path
    samples: tuple[Sample, ...]
    subsets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    issues: tuple[DatasetIssue, ...] = ()
    authored_by: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[Level, ...] = (OVERALL,)
    match_edit_file: Callable[[str], EditFile | None] | None = None
    read_model_outputs: Callable[[Path, Sequence[Sample]], Mapping[str, Edit]] | None = None
    requires_all_inputs: bool = False
    title: str = ""
    metrics: tuple[str, ...] = ()
    operation_categories: Mapping[str, Collection[str]] = field(default_factory=dict)


class Protocol(ABC):
    """The questions and measurements for an edit, and how a sample is scored from them.

    How samples are combined (groups, intervals, tables) follows from `schema`.

    - `prompt`: name of the prompt with which its questions are asked.
    - `has_strict`: True if the benchmark's authors score differently; `strict=True` selects their scoring.
    - `authors_prompt_differs`: True if the published scores were obtained with a prompt other than `prompt`.
    - `image_metrics`: image metrics that the protocol uses only for some samples.
    - `prompts`, `scales`: its custom prompts and answer scales.
    """

    name: str
    schema: ScoreSchema
    prompt: str = "judge"
    has_strict: bool = False
    authors_prompt_differs: bool = False
    image_metrics: Collection[str] = ()
    prompts: Mapping[str, str] = MappingProxyType({})
    scales: Sequence[AnswerScale] = ()

    def register_scales(self) -> None:
        """Register the protocol's custom scales under their names."""
        for scale in self.scales:
            shipped = scale.name in scales and not scales.origin(scale.name)
            if not shipped or scales.get(scale.name).choices != scale.choices:
                scales.register(scale.name, scale)

    @abstractmethod
    def probes(self, sample: Sample) -> Sequence[Probe]:
        """Return the questions and measurements for each edit of a sample."""

    @abstractmethod
    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> Mapping[str, Score]:
        """Return one sample's scores by metric, given the values of its probes by probe id.

        A value of None means that the probe was asked but not answered. A probe without an entry was never asked.
        `strict` selects the authors' scoring.
        """

    def for_metrics(self, metrics: Sequence[str]) -> Protocol:  # noqa: ARG002
        """Return the protocol, adapted to the metrics of a dataset's questions.

        The default returns the protocol unchanged, because most protocols define their own metrics.
        """
        return self

    def with_weights(self, weights: Weights) -> Protocol:
        """Return the protocol with other metric weights."""
        if isinstance(weights, str):
            raise unknown_name_error("choice of weights", weights, [])
        flat = {name: of for name, of in weights.items() if isinstance(of, int | float)}
        if len(flat) < len(weights):
            raise CrevalError(f"`weights`: {self.name} has one set of weights for all groups.")
        made = copy(self)
        made.schema = self.schema.with_weights(flat)
        return made

    def single_probe_scores(
        self, probes: Sequence[Probe], values: Mapping[str, float | None], factor: float = 1.0
    ) -> dict[str, Score]:
        """Return a sample's scores if each metric has one probe: the probe's value times `factor`."""
        found = {metric.name: Score(None, 0, 0) for metric in self.schema.metrics}
        for probe in probes:
            value = values.get(probe.id)
            scaled = None if value is None else value * factor
            found[probe.metric] = Score(scaled, int(value is not None), 1)
        return found

    def weighted_shares(
        self, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        """Return 100 * sum(weight * credit) / sum(weight) for each metric, over its questions with a `credit`."""
        sums = {metric.name: [0.0, 0.0, 0, 0] for metric in self.schema.metrics}  # credit, weight, scored, total
        for question in probes:
            if isinstance(question, Question):
                cell = sums[question.metric]
                cell[3] += 1
                if question.id in values:
                    credit = self.credit(question, values[question.id], strict=strict)
                    if credit is not None:
                        cell[0] += question.weight * credit
                        cell[1] += question.weight
                        cell[2] += 1
        return {
            metric: Score(100.0 * right / weight if weight else None, int(scored), int(total))
            for metric, (right, weight, scored, total) in sums.items()
        }

    def credit(
        self,
        question: Question,
        value: float | None,
        *,
        strict: bool = False,  # noqa: ARG002
    ) -> float | None:
        """Return an answer's credit from 0 to 1, or None if the question is left out of the score.

        The credit is the agreement with the reference answer or, without one, the position on the scale.
        """
        if value is None:
            return None
        contract = get_scale(question.scale)
        if question.reference is not None:
            return contract.credit(value, question.reference)
        return contract.normalise(value)

    def sub_scores(
        self,
        sample: Sample,  # noqa: ARG002
        probes: Sequence[Probe],  # noqa: ARG002
        values: Mapping[str, float | None],  # noqa: ARG002
    ) -> Mapping[str, Sequence[SubScore]]:
        """Return the scores of a sample's parts, such as steps, by the level that groups these parts. By default {}."""
        return {}


@dataclass(frozen=True)
class Benchmark:
    """A dataset and the protocol that scores it."""

    dataset: Dataset
    protocol: Protocol

    def __post_init__(self) -> None:
        self.protocol.register_scales()

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that have at least one question or measurement."""
        return tuple(dict.fromkeys(metric for metric, _ in self._probed))

    @cached_property
    def judged_metrics(self) -> frozenset[str]:
        """Metrics that have at least one question to a judge."""
        return frozenset(metric for metric, image_metric in self._probed if not image_metric)

    @cached_property
    def image_metrics(self) -> frozenset[str]:
        """Image metrics that the protocol uses for this dataset's samples or could use for other samples."""
        return frozenset(self.protocol.image_metrics).union(name for _, name in self._probed if name)

    @cached_property
    def _probed(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a metric and the image metric that measures it, or "" if a judge is asked."""
        probes = (probe for sample in self.dataset.samples for probe in self.protocol.probes(sample))
        return tuple(dict.fromkeys((p.metric, p.image_metric if isinstance(p, Measurement) else "") for p in probes))

    @property
    def schema(self) -> ScoreSchema:
        """The protocol's schema with the dataset's levels.

        The composite is left out if one of its metrics has neither questions nor measurements.
        """
        return self.protocol.schema.with_levels(self.dataset.levels).with_probed_metrics(self.metrics)

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def title(self) -> str:
        """Display name: the dataset's title, or its name if it has no title."""
        return self.dataset.title or self.dataset.name


@dataclass(frozen=True)
class BenchmarkFormat:
    """A published benchmark's protocol, and functions that find and read its files.

    `recognise` returns the folder to pass to `load`, or None if a folder does not contain this benchmark.
    """

    name: str
    title: str
    recognise: Callable[[Path], Path | None]
    load: Callable[[Path], Dataset]
    protocol: Callable[[], Protocol]
    published: Path | None = None
    """The JSON file of its published numbers, with a CSV file of the same name beside it."""
    release: ReleaseSource | None = None
    """Where its authors published it."""
