"""Complex-Edit: instructions of controlled complexity, rated from 0 to 10 (arXiv 2504.13143).

IF and IP are rated in one call, with reasoning. The judge sees source, edit and instruction. PQ is rated in a second
call, without reasoning. In this call, the judge sees the edit alone. Each score is the mean of K measurements
(`--repeat K`, 20 in the paper). O = (IF + IP + PQ) / 3 is reported for each complexity C1 .. C8, and as the difference
C8 - C1. Operations and their categories group the samples of C1, whose instructions have exactly one operation. The
variant with token probabilities asks a yes/no question for each score, which is 10 * P(yes) / (P(yes) + P(no)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from creval.benchmarks.complex_edit import release
from creval.benchmarks.complex_edit.atomic_operations import CATEGORIES, CATEGORY_OF, OPERATIONS, match_operation
from creval.core.benchmark import BenchmarkFormat, Protocol
from creval.core.probe import Probe, Question
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Composite, Level, Metric, Score, ScoreSchema, SubScore

SCHEMA = ScoreSchema(
    metrics=(
        Metric("IF", "instruction following", 0.0, 10.0),
        Metric("IP", "identity preservation", 0.0, 10.0),
        Metric("PQ", "perceptual quality", 0.0, 10.0),
    ),
    composite=Composite("O", "overall", dict.fromkeys(("IF", "IP", "PQ"), 1 / 3)),
    levels=(
        OVERALL,
        Level("operation", "operations", OPERATIONS, groups_sub_scores=True),
        Level("operation_category", "operation_categories", tuple(CATEGORIES), groups_sub_scores=True),
    ),
)


class ComplexEdit(Protocol):
    """Three scores from 0 to 10, each with a rubric."""

    name = "complex-edit"
    schema = SCHEMA
    answer_scale = "0-10"
    multiplier = 1.0
    question_texts: Mapping[str, str] = {
        "IF": (
            "How far do the changes that the instruction asks for appear in the edited image, "
            "whatever else has changed?"
        ),
        "IP": (
            "How far is all that the instruction does not ask to change the same as in the source "
            "image, whatever was or was not carried out?"
        ),
        "PQ": "How good is the perceptual quality of the image?",
    }
    # The rubrics are in the prompts. A non-empty text here enables them.
    rubric = "What each score stands for."
    question_prompts = ("complexedit_alignment", "complexedit_quality")

    def probes(self, sample: Sample) -> Sequence[Question]:
        shows = ("source", "edit", "instruction")[sample.source is None :]
        aligned, alone = self.question_prompts
        common = Question("", "", "", self.answer_scale, rubric=self.rubric)
        both = common._replace(shows=shows, prompt=aligned, group="alignment", form="reasoned")
        edit = common._replace(shows=("edit",), prompt=alone, form="bare")
        put = {"IF": both, "IP": both, "PQ": edit}
        return [put[m]._replace(id=m, metric=m, text=text) for m, text in self.question_texts.items()]

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        return self.single_probe_scores(probes, values, self.multiplier)

    def sub_scores(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None]
    ) -> dict[str, list[SubScore]]:
        """Return the scores of a sample with a single operation (C1), grouped by it and by its category.

        A longer instruction is rated as a whole, so its scores belong to no operation.
        """
        operation = match_operation(sample.steps[0].kind) if len(sample.steps) == 1 else None
        if operation is None:
            return {}
        scores = self.score(sample, probes, values)
        groups = {"operation": operation, "operation_category": CATEGORY_OF[operation]}
        return {level: [SubScore(group, *score) for score in scores.items()] for level, group in groups.items()}


class ComplexEditProbability(ComplexEdit):
    """The scores of `ComplexEdit`, from the probability of "yes" (`--logprobs`), without rubrics."""

    name = "complex-edit-probability"
    answer_scale = "yes/no"
    multiplier = 10.0
    question_texts: Mapping[str, str] = {
        "IF": "Do all changes that the instruction asks for appear in the edited image?",
        "IP": "Is all that the instruction does not ask to change the same as in the source image?",
        "PQ": "Is the perceptual quality of the image without fault?",
    }
    rubric = ""
    question_prompts = ("judge", "judge")


BENCHMARK_FORMAT = BenchmarkFormat(
    name=ComplexEdit.name,
    title="instructions of complexity C1 to C8, three scores from 0 to 10",
    recognise=release.find_complex_edit_folder,
    load=release.load_complex_edit_dataset,
    protocol=ComplexEdit,
    published=Path(__file__).with_name("published.json"),
    release=release.SOURCE,
)
