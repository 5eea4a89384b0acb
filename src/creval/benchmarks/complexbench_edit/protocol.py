"""ComplexBench-Edit: chains of dependent instructions, scored step by step (arXiv 2506.12830).

Step i has a score s_i from 0 to 5. Steps that depend on each other form a chain. A sample's score is the mean over its
chains of the product of s_i / 5, in percent: parallel = mean(s_i / 5), two-chain = (s1/5 * s2/5 + s3/5) / 2,
three-chain = product(s_i / 5). The average is the unweighted mean of the subsets. The score of an edit type is the mean
of its single steps. Consistency is L1 and L2 outside the boxes of the edited objects; it is not measured for the global
subset.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from creval.benchmarks.complexbench_edit import release
from creval.benchmarks.complexbench_edit.release import EDIT_TYPES, GLOBAL_SUBSET, LEVELS
from creval.core.benchmark import BenchmarkFormat, Protocol
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import Level, Metric, Score, ScoreSchema, SubScore

SCHEMA = ScoreSchema(
    metrics=(
        Metric("score", "completion of instructions, multiplied along each chain"),
        Metric("L1", "mean absolute difference outside the edited objects", 0.0, 1.0, False),
        Metric("L2", "mean squared difference outside the edited objects", 0.0, 1.0, False),
    ),
    composite=None,
    levels=(*LEVELS, Level("edit_type", "edit_types", EDIT_TYPES, groups_sub_scores=True)),
    rank_by="score",
)
_GLOBAL_TYPES = frozenset({"change background", "change style"})
_MAX_SCORE = 5.0
# The criteria for each edit type. A step of another type is judged by its instruction alone.
CRITERIA = {
    "add object": (
        "The object that was to be added must be there, of the kind and in the place that the "
        "instruction names, at a size and in a light that fit the scene."
    ),
    "change object": (
        "The old object must be gone and the new one must stand in its place, recognisable as what "
        "the instruction names. Traces of the old one, or a mixture of both, cost points."
    ),
    "delete object": (
        "The object must be gone without a trace, and what lay behind it must be filled in so that "
        "nobody would miss anything. Another object in its place is a failure."
    ),
    "color": (
        "The object that is named must have the new colour, all over and only it; its form, its "
        "texture and its shading must stay."
    ),
    "pose": (
        "The body must have taken the new pose or movement, with limbs that could be like that, "
        "and it must be the same person or animal as before."
    ),
    "material": (
        "The surface of the object that is named must show what the new material looks like, its "
        "grain and its gloss, while its form stays."
    ),
    "content": (
        "What the object shows or holds (a picture, a screen, a plate) must be the new content, "
        "inside the object's own borders, in its perspective."
    ),
    "text": (
        "The lettering must read exactly as the instruction says, letter by letter, in the place "
        "that is named. A missing, wrong or garbled letter is a failure in all but the lowest way."
    ),
    "change background": (
        "The surroundings must be the new ones, everywhere, and what stands in front must be the "
        "same as before, cut out cleanly and lit as the new scene would light it."
    ),
    "change style": (
        "The whole picture must have the new style, with its typical strokes, colours or textures, "
        "while what it shows and where stays recognisable."
    ),
}


class ComplexBenchEdit(Protocol):
    """A score from 0 to 5 for each step of a sample."""

    name = "complexbench-edit"
    schema = SCHEMA
    prompt = "complexbench"
    suffix = ""
    """Suffix of the image metric and of its values."""

    def probes(self, sample: Sample) -> Sequence[Probe]:
        """Return a question for each step, and the consistency measurements if part of the image must not change."""
        asked = [
            Question(
                f"score/{at + 1}",
                "score",
                f"How well was instruction {at + 1} carried out ({step.text})?",
                "0-5",
                shows=("source", "edit", "instruction"),
                step=at,
                rubric=CRITERIA.get(step.kind, ""),
                group=f"step {at + 1}",
            )
            for at, step in enumerate(sample.steps)
        ]
        everywhere = sample.tags.get("subset") == GLOBAL_SUBSET or any(
            step.kind in _GLOBAL_TYPES for step in sample.steps
        )
        if not asked or sample.source is None or everywhere:
            return asked
        # The distances depend on the boxes.
        basis = {"steps": [[step.old, step.new, *step.boxes] for step in sample.steps]}
        measured = (Measurement(f"{name}{self.suffix}", name, f"outside{self.suffix}", basis) for name in ("L1", "L2"))
        return [*asked, *measured]

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        """Return the scores of a sample. There is no score if a step is unanswered."""
        measured = [probe for probe in probes if isinstance(probe, Measurement)]
        given = [values.get(probe.id) for probe in probes if probe not in measured]
        answered = [value for value in given if value is not None]
        whole = None
        if answered and len(answered) == len(given):
            shares = [value / _MAX_SCORE for value in answered]
            products = [math.prod(shares[at] for at in chain) for chain in dependency_chains(sample.steps)]
            whole = 100.0 * sum(products) / len(products)
        return self.single_probe_scores(measured, values) | {"score": Score(whole, len(answered), len(given))}

    def sub_scores(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None]
    ) -> dict[str, list[SubScore]]:
        """Return the score of each step, grouped by edit type."""
        found = []
        for probe, step in zip(probes, sample.steps, strict=False):
            value = values.get(probe.id)
            if step.kind in EDIT_TYPES:
                share = None if value is None else 100.0 * value / _MAX_SCORE
                score = Score(share, int(value is not None), 1)
                found.append(SubScore(step.kind, "score", score))
        return {"edit_type": found}


class ComplexBenchEditAllBoxes(ComplexBenchEdit):
    """`ComplexBenchEdit` with consistency outside the objects' boxes in the source and in the edit (equation 9)."""

    name = "complexbench-edit-all-boxes"
    suffix = "_all"


def dependency_chains(steps: Sequence[InstructionStep]) -> list[list[int]]:
    """Return the positions of the steps, grouped into chains of steps that depend on each other.

    >>> dependency_chains([InstructionStep("a"), InstructionStep("b", needs=(0,)), InstructionStep("c")])
    [[0, 1], [2]]
    """
    chain_of: dict[int, list[int]] = {}
    found: list[list[int]] = []
    for at, step in enumerate(steps):
        chain = next((chain_of[needed] for needed in step.needs if needed in chain_of), [])
        if not chain:
            found.append(chain)
        chain.append(at)
        chain_of[at] = chain
    return found


BENCHMARK_FORMAT = BenchmarkFormat(
    name=ComplexBenchEdit.name,
    title="three instructions per sample, some dependent on others, scores from 0 to 5",
    recognise=release.find_complexbench_folder,
    load=release.load_complexbench_dataset,
    protocol=ComplexBenchEdit,
    published=Path(__file__).with_name("published.json"),
    release=release.SOURCE,
)
