from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.control_images import make_control_image
from creval.core.errors import CrevalError
from tests.benchmarks.ice_bench.release_files import drawn


@pytest.fixture
def photograph(tmp_path: Path) -> Path:
    path = tmp_path / "p.png"
    drawn(3, (120, 90)).save(path)
    return path


def test_edges_are_those_that_the_gauge_looks_for(photograph: Path) -> None:
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


def test_depth_needs_a_model_and_poses_cannot_be_made(photograph: Path) -> None:
    depth = TASKS["Depth-guided Generation"]
    made = make_control_image(depth, photograph, lambda image: np.full(image.size[::-1], 7, np.uint8))
    assert (made.source.size, made.source.getpixel((0, 0))) == ((120, 90), 7)
    for task in (depth, TASKS["Pose-guided Generation"]):
        with pytest.raises(CrevalError, match="cannot derive its control image"):
            make_control_image(task, photograph)
