from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.building.ice.import_images import import_images
from creval.building.ice.layouts.coco import _decode_runs, _parse_runs
from creval.core.errors import CrevalError

WIDTH, HEIGHT = 40, 20
SQUARE = [[10, 5, 19, 5, 19, 14, 10, 14]]  # ten by ten pixels, with both edges


def coco(tmp_path: Path, *objects: dict[str, Any], size: tuple[int, int] = (WIDTH, HEIGHT)) -> Path:
    """Write one image and its annotations, and return the annotation file."""
    (tmp_path / "val").mkdir()
    Image.effect_noise((WIDTH, HEIGHT), 50).convert("RGB").save(tmp_path / "val" / "0007.jpg")
    entry = {"id": 7, "file_name": "0007.jpg", "width": size[0], "height": size[1]}
    made = [{"id": at, "image_id": 7, "category_id": 1, "iscrowd": 0, **one} for at, one in enumerate(objects)]
    content = {"images": [entry], "annotations": made, "categories": [{"id": 1, "name": "dog"}]}
    path = tmp_path / "instances_val.json"
    path.write_text(json.dumps(content))
    return path


def mask_of(tmp_path: Path) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(tmp_path / "out" / "Local Editing" / "0007_mask.png"))


def test_the_largest_suitable_object_becomes_the_mask(tmp_path: Path) -> None:
    path = coco(
        tmp_path,
        {"segmentation": [[0, 0, 3, 0, 3, 3, 0, 3]], "area": 9},
        {"segmentation": SQUARE, "area": 100},
        {"segmentation": [[0, 0, 39, 0, 39, 19, 0, 19]], "area": 800},
        {"segmentation": {"size": [20, 40], "counts": [0, 800]}, "area": 300, "iscrowd": 1},
    )
    found = import_images(tmp_path / "out", tmp_path / "val", "coco", path)
    assert (found.counts, found.left_out) == ({"Local Editing": 1}, {})
    expected = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    expected[5:15, 10:20] = 255
    assert np.array_equal(mask_of(tmp_path), expected)
    record = json.loads((tmp_path / "out" / "import.json").read_text())
    assert record["sets"] == {
        "Local Editing/0007": {"layout": "coco", "image": "0007.jpg", "origin": "dog, annotation 1"}
    }
    assert (tmp_path / "out" / "Local Editing" / "0007.jpg").read_bytes() == (
        tmp_path / "val" / "0007.jpg"
    ).read_bytes()


def test_an_image_without_a_suitable_object_is_used_alone(tmp_path: Path) -> None:
    path = coco(tmp_path, {"segmentation": SQUARE, "area": 3})
    assert import_images(tmp_path / "out", tmp_path / "val", "coco", path).counts == {"": 1}
    assert [one.name for one in (tmp_path / "out").glob("*.jpg")] == ["0007.jpg"]


@pytest.mark.parametrize("compressed", [False, True])
def test_run_lengths_go_down_the_columns(tmp_path: Path, compressed: bool) -> None:
    # Two black columns, then three white ones, then black.
    runs = [2 * HEIGHT, 3 * HEIGHT, (WIDTH - 5) * HEIGHT]
    counts = encoded(runs) if compressed else runs
    segmentation = {"size": [HEIGHT, WIDTH], "counts": counts}
    import_images(
        tmp_path / "out", tmp_path / "val", "coco", coco(tmp_path, {"segmentation": segmentation, "area": 60})
    )
    white = np.zeros((HEIGHT, WIDTH), dtype=bool)
    white[:, 2:5] = True
    assert np.array_equal(mask_of(tmp_path) == 255, white)


def encoded(runs: list[int]) -> str:
    """Return runs in COCO's compressed form, by its description: five bits a character, sixth bit for more to come."""
    text = ""
    for at, run in enumerate(runs):
        value = run - (runs[at - 2] if at > 2 else 0)
        while True:
            bits, value = value % 32, value // 32  # floor division keeps the sign
            done = value == (-1 if bits & 16 else 0)
            text += chr(48 + bits + (0 if done else 32))
            if done:
                break
    return text


def test_compressed_runs_are_read_as_written() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        runs = generator.integers(0, 5_000, generator.integers(1, 30)).tolist()
        assert list(_parse_runs(encoded(runs))) == runs


@pytest.mark.parametrize("counts", ["~~", "oooooooooooo", [1, -1, 800], [10], ["x"]])
def test_malformed_runs_are_refused(counts: object) -> None:
    with pytest.raises(ValueError, match=r"runs|invalid literal"):
        _decode_runs({"size": [HEIGHT, WIDTH], "counts": counts}, (WIDTH, HEIGHT))


def test_unusable_images_are_reported(tmp_path: Path) -> None:
    path = coco(tmp_path, {"segmentation": SQUARE, "area": 100}, size=(20, 20))
    with pytest.raises(
        CrevalError, match=r"no usable images .*0007: the image is 40 x 20, but its annotations say 20 x 20"
    ):
        import_images(tmp_path / "out", tmp_path / "val", "coco", path)
    assert not list((tmp_path / "out").rglob("*.*"))


def test_the_annotation_file_is_needed(tmp_path: Path) -> None:
    path = coco(tmp_path, {"segmentation": SQUARE, "area": 100})
    with pytest.raises(CrevalError, match="give `annotations`"):
        import_images(tmp_path / "out", tmp_path / "val", "coco")
    (tmp_path / "annotations").mkdir()
    path.rename(tmp_path / "annotations" / path.name)
    assert import_images(tmp_path / "out", tmp_path / "val", "coco").total == 1
    with pytest.raises(CrevalError, match="no layout 'coko'"):
        import_images(tmp_path / "out", tmp_path / "val", "coko")
    with pytest.raises(CrevalError, match="must not be inside"):
        import_images(tmp_path / "val" / "out", tmp_path / "val", "coco")


@pytest.mark.parametrize("outline", [[[float("nan")] * 6], [[1e300] * 6], [[1, 2]], [[1, 2, 3]], [["a"] * 6], 5, "abc"])
def test_a_malformed_outline_leaves_its_image_out(tmp_path: Path, outline: object) -> None:
    path = coco(tmp_path, {"segmentation": outline, "area": 100})
    with pytest.raises(CrevalError, match="0007: the outline of its object is malformed"):
        import_images(tmp_path / "out", tmp_path / "val", "coco", path)
