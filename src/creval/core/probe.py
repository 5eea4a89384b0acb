"""Probes of an edit: questions to a judge, and measurements."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Question(NamedTuple):
    """One question to a judge about one edit.

    - `id`: unique in its sample; built from the metric and the position (`VC/3`), because releases repeat their ids.
    - `label`: the id in the release, which recorded replies use.
    - `reference`: the correct answer as a choice of the scale; None if the release has no usable one.
    - `released_reference`: the reference exactly as released.
    - `shows`: images and texts that the judge sees with the question.
    - `step`: the step of the instruction that it asks about.
    - `prompt`: name of its prompt, if it is not the protocol's.
    - `rubric`: explanation of the scores, for the judge.
    - `group`: questions of a group are asked together; the default is one group per metric.
    - `form`: form of the answer: `explained` (one sentence), `reasoned` (at length) or `bare` (the answer alone).
    """

    id: str
    metric: str
    text: str
    scale: str = "yes/no"
    reference: str | None = None
    released_reference: str = ""
    weight: float = 1.0
    label: str = ""
    rationale: str = ""
    shows: tuple[str, ...] = ("source", "edit")
    step: int | None = None
    prompt: str = ""
    rubric: str = ""
    group: str = ""
    form: str = "explained"


class Measurement(NamedTuple):
    """One measurement of one edit by an image metric.

    `id` names its value, and `metric` is the protocol's metric that it contributes to. If `parameters` change, it is
    measured again.
    """

    id: str
    metric: str
    image_metric: str
    parameters: Mapping[str, Any] = MappingProxyType({})


Probe = Question | Measurement
