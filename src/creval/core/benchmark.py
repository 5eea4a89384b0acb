"""A benchmark: where samples come from, and what is asked of them."""

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
from creval.core.sample import Sample
from creval.core.scales import AnswerScale, get_scale, scales
from creval.core.schema import OVERALL, Level, Score, ScoreSchema, SubScore, Weights


@dataclass(frozen=True)
class DatasetIssue:
    """Something in a benchmark's files that is not as it should be.

    It lies in the file or sample `location`, at `item`. A repair has the `original` and its `replacement`; a problem
    could not be repaired, and `note` says what follows.
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
    """What was found so far in the files of a benchmark."""

    def add(
        self, rule: str, location: str, note: str = "", item: str = "", original: str = "", replacement: str = ""
    ) -> None:
        self.append(DatasetIssue(rule, location, item, original, replacement, note))


class EditFile(NamedTuple):
    """Which edit a file is: of which sample, which draw, and by which strategy if not directly."""

    sample: str
    draw: int = 0
    strategy: str = ""


@dataclass(frozen=True)
class Dataset:
    """Samples from a folder, named subsets of them, and all that was found wrong in the files.

    `title` is a name of its own; `metrics` are those of its questions, for a protocol that has none of its own.
    `authored_by` names the models that helped to make it: `writer` of instructions, `asker` of
    questions. `levels` are the groups of its samples, for protocols that have none of their own;
    `match_edit_file` finds which edit a file is by its path without suffix, in a layout of the authors' own;
    `read_model_outputs` is what a model's folder says of its edits, by sample, in files besides the images;
    `requires_all_inputs` says that who cannot be given a sample's mask or references does not support it.
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


class Protocol(ABC):
    """What is asked about an edit, and how one sample is scored from the outcomes.

    Everything above a sample (groups, intervals, tables) follows from the schema. `prompt` names the text in which its
    questions are put; `has_strict` says that its authors score in another way; `image_metrics` are those that it
    takes for some samples only. `authors_prompt_differs` says that the published scores come from another prompt than
    `prompt`. `prompts` are texts and `scales` answer scales of its own.
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
        """Make the protocol's own scales known by their names."""
        for scale in self.scales:
            shipped = scale.name in scales and not scales.origin(scale.name)
            if not shipped or scales.get(scale.name).choices != scale.choices:
                scales.register(scale.name, scale)

    @abstractmethod
    def probes(self, sample: Sample) -> Sequence[Probe]:
        """Return what is asked and measured about each edit of a sample."""

    @abstractmethod
    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> Mapping[str, Score]:
        """Return one sample's metrics from its probes' values, by probe id.

        A value of None was asked for and not answered; a probe without one was never asked. `strict` scores as the
        authors do.
        """

    def for_metrics(self, metrics: Sequence[str]) -> Protocol:  # noqa: ARG002
        """Return the same for the metrics of a dataset's own questions; most protocols have metrics of their own."""
        return self

    def with_weights(self, weights: Weights) -> Protocol:
        """Return the same with other weights of its metrics."""
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
        """Return a sample's metrics where each is the value of its only probe, if it has one."""
        found = {metric.name: Score(None, 0, 0) for metric in self.schema.metrics}
        for probe in probes:
            value = values.get(probe.id)
            scaled = None if value is None else value * factor
            found[probe.metric] = Score(scaled, int(value is not None), 1)
        return found

    def weighted_shares(
        self, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        """Return 100 * sum(weight * credit) / sum(weight) of each metric's questions that have a credit."""
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
        """Return how good an answer is, from 0 to 1, by its reference or its place; None if it does not count."""
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
        """Return the scores of a sample's parts, by the level that groups them; mostly there are none."""
        return {}


@dataclass(frozen=True)
class Benchmark:
    """A dataset and the protocol that is put to it."""

    dataset: Dataset
    protocol: Protocol

    def __post_init__(self) -> None:
        self.protocol.register_scales()

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that something is asked or measured for; others are made of them."""
        return tuple(dict.fromkeys(metric for metric, _ in self._probed))

    @cached_property
    def judged_metrics(self) -> frozenset[str]:
        """Those of them that a judge is asked about."""
        return frozenset(metric for metric, image_metric in self._probed if not image_metric)

    @cached_property
    def image_metrics(self) -> frozenset[str]:
        """The image metrics that something is, or with other samples would be, measured with."""
        return frozenset(self.protocol.image_metrics).union(name for _, name in self._probed if name)

    @cached_property
    def _probed(self) -> tuple[tuple[str, str], ...]:
        """Each metric with the image metric that measures it, or with "" if a judge is asked."""
        probes = (probe for sample in self.dataset.samples for probe in self.protocol.probes(sample))
        return tuple(dict.fromkeys((p.metric, p.image_metric if isinstance(p, Measurement) else "") for p in probes))

    @property
    def schema(self) -> ScoreSchema:
        """The protocol's schema over its own levels or the dataset's, without a composite of what is not asked."""
        return self.protocol.schema.with_levels(self.dataset.levels).with_probed_metrics(self.metrics)

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def title(self) -> str:
        """What it is called: by a name of its own or, without one, by its kind."""
        return self.dataset.title or self.dataset.name


@dataclass(frozen=True)
class BenchmarkFormat:
    """A published benchmark: its protocol, and its reader; `recognise` returns the folder for `load`, or None."""

    name: str
    title: str
    recognise: Callable[[Path], Path | None]
    load: Callable[[Path], Dataset]
    protocol: Callable[[], Protocol]
