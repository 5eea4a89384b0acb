"""ICE-Bench: 31 tasks of creating and editing, six dimensions, eleven metrics (arXiv 2503.14482).

AES = aesthetic / 10, IMG = imaging / 100
PF = CLIP-cap / 0.5; for editing (CLIP-cap / 0.5 + VLLM-QA) / 2; for colorization CLIP-cap / 0.5 +
colorfulness; for deblurring IMG
SRC = (CLIP-src + 1 - L1-src) / 2, REF = the similarity of face, style or subject
CTRL = 1 - the distance from pose, edges, depth or grey; for deblurring SSIM
a task's score is the weighted sum of its dimensions, all above it a mean over tasks; a task that a
model does not support counts 0
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from creval.benchmarks import ice_release
from creval.benchmarks.ice_tasks import (
    DIMENSIONS,
    QA,
    TASKS,
    WEIGHTS,
    Formula,
    chosen_weights,
    formulas,
)
from creval.core.benchmark import Protocol, System
from creval.core.card import Card, Metric, Score, Weights
from creval.core.errors import known_name
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample

CARD = Card(
    metrics=(
        *(Metric(name, label, 0.0, 1.0) for name, label in DIMENSIONS.items()),
        Metric("score", "weighted sum of a task's dimensions", 0.0, 1.0),
    ),
    composite=None,
    levels=ice_release.LEVELS,
    rank="score",
    unsupported=0.0,
    how="score = the weighted sum of a task's dimensions",
)
RELEASED = "released"
"""The name of the authors' code's way, where it departs from the paper."""
_ASKED = "Was the instruction carried out?"


class IceBench(Protocol):
    """What each task calls for is measured; of edits a judge says whether they were made."""

    name = "ice-bench"
    card = CARD

    def __init__(self) -> None:
        self._weights = {task.name: WEIGHTS[task.group] for task in TASKS.values()}
        self._formulas = {task.name: formulas(task) for task in TASKS.values()}

    def weighted(self, weights: Weights) -> IceBench:
        """The same with other weights: of dimensions, of those of a task or a group of tasks, or
        `released`, which weighs colorfulness as the authors' code does."""
        made = IceBench()
        if isinstance(weights, str):
            known_name("choice of weights", weights, [RELEASED])
            made._formulas = {t.name: formulas(t, released=True) for t in TASKS.values()}
            made.card = replace(CARD, how=f"{CARD.how}, as {RELEASED}")
            return made
        made._weights = chosen_weights(weights)
        made.card = replace(CARD, how=f"{CARD.how}, with weights of your own")
        return made

    def probes(self, sample: Sample) -> Sequence[Probe]:
        """Each raw metric of a sample's task, under the first dimension that needs it."""
        found: dict[str, Probe] = {}
        for dimension, formula in self._formulas_of(sample).items():
            for raw in formula.factors:
                if raw not in found:
                    found[raw] = (
                        question(sample) if raw == QA else _measured(sample, raw, dimension)
                    )
        return list(found.values())

    def score(
        self,
        sample: Sample,
        probes: Sequence[Probe],  # noqa: ARG002
        values: Mapping[str, float | None],
        *,
        strict: bool = False,  # noqa: ARG002
    ) -> dict[str, Score]:
        """A sample of which one dimension that weighs is missing has no score."""
        known = self._formulas_of(sample)
        dimensions = {name: formula(values) for name, formula in known.items()}
        found = {metric.name: Score(None, 0, 0) for metric in CARD.metrics}
        for name, formula in known.items():
            found[name] = Score(dimensions[name], *_counts(formula.factors, values))
        weights = self._weights.get(sample.tags.get("task", ""), {})
        raw = {raw for name, weight in weights.items() if weight for raw in known[name].factors}
        if raw:
            whole = Formula({name: weight for name, weight in weights.items() if weight})
            found["score"] = Score(whole(dimensions), *_counts(raw, values))
        return found

    def _formulas_of(self, sample: Sample) -> Mapping[str, Formula]:
        """The dimensions of a sample; none where it belongs to no task."""
        return self._formulas.get(sample.tags.get("task", ""), {})


def question(sample: Sample) -> Question:
    """The question whether an edit was made, with all pictures that the sample has."""
    pictures = {"mask": sample.mask is not None, "references": bool(sample.references)}
    also = tuple(name for name, there in pictures.items() if there)
    return Question(
        QA,
        "PF",
        _ASKED,
        "1/0",
        reference="1",
        shows=("source", "edit", *also, "instruction"),
        prompt="_".join(("ice", *also)) if also else "ice_plain",
        form="bare",
    )


def _measured(sample: Sample, raw: str, dimension: str) -> Measurement:
    basis: dict[str, str] = {}
    if raw == "clip_cap":
        basis["caption"] = sample.captions.get("target", "")
    if raw in ("l1_src", "subject") and sample.mask is not None:
        basis["mask"] = sample.mask.name
    if raw in ("face", "style", "subject"):
        basis["reference"] = sample.references[0].name if sample.references else ""
    return Measurement(raw, dimension, raw, basis)


def _counts(names: Collection[str], values: Mapping[str, float | None]) -> tuple[int, int]:
    """How many raw metrics have a value, and how many there are."""
    return sum(values.get(name) is not None for name in names), len(names)


SYSTEM = System(
    name=IceBench.name,
    title="31 tasks of creating and editing, eleven metrics in six dimensions",
    recognise=ice_release.recognise,
    load=ice_release.load,
    protocol=IceBench,
)
