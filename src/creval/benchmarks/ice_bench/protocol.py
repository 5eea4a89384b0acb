"""ICE-Bench: 31 tasks of creating and editing, six dimensions, eleven metrics (arXiv 2503.14482).

- AES = aesthetic / 10, IMG = imaging / 100
- PF = CLIP-cap / 0.5; for editing (CLIP-cap / 0.5 + VLLM-QA) / 2; for colorization CLIP-cap / 0.5 + colorfulness
- SRC = (CLIP-src + 1 - L1-src) / 2, REF = the similarity of face, style or subject
- CTRL = 1 - the distance from the control image (pose, edges, depth or grey); for deblurring PF = IMG, CTRL = SSIM

A task's score is the weighted sum of its dimensions. Scores of groups are means over tasks. An unsupported task
counts as 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from creval.benchmarks.ice_bench import release
from creval.benchmarks.ice_bench.tasks import (
    DIMENSIONS,
    GROUP_WEIGHTS,
    QA_METRIC,
    TASKS,
    Formula,
    dimension_formulas,
    resolve_weights,
)
from creval.core.benchmark import BenchmarkFormat, Protocol
from creval.core.errors import require_known
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.schema import Metric, Score, ScoreSchema, Weights

SCHEMA = ScoreSchema(
    metrics=(
        *(Metric(name, label, 0.0, 1.0) for name, label in DIMENSIONS.items()),
        Metric("score", "weighted sum of a task's dimensions", 0.0, 1.0),
    ),
    composite=None,
    levels=release.LEVELS,
    rank_by="score",
    unsupported_value=0.0,
    ranking_description="score = the weighted sum of a task's dimensions",
)
RELEASED, RAW = "released", "raw"
"""Choices of weights: `released` uses the formulas of the authors' code where they differ from the paper, and `raw`
shows raw metrics instead of dimensions."""
RAW_METRICS = (
    Metric("aesthetic", "aesthetic predictor", 0.0, 10.0, measured_only=True),
    Metric("imaging", "MUSIQ", 0.0, 100.0, measured_only=True),
    Metric("clip_cap", "cosine with the target caption", -1.0, 1.0, measured_only=True),
    Metric(QA_METRIC, "share of instructions that were followed", 0.0, 1.0, measured_only=True),
    Metric("colorfulness", "colourfulness of the edit", 0.0, 1.0, measured_only=True),
    Metric("clip_src", "cosine with the source", -1.0, 1.0, measured_only=True),
    *(
        Metric(name, f"distance from the {of}", 0.0, 1.0, higher_is_better=False, measured_only=True)
        for name, of in {
            "l1_src": "source",
            "pose": "control's poses",
            "canny": "control's edges",
            "depth": "control's depth",
            "grey": "control in grey",
        }.items()
    ),
    Metric("ssim", "structural similarity to the source", 0.0, 1.0, measured_only=True),
    *(
        Metric(name, f"cosine with the reference's {name}", -1.0, 1.0, measured_only=True)
        for name in ("face", "style", "subject")
    ),
)
_QUESTION_TEXT = "Was the instruction carried out?"


class IceBench(Protocol):
    """Measurements for each task; for editing tasks also a judge's answer to whether the instruction was followed."""

    name = "ice-bench"
    schema = SCHEMA
    image_metrics = tuple(metric.name for metric in RAW_METRICS if metric.name != QA_METRIC)

    def __init__(self, *, as_released: bool = False) -> None:
        self._weights = {task.name: GROUP_WEIGHTS[task.group] for task in TASKS.values()}
        formulas = {task.name: dimension_formulas(task, as_released=as_released) for task in TASKS.values()}
        self._formulas = {name: _with_unique_names(known) for name, known in formulas.items()}

    def with_weights(self, weights: Weights) -> IceBench:
        """Return the protocol with other weights.

        `weights` maps dimensions to weights, for all or some tasks. It can also be a name: `released` uses the
        formulas of the authors' code, which differ from the paper for colorization. `raw` shows raw metrics instead
        of dimensions.
        """
        protocol = IceBench(as_released=weights == RELEASED)
        if not isinstance(weights, str):
            protocol._weights = resolve_weights(weights)
            protocol.schema = replace(
                SCHEMA, ranking_description=f"{SCHEMA.ranking_description}, with your own weights"
            )
        elif require_known("choice of weights", weights, [RELEASED, RAW]) == RAW:
            protocol.schema = replace(SCHEMA, metrics=(*RAW_METRICS, SCHEMA.metrics[-1]))
        else:
            protocol.schema = replace(SCHEMA, ranking_description=f"{SCHEMA.ranking_description}, as {RELEASED}")
        return protocol

    def probes(self, sample: Sample) -> Sequence[Probe]:
        """Return the probes of the raw metrics of each dimension of a sample's task."""
        return [
            build_qa_question(sample) if raw == QA_METRIC else _build_measurement(sample, raw, dimension)
            for dimension, formula in self._formulas_of(sample).items()
            for raw in formula.factors
        ]

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        """Return the scores of a sample. There is no score if a dimension with a weight above 0 is missing."""
        known = self._formulas_of(sample)
        dimensions = {name: formula(values) for name, formula in known.items()}
        found = {metric.name: Score(None, 0, 0) for metric in self.schema.metrics}
        for name, formula in known.items():
            for metric in found.keys() & formula.factors:
                found[metric] = Score(values.get(metric), *_count_values([metric], values))
            if name in found:
                found[name] = Score(dimensions[name], *_count_values(formula.factors, values))
        weights = self._weights.get(sample.tags.get("task", ""), {})
        raw = {raw for name, weight in weights.items() if weight for raw in known[name].factors}
        if raw:
            whole = Formula({name: weight for name, weight in weights.items() if weight})
            found["score"] = Score(whole(dimensions), *_count_values(raw, values))
        return found

    def _formulas_of(self, sample: Sample) -> Mapping[str, Formula]:
        """Return the formulas of a sample's dimensions. Empty if the sample belongs to no task."""
        return self._formulas.get(sample.tags.get("task", ""), {})


def build_qa_question(sample: Sample) -> Question:
    """Return the question of whether the instruction was followed. The judge sees all images of the sample."""
    images = {"mask": sample.mask is not None, "references": bool(sample.references)}
    also = tuple(name for name, exists in images.items() if exists)
    return Question(
        QA_METRIC,
        "PF",
        _QUESTION_TEXT,
        "1/0",
        reference="1",
        shows=("source", "edit", *also, "instruction"),
        prompt="_".join(("ice", *also)) if also else "ice_plain",
        form="bare",
    )


def _with_unique_names(known: Mapping[str, Formula]) -> dict[str, Formula]:
    """Append the dimension to the name of a raw metric that an earlier formula contains, too (`imaging/PF`)."""
    taken: set[str] = set()
    found = {}
    for dimension, formula in known.items():
        factors = {f"{raw}/{dimension}" if raw in taken else raw: factor for raw, factor in formula.factors.items()}
        taken |= factors.keys()
        found[dimension] = formula._replace(factors=factors)
    return found


def _build_measurement(sample: Sample, name: str, dimension: str) -> Measurement:
    raw = name.partition("/")[0]
    basis: dict[str, str] = {}
    if raw == "clip_cap":
        basis["caption"] = sample.captions.get("target", "")
    if raw in ("l1_src", "subject") and sample.mask is not None:
        basis["mask"] = sample.mask.name
    if raw in ("face", "style", "subject"):
        basis["reference"] = sample.references[0].name if sample.references else ""
    return Measurement(name, dimension, raw, basis)


def _count_values(names: Collection[str], values: Mapping[str, float | None]) -> tuple[int, int]:
    """Return the number of these raw metrics that have a value, and the number of all of them."""
    return sum(values.get(name) is not None for name in names), len(names)


BENCHMARK_FORMAT = BenchmarkFormat(
    name=IceBench.name,
    title="31 tasks of creating and editing, eleven metrics in six dimensions",
    recognise=release.find_ice_bench_folder,
    load=release.load_ice_bench_dataset,
    protocol=IceBench,
    published=Path(__file__).with_name("published.json"),
    release=release.SOURCE,
)
