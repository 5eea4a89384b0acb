"""Speed and memory of metrics: SSIM compared with scikit-image, masked L1 with NumPy, memory over many images,
and the time saved by sharing a model's features."""

from __future__ import annotations

import io
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import ImageMetric, open_image_metrics
from creval.metrics.batch import MetricJob, evaluate_batch
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureCache, FeatureExtractor
from creval.metrics.metric_inputs import ImageCache, LazyImage, MetricInputs
from creval.metrics.pixel_distance import measure_pixel_distance
from creval.metrics.ssim import luma, ssim

SIZE = (1632, 1224)  # two megapixels
TURNS = 9
FEW, MANY = 100, 2000
SMALL = (512, 384)
CLIPS = ("clip", "clip_cap", "clip_dir", "clip_src")


def images() -> tuple[Image.Image, Image.Image]:
    chance = np.random.default_rng(0)
    shape = (SIZE[1], SIZE[0], 3)
    first, second = (Image.fromarray(chance.integers(0, 256, shape, dtype=np.uint8)) for _ in range(2))
    return first, second


def compare_ssim() -> None:
    metrics = import_module("skimage.metrics")
    first, second = (luma(image) for image in images())

    def theirs() -> float:
        return float(
            metrics.structural_similarity(
                first, second, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
            )
        )

    def ours() -> float:
        return ssim(first, second, clipped=False)

    print(
        f"SSIM at {SIZE[0] * SIZE[1] / 1e6:.1f} megapixels: {_ratio(theirs, ours):.1f} times "
        f"scikit-image (3 wanted), off by {abs(ours() - theirs()):.0e} (1e-13 allowed)"
    )


def compare_l1() -> None:
    first, second = images()
    mask = np.where(np.asarray(first)[..., 0] > 100, 255, 0).astype(np.uint8)

    def theirs() -> float:
        a, b = (np.asarray(image).astype(np.float64) / 255 for image in (first, second))
        return float(np.abs(a - b)[mask > 0].mean())

    def ours() -> float:
        found = measure_pixel_distance(first, second, mask)
        assert found is not None
        return found.l1

    print(
        f"masked L1 at {SIZE[0] * SIZE[1] / 1e6:.1f} megapixels: {_ratio(theirs, ours):.0f} times "
        f"NumPy (10 wanted), off by {abs(ours() - theirs()):.0e} (1e-12 allowed)"
    )


class Slow(FeatureExtractor):
    """Model that takes 5 ms per image, like a small model on a GPU, and no time for texts."""

    name = model = "slow"

    def __init__(self, _: str | None = None) -> None:
        self.seen = 0

    def extract(self, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        seen = [thing for thing in things if isinstance(thing, LazyImage)]
        self.seen += len(seen)
        time.sleep(0.005 * len(seen))
        return [_vector(thing) for thing in things]


def _vector(thing: ExtractorInput) -> FeatureArray:
    """Return a vector that differs for each image and text."""
    key = thing.digest if isinstance(thing, LazyImage) else thing
    return np.random.default_rng(zlib.crc32(key.encode())).normal(size=768).astype(np.float32)


def sharing(folder: Path) -> None:
    import creval.metrics.clip as clip

    took, seen = {}, {}
    edits = _made(folder, 64, 1)
    for metric in (clip.ClipCaption, clip.ClipDirection, clip.ClipSource):
        metric.extractor_class = Slow  # type: ignore[assignment]
    for names in (("clip_src",), CLIPS):
        metrics = open_image_metrics(names, {})
        start = time.perf_counter()
        _look(metrics.values(), edits)
        took[names] = time.perf_counter() - start
        seen[names] = next(iter(metrics.values())).extractor.seen  # type: ignore[attr-defined]
    one, four = took.values()
    print(
        f"four metrics that share CLIP's vectors: {four / one:.2f} times one of them (1.5 allowed); "
        f"{seen[CLIPS]} pictures embedded of {len(edits) + 1}"
    )


Edits = Sequence[tuple[Sample, Path]]


def _made(folder: Path, many: int, sources: int) -> Edits:
    """Write `many` edits of `sources` sources, with their samples. Most files differ only in trailing bytes."""
    chance = np.random.default_rng(1)
    shape = (SMALL[1], SMALL[0], 3)
    contents = []
    for _ in range(9):
        kept = io.BytesIO()
        pixels = chance.integers(0, 256, shape, dtype=np.uint8)
        Image.fromarray(pixels).save(kept, "PNG", compress_level=1)
        contents.append(kept.getvalue())
    captions = {"source": "a cat", "target": "a red hat"}
    samples = []
    for at in range(sources):
        path = folder / f"source-{at}.png"
        path.write_bytes(contents[8] + at.to_bytes(8, "big"))
        samples.append(Sample(str(at), "", path, captions=captions))
    edits = []
    for at in range(many):
        path = folder / f"{at}.png"
        path.write_bytes(contents[at % 8] + at.to_bytes(8, "big"))
        edits.append((samples[at * sources // many], path))
    return edits


def _look(metrics: Collection[ImageMetric], edits: Edits) -> None:
    shelf, embeddings = ImageCache(), FeatureCache()
    for start in range(0, len(edits), 8):
        jobs = [
            MetricJob(metric, MetricInputs(sample, edit, shelf))
            for sample, edit in edits[start : start + 8]
            for metric in metrics
        ]
        for found in evaluate_batch(jobs, embeddings):
            assert not isinstance(found, Exception), found


def peak(many: int) -> float:
    """Return the peak memory of a process that measures this many edits, in MB."""
    command = [sys.executable, __file__, str(many)]
    return float(subprocess.check_output(command, text=True))


def measure_many(many: int) -> None:
    """Measure edits, four of each source, with formulas and with features of a model, and print the peak memory."""
    import creval.metrics.clip as clip

    for metric in (clip.ClipCaption, clip.ClipDirection, clip.ClipSource):
        metric.extractor_class = Slow  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        edits = _made(Path(folder), many, many // 4)
        metrics = open_image_metrics(["ssim", "l1_src", "canny", "grey", "clip_src"], {})
        _look(metrics.values(), edits)
    scale = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6)


def _ratio(theirs: Callable[[], object], ours: Callable[[], object]) -> float:
    return statistics.median(_seconds(theirs) / _seconds(ours) for _ in range(TURNS))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    compare_ssim()
    compare_l1()
    with tempfile.TemporaryDirectory() as folder:
        sharing(Path(folder))
    few, many = peak(FEW), peak(MANY)
    print(
        f"memory to measure {FEW} and {MANY} edits, four of each source: {few:.0f} and "
        f"{many:.0f} MB, {many / few:.2f} times (1.2 allowed)"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure_many(int(sys.argv[1]))
    else:
        main()
