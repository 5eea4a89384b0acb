"""Contents of a benchmark as counts: groups, questions, lengths of instructions, operations and their order."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from creval.core.benchmark import Benchmark, Dataset, DatasetIssue
from creval.core.files import is_file
from creval.core.probe import Probe, Question
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import Level

UNSORTED = "all"
"""Category of all operations, if the dataset has no categories of operations."""
OTHER = "other"
"""Category of operations that the dataset's categories do not list."""

Counts = Mapping[str, int]


@dataclass(frozen=True, repr=False)
class BenchmarkContents:
    """Counts of a benchmark's samples, questions and operations.

    An operation is the kind of a step, such as adding an object. If the instructions of several samples of one image
    start with the same steps, such as Complex-Edit's C1 to C8, these steps count once.
    """

    benchmark: Benchmark

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.benchmark.title}: {len(self.dataset.samples)} samples>"

    @property
    def dataset(self) -> Dataset:
        return self.benchmark.dataset

    @cached_property
    def _probes(self) -> Sequence[Sequence[Probe]]:
        return [self.benchmark.protocol.probes(sample) for sample in self.dataset.samples]

    @cached_property
    def samples_by_group(self) -> Mapping[str, Counts]:
        """Number of samples in each group of the levels that group samples, by the level's plural."""
        found = {}
        for level in (level for level in self.benchmark.schema.levels if level.groups_samples):
            counted = Counter(sample.tags.get(level.name, "") for sample in self.dataset.samples)
            found[level.plural] = {group: counted[group] for group in level.groups}
        return found

    @cached_property
    def parts_by_group(self) -> Mapping[str, Counts]:
        """Number of scored parts of samples, such as steps, in each group of the levels that group parts."""
        levels = [level for level in self.benchmark.schema.levels if level.groups_sub_scores]
        return {level.plural: self._count_parts(level) for level in levels}

    def _count_parts(self, level: Level) -> Counts:
        counted: Counter[str] = Counter()
        protocol = self.benchmark.protocol
        for sample, probes in zip(self.dataset.samples, self._probes, strict=True):
            parts = protocol.sub_scores(sample, probes, {}).get(level.name, ())
            # A part has a score in each metric.
            by_metric = Counter((part.group, part.metric) for part in parts)
            most: dict[str, int] = {}
            for (group, _), number in by_metric.items():
                most[group] = max(number, most.get(group, 0))
            counted.update(most)
        return {group: counted[group] for group in level.groups}

    @cached_property
    def probe_counts(self) -> Counts:
        """Number of questions and measurements in each metric."""
        return dict(Counter(probe.metric for probes in self._probes for probe in probes))

    @cached_property
    def weights(self) -> Mapping[str, Counts]:
        """Number of questions and measurements with each weight, by metric."""
        found: dict[str, Counter[str]] = {}
        for probe in (probe for probes in self._probes for probe in probes):
            found.setdefault(probe.metric, Counter())[f"{getattr(probe, 'weight', 1.0):g}"] += 1
        return {metric: dict(sorted(counted.items())) for metric, counted in found.items()}

    @cached_property
    def questions_per_sample(self) -> Mapping[str, Mapping[int, int]]:
        """Number of samples with each number of questions to a judge, by metric."""
        each = [Counter(probe.metric for probe in probes if isinstance(probe, Question)) for probes in self._probes]
        metrics = [metric.name for metric in self.benchmark.schema.metrics]
        found = {name: dict(sorted(Counter(counted[name] for counted in each).items())) for name in metrics}
        return {name: counted for name, counted in found.items() if list(counted) != [0]}

    @cached_property
    def instruction_words(self) -> Mapping[int, int]:
        """Number of samples with each number of words in the instruction. Words are separated by white space."""
        return dict(sorted(Counter(len(sample.instruction.split()) for sample in self.dataset.samples).items()))

    @cached_property
    def median_words(self) -> float:
        """Median number of words in an instruction."""
        return float(statistics.median(len(sample.instruction.split()) for sample in self.dataset.samples))

    @cached_property
    def operations(self) -> Mapping[str, Counts]:
        """Number of steps with each operation, by category of operation. Empty if no step has a kind."""
        counted = Counter(step.kind for _, step in iter_distinct_steps(self.dataset.samples) if step.kind)
        if not counted:
            return {}
        categories = self.dataset.operation_categories
        found = {category: {name: counted.pop(name, 0) for name in names} for category, names in categories.items()}
        return {**found, OTHER if found else UNSORTED: dict(counted)} if counted else found

    @cached_property
    def transitions(self) -> Mapping[str, Counts]:
        """Number of pairs of adjacent steps: by the category of the first step, then by that of the second.

        Empty if the dataset has no categories of operations.
        """
        if not self.dataset.operation_categories:
            return {}
        groups = {name: category for category, names in self.operations.items() for name in names}
        counted = Counter(
            (groups[before.kind], groups[step.kind])
            for before, step in iter_distinct_steps(self.dataset.samples)
            if before is not None and before.kind and step.kind
        )
        return {first: {then: counted[first, then] for then in self.operations} for first in self.operations if counted}

    @cached_property
    def missing_images(self) -> Sequence[str]:
        """Samples whose source image is missing."""
        return [
            sample.id for sample in self.dataset.samples if sample.source is not None and not is_file(sample.source)
        ]

    def as_json(self) -> dict[str, Any]:
        """Return what `creval bench BENCH --json` prints."""
        dataset = self.dataset
        sources = sum(sample.source is not None for sample in dataset.samples)
        level_names = [level.plural for level in self.benchmark.schema.levels]
        levels = {**self.samples_by_group, **self.parts_by_group}
        return {
            "benchmark": self.benchmark.name,
            "title": self.benchmark.title,
            "folder": str(dataset.root),
            "samples": len(dataset.samples),
            "questions": dict(self.probe_counts),
            "weights": self.weights,
            "questions_per_sample": _text_keys(self.questions_per_sample),
            "instruction_words": {"median": self.median_words, **_text_keys({"samples": self.instruction_words})},
            "groups": {name: levels[name] for name in level_names if name in levels},
            "subsets": {name: len(members) for name, members in dataset.subsets.items()},
            "steps": {"operations": self.operations, "transitions": self.transitions} if self.operations else {},
            "images": {"present": sources - len(self.missing_images), "missing": self.missing_images},
            "repairs": [_issue_json(finding) for finding in dataset.issues if finding.is_repaired],
            "problems": [_issue_json(finding) for finding in dataset.issues if not finding.is_repaired],
        }


def iter_distinct_steps(samples: Iterable[Sample]) -> Iterator[tuple[InstructionStep | None, InstructionStep]]:
    """Yield each step with the step before it. First steps that samples of an image share are yielded once."""
    starts: dict[object, dict[InstructionStep, Any]] = {}
    for sample in samples:
        known = starts.setdefault(sample.source or sample.id, {})
        before = None
        for step in sample.steps:
            if step not in known:
                yield before, step
            known = known.setdefault(step, {})
            before = step


def _text_keys(counts: Mapping[str, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    return {name: {str(key): number for key, number in counted.items()} for name, counted in counts.items()}


def _issue_json(finding: DatasetIssue) -> dict[str, str]:
    entry = {
        "rule": finding.rule,
        "where": finding.location,
        "item": finding.item,
        "found": finding.original,
        "became": finding.replacement,
        "note": finding.note,
    }
    return {name: value for name, value in entry.items() if value}
