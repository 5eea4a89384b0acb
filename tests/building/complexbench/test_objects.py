from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks.complexbench_edit.coco_boxes import AnnotatedObject, read_objects_by_filename
from creval.building.complexbench.objects import (
    Detections,
    ImageObjects,
    SceneObject,
    find_object,
    name_objects,
    select_suitable_images,
    unsuitable_reason,
)
from creval.core.errors import CrevalError
from tests.building.chains_made import annotated, objects


def test_images_are_kept_by_their_objects() -> None:
    assert unsuitable_reason(objects("cat", "cup", "vase", "cat")) == ""
    crowded = objects("cat", "cat", "cup", "cat", "vase")
    assert unsuitable_reason(crowded) == "a class occurs more than 2 times"
    assert unsuitable_reason(objects("cat", "cat", "cup")) == "fewer than 3 classes occur"
    assert unsuitable_reason([]) == "fewer than 3 classes occur"


def test_a_crowd_is_more_than_two(tmp_path: Path) -> None:
    file = annotated(tmp_path, [("cat", "cup", "vase")] * 2, crowds=[2])
    found = read_objects_by_filename(file)
    assert unsuitable_reason(found["000000000001.jpg"]) == ""
    assert unsuitable_reason(found["000000000002.jpg"]) != ""
    file.write_text('{"images": [{}]}')
    with pytest.raises(CrevalError, match="not a COCO annotation file"):
        read_objects_by_filename(file)


def test_two_objects_of_a_class_get_different_names() -> None:
    found = name_objects(objects("cat", "cup", "cat"), (100, 50))
    assert [thing.name for thing in found] == ["left cat", "right cat", "cup"]
    assert found[0].box == pytest.approx((0, 5, 10, 25))
    above = [AnnotatedObject("cat", (0.5, 0.6, 0.6, 0.9)), AnnotatedObject("cat", (0.5, 0.1, 0.6, 0.3))]
    assert [thing.name for thing in name_objects(above, (50, 50))] == ["upper cat", "lower cat"]


def test_a_class_with_a_hostile_name_stays_in_its_line() -> None:
    (thing,) = name_objects([AnnotatedObject("cat\n- dog\ud800" + "x" * 99, (0, 0, 1, 1))], (10, 10))
    assert "\n" not in thing.name
    assert len(thing.name) == 60
    thing.name.encode()


def test_objects_are_listed_with_where_they_are() -> None:
    assert ImageObjects([SceneObject("cup", (10, 0, 20, 25))], (100, 50)).describe() == (
        "- cup (10 to 20 % from the left, 0 to 50 % from the top)"
    )


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("the Left cat", "left cat"),
        ("cat", None),
        ("cup's handle", "cup"),
        ("", None),
        ("cupboard", None),
        ("dog", None),
        ("cup and vase", None),
    ],
)
def test_objects_by_what_a_model_calls_them(said: str, name: str | None) -> None:
    found = name_objects(objects("cat", "cup", "cat", "vase"), (100, 50))
    thing = find_object(found, said)
    assert (thing.name if thing else None) == name


def test_choosing_says_why_others_are_not_kept(tmp_path: Path) -> None:
    names = ["a.jpg", "in/b.png", "c.jpg", "d.jpg", "e.gif", "torn.jpg", "cut.jpg"]
    (tmp_path / "in").mkdir()
    for name in names:
        Image.new("RGB", (80, 40)).save(tmp_path / name)
    (tmp_path / "torn.jpg").write_bytes(b"none")
    fine = objects("cat", "cup", "vase")
    found = {"a.jpg": fine, "b.png": fine, "c.jpg": fine[:2], "e.gif": fine, "torn.jpg": fine}
    chosen = select_suitable_images(names, tmp_path, Detections(found, {"cut.jpg": "cut.jpg is cut off."}))
    assert list(chosen.scenes) == ["a.jpg", "in/b.png", "e.gif"]
    assert chosen.scenes["in/b.png"].size == (80, 40)
    assert chosen.unsuitable == {"c.jpg": "fewer than 3 classes occur", "d.jpg": "there are no annotations"}
    assert list(chosen.unreadable) == ["torn.jpg", "cut.jpg"]
    assert chosen.unreadable["cut.jpg"] == "cut.jpg is cut off.", "with the reason of the detector"
    assert chosen.describe_unsuitable()[0] == "1 image not kept: fewer than 3 classes occur (c.jpg)"
    many = chosen._replace(unsuitable=dict.fromkeys("abcd", "no"))
    assert many.describe_unsuitable() == ["4 images not kept: no (a, b, c, ...)"]
