from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks.complexbench_edit.coco_boxes import AnnotatedObject
from creval.building.complexbench.detection import COCO_CLASSES, detect_objects
from creval.core.errors import CrevalError
from creval.core.sample import Box


class Detector:
    """Detector that finds the same objects in every image, and records the images."""

    def __init__(self) -> None:
        self.looked: list[tuple[int, int]] = []

    def find(self, image: Image.Image, names: Sequence[str]) -> dict[str, list[Box]]:
        self.looked.append(image.size)
        assert tuple(names) == COCO_CLASSES
        return {"cat": [(0, 0, 10, 10), (1, 0, 10, 10), (20, 0, 40, 10)], "cup": [(0, 10, 10, 20)]}


@pytest.fixture
def images(tmp_path: Path) -> dict[str, Path]:
    Image.new("RGB", (40, 20)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"none")
    return {name: tmp_path / name for name in ("a.png", "b.png")}


def test_boxes_that_overlap_are_one_object(tmp_path: Path, images: dict[str, Path]) -> None:
    found = detect_objects(tmp_path / "bench", images, "some/model", Detector().find)
    assert found.objects == {
        "a.png": [
            AnnotatedObject("cat", (0, 0, 0.25, 0.5)),
            AnnotatedObject("cat", (0.5, 0, 1, 0.5)),
            AnnotatedObject("cup", (0, 0.5, 0.25, 1)),
        ]
    }
    assert list(found.unreadable) == ["b.png"], "an unreadable image is not one without objects"
    assert len(COCO_CLASSES) == 80


def test_an_image_is_looked_at_once_by_a_model(tmp_path: Path, images: dict[str, Path]) -> None:
    detector, bench = Detector(), tmp_path / "bench"
    first = detect_objects(bench, images, "some/model", detector.find)
    assert detect_objects(bench, images, "some/model", detector.find) == first
    assert detector.looked == [(40, 20)]
    detect_objects(bench, images, "other/model", detector.find)
    assert len(detector.looked) == 2
    Image.new("RGB", (60, 20)).save(images["a.png"])
    detect_objects(bench, images, "other/model", detector.find)
    assert detector.looked[2:] == [(60, 20)], "another image with the same name"


@pytest.mark.parametrize("damage", [None, [], [["cat"]], [["cat", [1, 2]]], [["cat", "abcd"]]])
def test_a_damaged_file_gets_a_sentence(tmp_path: Path, images: dict[str, Path], damage: object) -> None:
    bench = tmp_path / "bench"
    detect_objects(bench, images, "some/model", Detector().find)
    content = json.loads((bench / "objects.json").read_text())
    content["pictures"]["a.png"]["objects"] = damage
    (bench / "objects.json").write_text(json.dumps(content))
    if damage == []:
        assert detect_objects(bench, images, "some/model", Detector().find).objects["a.png"] == []
        return
    with pytest.raises(CrevalError, match=r"objects\.json is damaged\. Delete it"):
        detect_objects(bench, images, "some/model", Detector().find)


def test_progress_is_reported(tmp_path: Path, images: dict[str, Path]) -> None:
    told: list[tuple[int, int]] = []
    detect_objects(tmp_path, images, "m", Detector().find, lambda *done: told.append(done))
    assert told[0] == (1, 2)
