"""Tests of the batch evaluation of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.core.sample import Sample
from creval.metrics import clip
from creval.metrics.base import ModelPool, open_image_metrics
from creval.metrics.batch import MetricJob, evaluate_batch, evaluate_edits
from creval.metrics.control_maps import GreyDistance
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureCache, FeatureExtractor
from creval.metrics.metric_inputs import ImageCache, LazyImage, MetricInputs, NonFiniteResult
from tests.metrics.evaluating import look, note_opened
from tests.metrics.images import noise


class Wild(GreyDistance):
    """Metric that returns a given value."""

    found = 0.0

    def measure(self, exhibit: MetricInputs, made: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"grey": self.found, "other": 1.0}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_results_are_no_values(value: float, tmp_path: Path) -> None:
    wild = Wild(ModelPool())
    wild.found = value
    with pytest.raises(NonFiniteResult, match="the model returned no finite number"):
        look(wild, Sample("s", ""), tmp_path / "edit.png")
    wild.found = 0.5
    assert look(wild, Sample("s", ""), tmp_path / "edit.png")["grey"] == 0.5


class Looking(FeatureExtractor):
    """Extractor that records the number of images per call."""

    name = model = "looking"
    seen: list[int] = []  # noqa: RUF012

    def __init__(self, _: str | None = None) -> None:
        self.seen.clear()

    def extract(self, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        self.seen.append(len(things))
        images = [thing.image for thing in things if isinstance(thing, LazyImage)]
        return [np.array(image.getpixel((0, 0)), dtype=np.float32) + 1 for image in images]


@pytest.mark.parametrize(("side", "batches"), [(64, [16]), (2048, [6, 6, 4]), (3000, [2] * 8)])
def test_every_image_is_decoded_once_however_large(
    side: int, batches: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = note_opened(monkeypatch)
    monkeypatch.setattr(clip.ClipSource, "extractor_class", Looking)
    names = [f"{kind}{at}.jpg" for at in range(8) for kind in ("source", "edit")]
    for at, name in enumerate(names):
        Image.new("RGB", (side, side), (at, 2 * at, 9)).save(tmp_path / name)
    gauges = open_image_metrics(["clip_src", "l1_src", "l2_src"], {})
    shelf = ImageCache()
    jobs = [
        MetricJob(gauge, MetricInputs(Sample("s", "", tmp_path / source), tmp_path / edit, shelf))
        for source, edit in zip(names[::2], names[1::2], strict=True)
        for gauge in gauges.values()
    ]
    found = evaluate_batch(jobs, FeatureCache())
    assert not any(isinstance(one, Exception) for one in found)
    assert len(found) == len(jobs)
    assert sorted(opened) == sorted(names)
    assert Looking.seen == batches


def test_edits_of_one_source_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clip.ClipSource, "extractor_class", Looking)
    monkeypatch.setattr("creval.metrics.batch.PIXELS_PER_BATCH", 500)
    for at, name in enumerate(("source", *"0123456")):
        Image.new("RGB", (10, 10), (at, 0, 0)).save(tmp_path / f"{name}.png")
    (gauge,) = open_image_metrics(["clip_src"], {}).values()
    sample = Sample("s", "", tmp_path / "source.png")
    jobs = [MetricJob(gauge, MetricInputs(sample, tmp_path / f"{at}.png")) for at in range(7)]
    evaluate_batch(jobs, FeatureCache())
    assert Looking.seen == [5, 3], "four edits with their source, then three other images"


def test_formulas_process_one_edit_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = note_opened(monkeypatch)
    for name in ("source", *"0123"):
        Image.new("RGB", (20, 20)).save(tmp_path / f"{name}.png")
    gauges = open_image_metrics(["l1_src", "ssim", "grey"], {}).values()
    sample, shelf = Sample("s", "", tmp_path / "source.png"), ImageCache(900)  # two images
    jobs = [MetricJob(g, MetricInputs(sample, tmp_path / f"{at}.png", shelf)) for at in range(4) for g in gauges]
    evaluate_batch(jobs, FeatureCache())
    assert opened == ["source.png", *(f"{at}.png" for at in range(4))]


def test_values_and_reasons_of_each_edit(tmp_path: Path) -> None:
    noise(1, (40, 30)).save(tmp_path / "a.png")
    noise(2, (40, 30)).save(tmp_path / "b.png")
    metrics = open_image_metrics(["l1_src", "colorfulness"], {})
    edits = [
        MetricInputs(Sample("s", "", source), tmp_path / "b.png", ImageCache()) for source in (tmp_path / "a.png", None)
    ]
    (whole, no_reasons), (part, reasons) = evaluate_edits(edits, metrics, FeatureCache())
    assert {"l1_src", "colorfulness"} <= whole.keys()
    assert not no_reasons
    assert "l1_src" not in part
    assert reasons.keys() == {"l1_src"}
