"""Letting gauges look at pictures, as a run does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.core.images import open_image
from creval.core.sample import Sample
from creval.metrics.base import Gauge
from creval.metrics.batch import Job, measure_all
from creval.metrics.embeddings import Embeddings
from creval.metrics.inputs import Exhibit, Picture, Shelf


def look(
    gauge: Gauge, sample: Sample, edit: Path, embeddings: Embeddings | None = None, **given: Any
) -> Mapping[str, float]:
    """What a gauge measures of one edit; what goes wrong is raised."""
    job = Job(gauge, Exhibit(sample, edit, None, given))
    (found,) = measure_all([job], embeddings or Embeddings())
    if isinstance(found, Exception):
        raise found
    return found


def shown(image: Image.Image) -> Picture:
    """A picture that lies in no file."""
    return Picture(str(id(image)), Shelf(), lambda: str(id(image)), lambda: image)


def note_opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files whose pictures are decoded, as they are."""
    opened: list[str] = []

    def opening(path: Path) -> Image.Image:
        opened.append(path.name)
        return open_image(path)

    monkeypatch.setattr(Exhibit._file, "__defaults__", (opening,))
    return opened
