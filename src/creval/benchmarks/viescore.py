"""VIEScore (arXiv 2312.14867) and EditScore (arXiv 2509.23909): three scores from four ratings, for any dataset.

- SC = min(instruction following, preservation of the rest), rated from source and edit
- PQ = min(naturalness, absence of artefacts), rated from the edit alone
- O = sqrt(SC * PQ)

All are from 0 to 10. EditScore's model rates from 0 to 25, which is scaled to 0 to 10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from creval.core.benchmark import Protocol
from creval.core.probe import Probe, Question
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Metric, Score, ScoreSchema

_BOTH_IMAGES = ("source", "edit", "instruction")
_QUESTIONS = (
    ("SC/1", "SC", _BOTH_IMAGES, "How well does the edited image carry out the instruction?"),
    ("SC/2", "SC", _BOTH_IMAGES, "How well is kept what the instruction does not ask to change?"),
    ("PQ/1", "PQ", ("edit",), "How natural does the image look?"),
    ("PQ/2", "PQ", ("edit",), "How free of artefacts is the image?"),
)
_PROMPTS = {"SC": "viescore_consistency", "PQ": "viescore_quality"}
SCHEMA = ScoreSchema(
    metrics=(
        Metric("SC", "semantic consistency", 0.0, 10.0),
        Metric("PQ", "perceptual quality", 0.0, 10.0),
        Metric("O", "overall", 0.0, 10.0),
    ),
    composite=None,
    levels=(OVERALL,),
    rank_by="O",
)


class VIEScore(Protocol):
    """Three scores from four ratings of an edit by a multimodal model."""

    name = "viescore"
    schema = SCHEMA
    answer_scale = "0-10"
    multiplier = 1.0

    def probes(self, sample: Sample) -> Sequence[Question]:
        absent = "source" if sample.source is None else ""
        return [
            Question(
                name,
                metric,
                text,
                self.answer_scale,
                shows=tuple(what for what in shows if what != absent),
                prompt=_PROMPTS[metric],
            )
            for name, metric, shows, text in _QUESTIONS
        ]

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        """Return the scores of a sample. If a question is unanswered, the question's metric and O have no value."""
        found: dict[str, Score] = {}
        for metric in ("SC", "PQ"):
            given = [values.get(probe.id) for probe in probes if probe.metric == metric]
            answered = [value for value in given if value is not None]
            worst = min(answered) * self.multiplier if answered and len(answered) == len(given) else None
            found[metric] = Score(worst, len(answered), len(given))
        sc, pq = found["SC"], found["PQ"]
        both = None if sc.value is None or pq.value is None else math.sqrt(sc.value * pq.value)
        found["O"] = Score(both, sc.scored + pq.scored, sc.total + pq.total)
        return found


class EditScore(VIEScore):
    """The scores of VIEScore, from a model that was trained to give them and rates from 0 to 25."""

    name = "editscore"
    answer_scale = "0-25"
    multiplier = 10.0 / 25.0
