"""Duplicates among source images: hand-made pairs, groups, what is skipped, and growth."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance, ImageOps

from creval.building import duplicates
from creval.building.complex_edit.builder import ComplexEditBuilder
from creval.building.duplicates import (
    KEEP,
    MAX_BITS,
    SKIP,
    Duplicate,
    ImageHash,
    _HashIndex,
    check_duplicates,
    find_duplicates,
    hash_image,
)
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.touchstone.builder import build_touchstone


def scene(seed: int, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """Return a picture of coloured ellipses and lines on a gradient, which differs from other seeds' everywhere."""
    rng = random.Random(seed)
    image = Image.new("RGB", size, tuple(rng.randrange(256) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(25):
        x, y = rng.randrange(size[0]), rng.randrange(size[1])
        radius = rng.randrange(15, 90)
        colour = tuple(rng.randrange(256) for _ in range(3))
        draw.ellipse((x - radius, y - radius // 2, x + radius, y + radius // 2), fill=colour)
    return image


def saved(path: Path, image: Image.Image, **options: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    image.save(path, **options)
    return path


def cropped(image: Image.Image, left: float, top: float, right: float, bottom: float) -> Image.Image:
    width, height = image.size
    return image.crop((round(left * width), round(top * height), round(right * width), round(bottom * height)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda image: image, {"format": "JPEG", "quality": 30}),
        (lambda image: image, {"format": "WEBP", "quality": 60}),
        (lambda image: image.resize((107, 80)), {}),
        (lambda image: image.resize((960, 720)), {}),
        (lambda image: ImageEnhance.Brightness(image).enhance(1.08), {}),
        (lambda image: cropped(image, 0.05, 0.05, 0.95, 0.95), {}),
        (lambda image: cropped(image, 0, 0, 0.9, 0.9), {}),
        (lambda image: cropped(image, 0.1, 0, 1, 0.9).resize((640, 480)), {}),
    ],
    ids=["jpeg", "webp", "smaller", "larger", "brighter", "crop all around", "crop to a corner", "crop and enlarge"],
)
def test_changed_copies_are_found(tmp_path: Path, seed: int, change: object, options: dict[str, Any]) -> None:
    original = saved(tmp_path / "b.png", scene(seed))
    assert callable(change)
    copy = saved(tmp_path / "a.png", change(scene(seed)), **options)
    other = saved(tmp_path / "c.png", scene(seed + 100))
    images = {"b": original, "c": other, "a": copy}
    assert find_duplicates(images) == [Duplicate("b", "a", False)], "the first by name is the original"
    assert find_duplicates(images, ["b"]) == [Duplicate("a", "b", False)]


def test_different_images_are_not_duplicates(tmp_path: Path) -> None:
    images = {str(seed): saved(tmp_path / f"{seed}.png", scene(seed)) for seed in range(60)}
    assert find_duplicates(images) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda image: ImageOps.mirror(image),
        lambda image: image.rotate(90, expand=True),
        lambda image: ImageOps.invert(image),
        lambda image: cropped(image, 0, 0, 0.5, 0.5),
    ],
    ids=["mirrored", "turned", "inverted", "a quarter"],
)
def test_these_changes_make_a_different_image(tmp_path: Path, change: object) -> None:
    assert callable(change)
    images = {"a": saved(tmp_path / "a.png", scene(1)), "b": saved(tmp_path / "b.png", change(scene(1)))}
    assert find_duplicates(images) == []


def test_plain_images_are_compared_by_content_only(tmp_path: Path) -> None:
    images = {
        name: saved(tmp_path / f"{name}.png", Image.new("RGB", (40, 30), colour))
        for name, colour in {"a": (9, 9, 9), "b": (10, 9, 9), "c": (9, 9, 9)}.items()
    }
    found = hash_image(images["a"])
    assert found is not None
    assert found.hashes is None
    assert find_duplicates(images) == [Duplicate("c", "a", True)]


def test_the_same_shapes_in_other_colours_are_different(tmp_path: Path) -> None:
    images = {}
    for name, colour in {"red": (200, 40, 40), "blue": (40, 40, 200)}.items():
        image = Image.new("RGB", (200, 200), (90, 90, 90))
        ImageDraw.Draw(image).ellipse((30, 30, 150, 170), fill=colour)
        images[name] = saved(tmp_path / f"{name}.png", image)
    assert find_duplicates(images) == []


def test_scenes_before_the_same_background_are_different(tmp_path: Path) -> None:
    build_touchstone(tmp_path, 40, 0)
    images = {path.name: path for path in (tmp_path / "image").iterdir()}
    assert find_duplicates(images) == []


def test_a_group_has_one_original(tmp_path: Path) -> None:
    whole, jpeg = saved(tmp_path / "w.png", scene(2)), saved(tmp_path / "j.jpg", scene(2), quality=50)
    twin, broken = tmp_path / "t.jpg", tmp_path / "broken.png"
    shutil.copy(jpeg, twin)
    broken.write_bytes(b"no image")
    crop = saved(tmp_path / "a.png", cropped(scene(2), 0, 0, 0.9, 0.9))
    found = find_duplicates({"w": whole, "j": jpeg, "t": twin, "broken": broken, "a": crop})
    assert found == [Duplicate("j", "a", False), Duplicate("t", "a", True), Duplicate("w", "a", False)]


def test_skip_leaves_out_new_duplicates_only(tmp_path: Path) -> None:
    images = {name: saved(tmp_path / f"{name}.png", scene(3)) for name in ("a", "b", "c")}
    kept = check_duplicates(images, KEEP)
    assert not kept.skipped
    assert kept.describe() == [
        "2 images duplicate other images, kept; `duplicates` skip leaves out new ones: b (same as a), c (same as a)"
    ]
    assert check_duplicates(images, SKIP).skipped == {"b", "c"}
    resumed = check_duplicates(images, SKIP, existing=["b", "c"])
    assert resumed.skipped == {"a"}
    assert {one.original for one in resumed.found} == {"b"}
    with pytest.raises(CrevalError, match="no value of `duplicates` 'drop'"):
        check_duplicates(images, "drop")


def test_every_close_hash_is_looked_up() -> None:
    rng = random.Random(0)
    index, value = _HashIndex(), rng.getrandbits(64)
    for bits in range(20):
        flipped = value
        for at in rng.sample(range(64), bits):
            flipped ^= 1 << at
        index.add(f"{bits}", flipped)
    assert index.look_up(value) == [(bits, f"{bits}") for bits in range(MAX_BITS + 1)]


def test_time_grows_with_the_number_of_images_only() -> None:
    hashes = [int(value) for value in np.random.default_rng(1).integers(0, 2**63, 8_000, dtype=np.uint64)]

    def seconds(number: int) -> float:
        index, started = _HashIndex(), time.perf_counter()
        for at, value in enumerate(hashes[:number]):
            index.look_up(value)
            index.add(str(at), value)
        return time.perf_counter() - started

    small, large = min(seconds(2_000) for _ in range(2)), min(seconds(8_000) for _ in range(2))
    assert large < 8 * small, "all pairs would take sixteen times as long"


def test_stored_hashes_are_used_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = {name: saved(tmp_path / f"{name}.png", scene(seed)) for name, seed in {"a": 1, "b": 2, "c": 1}.items()}
    plain = saved(tmp_path / "plain.png", Image.new("RGB", (9, 9)))
    report = check_duplicates(images | {"plain": plain}, folder=tmp_path)
    assert report.found == (Duplicate("c", "a", True),)
    assert report.hashes is not None
    report.hashes.save()
    opened: list[Path] = []

    def recorded(path: Path) -> ImageHash | None:
        opened.append(path)
        return hash_image(path)

    monkeypatch.setattr(duplicates, "hash_image", recorded)
    assert check_duplicates(images | {"plain": plain}, folder=tmp_path).found == report.found
    assert opened == []
    saved(images["b"], scene(1), optimize=True)
    assert [one.name for one in check_duplicates(images, folder=tmp_path).found] == ["b", "c"]
    assert opened == [images["b"]]
    for content in ("{", "[]", '{"version": 1, "images": {"a": 3, "b": [[1, 2], "x", "zz"]}}'):
        (tmp_path / "hashes.json").write_text(content)
        assert len(check_duplicates(images, folder=tmp_path).found) == 2


def test_a_build_skips_and_records_them(tmp_path: Path) -> None:
    images = tmp_path / "pictures"
    for name in ("a", "b"):
        saved(images / f"{name}.png", scene(4))
    saved(images / "c.png", scene(5))

    def begin(mode: str) -> ComplexEditBuilder:
        writer = "openai:a@http://127.0.0.1:9/v1"
        return ComplexEditBuilder(images, tmp_path / "out", writer, Settings(), duplicates=mode, dry_run=True)

    assert [item.id for item in begin("keep").items] == ["a.png", "b.png", "c.png"]
    skipping = begin("skip")
    assert [item.id for item in skipping.items] == ["a.png", "c.png"]
    assert skipping.warnings() == ["1 image duplicates another image, left out: b.png (same as a.png)"]
    assert skipping.duplicates.as_record() == [{"name": "b.png", "original": "a.png", "exact": True, "skipped": True}]
