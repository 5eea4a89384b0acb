"""Helpers that evaluate metrics on images as a run does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.core.images import open_image
from creval.core.sample import Sample
from creval.metrics.base import ImageMetric
from creval.metrics.batch import MetricJob, evaluate_batch
from creval.metrics.features import FeatureCache
from creval.metrics.metric_inputs import ImageCache, LazyImage, MetricInputs


def look(
    gauge: ImageMetric, sample: Sample, edit: Path, embeddings: FeatureCache | None = None, **given: Any
) -> Mapping[str, float]:
    """Return the values of a metric for an edit. Raises the error if it fails."""
    job = MetricJob(gauge, MetricInputs(sample, edit, None, given))
    (found,) = evaluate_batch([job], embeddings or FeatureCache())
    if isinstance(found, Exception):
        raise found
    return found


def shown(image: Image.Image) -> LazyImage:
    """Return a lazy image without a file."""
    return LazyImage(str(id(image)), ImageCache(), lambda: str(id(image)), lambda: image)


def note_opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the names of image files are added when they are decoded."""
    opened: list[str] = []

    def opening(path: Path) -> Image.Image:
        opened.append(path.name)
        return open_image(path)

    monkeypatch.setattr(MetricInputs._open_input, "__defaults__", (opening,))
    return opened
