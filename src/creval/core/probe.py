"""What is asked of a judge, or measured, about an edit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Question(NamedTuple):
    """One question to a judge about one edit.

    `id` is unique in its sample and comes from the metric and the position (`VC/3`), because releases repeat their
    own ids; `label` is the id as released, by which recorded replies speak. `reference` is the right answer in the
    scale's words, or none where there is no usable one; `released_reference` is the reference letter by letter as
    released. `shows` names the images and texts that the judge sees with it; `step` the step it asks about. `prompt`
    names the text in which it is put, if not the protocol's own, and `rubric` tells how to answer; `group` is whom it
    is asked together with, if not its metric. `form` is how the judge answers: `explained` in a sentence, `reasoned`
    at length, or `bare` (the answer alone).
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

    `id` is the name of its value, `metric` what it counts for. If `parameters` change, it is measured again.
    """

    id: str
    metric: str
    image_metric: str
    parameters: Mapping[str, Any] = MappingProxyType({})


Probe = Question | Measurement
