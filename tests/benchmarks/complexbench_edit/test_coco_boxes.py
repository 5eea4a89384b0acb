"""Tests of boxes from COCO's annotations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.benchmarks.complexbench_edit.coco_boxes import (
    AnnotatedObject,
    boxes_for_name,
    find_annotation_files,
    read_objects_by_id,
)
from creval.core.cache import cache_folder
from creval.core.errors import CrevalError


def write_annotations(path: Path, boxes: dict[int, list[tuple[int, list[float]]]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "traffic light"}],
        "images": [{"id": image, "width": 100, "height": 50} for image in boxes],
        "annotations": [
            {"image_id": image, "category_id": category, "bbox": box, "iscrowd": 0}
            for image, several in boxes.items()
            for category, box in several
        ],
    }
    path.write_text(json.dumps(content))
    return path


def test_boxes_by_image_and_name(tmp_path: Path) -> None:
    first = write_annotations(
        tmp_path / "annotations" / "instances_val.json",
        {5: [(1, [10, 20, 5, 6]), (7, [0, 0, 2.5, 2])], 6: [(1, [1, 1, 1, 1])]},
    )
    second = write_annotations(tmp_path / "instances_train.json", {9: [(1, [0, 0, 3, 3])]})
    files = find_annotation_files(tmp_path)
    assert files == sorted([first, second])
    found = read_objects_by_id(files, {5, 9, 1234})
    assert found == {
        5: [AnnotatedObject("cat", (0.1, 0.4, 0.15, 0.52)), AnnotatedObject("traffic light", (0, 0, 0.025, 0.04))],
        9: [AnnotatedObject("cat", (0, 0, 0.03, 0.06))],
    }
    size = (200, 100)
    assert boxes_for_name(found[5], "left Cat", size)[0] == pytest.approx((20, 40, 30, 52))
    assert boxes_for_name(found[5], "traffic_light", size)[0] == pytest.approx((0, 0, 5, 4))
    assert boxes_for_name(found[5], "bobcat", size) == ()
    assert boxes_for_name(found[5], "", size) == ()


def test_a_number_that_no_image_has_and_a_damaged_cache(tmp_path: Path) -> None:
    path = write_annotations(tmp_path / "instances_x.json", {10**30: [(1, [0, 0, 3, 3])]})
    assert read_objects_by_id([path], {1}) == {}
    for kept in cache_folder().glob("coco/*/boxes.parquet"):
        kept.write_bytes(b"PAR1")
    with pytest.raises(CrevalError, match=r"is damaged\. Delete it"):
        read_objects_by_id([path], {1})


@pytest.mark.parametrize("content", ["[]", '{"categories": []}', "{", '{"annotations": [3]}'])
def test_a_file_that_is_something_else(tmp_path: Path, content: str) -> None:
    path = tmp_path / "instances_x.json"
    path.write_text(content)
    with pytest.raises(CrevalError, match=r"instances_x\.json"):
        read_objects_by_id([path], {1})
