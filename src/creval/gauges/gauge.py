"""What is measured of an edit without asking anybody."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

from creval.core.errors import known_name
from creval.core.sample import Sample


class Unmeasured(Exception):  # noqa: N818
    """That there is nothing to measure in an edit, why, and what it is about."""

    def __init__(self, reason: str, about: str = "") -> None:
        super().__init__(reason)
        self.about = about


class Gauge(ABC):
    """Measures edits, in several threads at once; one look gives the values of several metrics.

    `name` tells it apart in a run, with the model that it measures with, if any: `clip@MODEL`.
    """

    name: str
    uses: tuple[str, ...] = ()
    """What it takes models for."""

    @abstractmethod
    def measure(self, sample: Sample, edit: Path) -> Mapping[str, float]:
        """The values by metric; raises `Unmeasured`, or `ImageError` for a picture."""


def open_gauge(name: str, models: Mapping[str, str]) -> Gauge:
    """The gauge called `name`. `models` are those to measure with, by what they are for."""
    from creval.gauges.clip import ClipScores
    from creval.gauges.consistency import Outside

    kinds: dict[str, Callable[[Mapping[str, str]], Gauge]]
    kinds = {"clip": ClipScores, "outside": Outside}
    return kinds[known_name("gauge", name, kinds)](models)


MODELS = ("boxes", "clip")
"""What gauges take models for: a zero-shot detector, and one that embeds pictures and texts."""
