"""Probes of an edit. A probe is a question to a judge or a measurement by an image metric."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Question(NamedTuple):
    """One question to a judge about one edit.

    - `id`: unique in its sample; built from the metric and the position (`VC/3`), because releases repeat their ids.
    - `label`: the question's id in the release. Recorded replies use it.
    - `reference`: the correct answer as a choice of the scale; None if the release has no usable one.
    - `released_reference`: the reference exactly as released.
    - `shows`: images and texts that the judge sees with the question.
    - `step`: the step of the instruction that the question is about.
    - `prompt`: name of the prompt with which it is asked, if not the protocol's.
    - `rubric`: explanation of the scores, for the judge.
    - `group`: with `batch_by` metric, questions of the same group share a call. The default is one group per metric.
    - `form`: what the reply contains: the answer with one sentence (`explained`), with long reasoning (`reasoned`), or
      alone (`bare`).
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

    `id` identifies the measured value. `metric` is the metric of the protocol to which the value contributes. If
    `parameters` change, the edit is measured again.
    """

    id: str
    metric: str
    image_metric: str
    parameters: Mapping[str, Any] = MappingProxyType({})


Probe = Question | Measurement
