from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.control_images import DEPTH, POSE, load_estimators, make_control_image
from creval.building.ice.image_sets import ImageSet
from creval.building.ice.item_inputs import InputBuilder
from creval.building.ice.jobs import ItemJob
from creval.building.ice.texts import TaskUnsuitableError
from creval.core.errors import CrevalError
from tests.benchmarks.ice_bench.release_files import drawn
from tests.metrics.test_external import module
from tests.metrics.tiny_files import write_poses, write_random_openpose


@pytest.fixture
def photograph(tmp_path: Path) -> Path:
    path = tmp_path / "p.png"
    drawn(3, (120, 90)).save(path)
    return path


def test_edges_are_those_of_the_metric(photograph: Path) -> None:
    made = make_control_image(TASKS["Edge-guided Generation"], photograph)
    wanted = cv2.Canny(np.asarray(Image.open(photograph).convert("RGB")), 100, 200)
    assert np.array_equal(np.asarray(made.source), wanted)
    assert made.mask is None
    assert set(np.unique(wanted)) == {0, 255}


def test_grey_and_blur(photograph: Path) -> None:
    grey = make_control_image(TASKS["Image Colorization"], photograph).source
    assert (grey.mode, grey.size) == ("L", (120, 90))
    blurred = make_control_image(TASKS["Image Deblurring"], photograph).source
    before = np.asarray(Image.open(photograph).convert("L"), float)
    after = np.asarray(blurred.convert("L"), float)
    assert np.abs(np.diff(after)).max() < np.abs(np.diff(before)).max() / 2


def test_borders_are_what_the_mask_marks(photograph: Path) -> None:
    made = make_control_image(TASKS["Outpainting"], photograph)
    assert made.mask is not None
    assert made.source.size == made.mask.size == (180, 134)
    inside = np.asarray(made.mask) == 0
    assert inside.sum() == 120 * 90
    kept = np.asarray(made.source)[inside].reshape(90, 120, 3)
    assert np.array_equal(kept, np.asarray(Image.open(photograph)))


def test_depth_and_poses_need_models(photograph: Path) -> None:
    depth = TASKS["Depth-guided Generation"]
    made = make_control_image(depth, photograph, {DEPTH: lambda image: Image.new("L", image.size, 7)})
    assert (made.source.size, made.source.getpixel((0, 0))) == ((120, 90), 7)
    for task in (depth, TASKS["Pose-guided Generation"]):
        with pytest.raises(CrevalError, match="cannot derive its control image"):
            make_control_image(task, photograph)


class Bodies:
    """Fake OpenPose that draws a red body on black for photographs that are not dark."""

    @classmethod
    def from_pretrained(cls, _: str) -> Bodies:
        return cls()

    def to(self, _: str) -> Bodies:
        return self

    def __call__(self, image: Image.Image, **options: Any) -> Image.Image:
        drawn = Image.new("RGB", (options["image_resolution"],) * 2)
        if np.asarray(image).mean() > 20:
            drawn.paste((255, 0, 0), (10, 10, 30, 60))
        return drawn


def test_poses_are_drawn_by_the_pose_model(tmp_path: Path, photograph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "controlnet_aux", OpenposeDetector=Bodies)
    estimators = load_estimators({POSE: str(write_poses(tmp_path / "weights"))})
    made = make_control_image(TASKS["Pose-guided Generation"], photograph, estimators)
    assert (made.source.size, made.mask) == ((120, 90), None)
    assert made.source.getextrema() == ((0, 255), (0, 0), (0, 0))


def test_a_photograph_without_people_gets_another_task(
    tmp_path: Path, photograph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module(monkeypatch, "controlnet_aux", OpenposeDetector=Bodies)
    Image.new("RGB", (120, 90), (9, 0, 0)).save(photograph)
    inputs = InputBuilder(tmp_path / "bench", frozenset({POSE}), {POSE: str(write_poses(tmp_path / "weights"))})
    task = TASKS["Pose-guided Generation"]
    with pytest.raises(TaskUnsuitableError, match="Pose-guided Generation does not suit: nobody is found"):
        inputs.prepare_inputs(ItemJob("a", "a", ImageSet(photograph), (task,)), task)


def test_the_pose_model_is_openpose(tmp_path: Path, photograph: Path) -> None:
    poses = pytest.importorskip("controlnet_aux")
    made = make_control_image(
        TASKS["Pose-guided Generation"], photograph, load_estimators({POSE: str(write_random_openpose(tmp_path))})
    )
    detector = poses.OpenposeDetector.from_pretrained(str(tmp_path))
    with Image.open(photograph) as image:
        drawn = detector(image.convert("RGB"), detect_resolution=90, image_resolution=90, include_hand=True)
    assert np.array_equal(np.asarray(made.source), np.asarray(drawn.resize((120, 90))))
