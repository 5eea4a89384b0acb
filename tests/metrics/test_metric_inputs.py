"""Tests of the inputs of metrics: images are decoded once, and evicted from the cache."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from PIL import Image

from creval.core.images import ImageError
from creval.core.sample import Sample
from creval.metrics.metric_inputs import ImageCache, MetricInputs, NotMeasurable
from tests.metrics.images import slope


def counted(shelf: ImageCache, key: str, made: list[str], size: int = 10) -> Image.Image:
    def make() -> Image.Image:
        made.append(key)
        return Image.new("RGB", (size, size))

    return shelf.get_or_load(key, make)


def test_an_image_is_made_once_while_there_is_room() -> None:
    shelf, made = ImageCache(250), list[str]()
    for key in "abab":
        counted(shelf, key, made)
    assert made == ["a", "b"]
    counted(shelf, "c", made)  # 300 pixels: the least recently used one is evicted
    counted(shelf, "b", made)
    assert made == ["a", "b", "c"]
    counted(shelf, "a", made)
    assert made == ["a", "b", "c", "a"]


def test_an_image_larger_than_the_shelf_is_there_while_it_is_used() -> None:
    shelf, made = ImageCache(50), list[str]()
    counted(shelf, "a", made)
    assert counted(shelf, "a", made).size == (10, 10)
    assert made == ["a"]
    counted(shelf, "b", made)
    counted(shelf, "a", made)
    assert made == ["a", "b", "a"]


def test_pinned_images_stay_cached() -> None:
    shelf, made = ImageCache(250), list[str]()
    with shelf.pin_images():
        for key in "abcabc":
            counted(shelf, key, made)
        with ThreadPoolExecutor(1) as pool:  # another thread pins nothing
            for key in "defgh":
                pool.submit(counted, shelf, key, made).result()
        for key in "abc":
            counted(shelf, key, made)
    assert made == list("abcdefgh")
    assert shelf._cached_pixels == sum(there.result().size[0] ** 2 for there in shelf._images.values())
    assert shelf._cached_pixels <= 250
    assert not shelf._pin_counts


def test_two_threads_hold_one_image() -> None:
    shelf, made, gate = ImageCache(50), list[str](), Barrier(2)

    def take(keys: str) -> None:
        with shelf.pin_images():
            counted(shelf, "a", made)
            gate.wait()
            for key in keys:
                counted(shelf, key, made)
        gate.wait()

    def keep() -> None:
        with shelf.pin_images():
            counted(shelf, "a", made)
            gate.wait()
            gate.wait()  # the other thread has unpinned its images
            counted(shelf, "b", made)
            counted(shelf, "a", made)

    with ThreadPoolExecutor(2) as pool:
        for done in (pool.submit(take, "cd"), pool.submit(keep)):
            done.result()
    assert made.count("a") == 1


def test_threads_make_an_image_once() -> None:
    shelf, made, gate = ImageCache(), list[str](), Barrier(8)

    def take(_: int) -> Image.Image:
        gate.wait()
        return counted(shelf, "a", made)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(take, range(8)))
    assert made == ["a"]
    assert all(image is found[0] for image in found)


def test_a_failed_image_is_tried_again(tmp_path: Path) -> None:
    image = ImageCache().get_image(tmp_path / "a.png")
    for _ in range(2):
        with pytest.raises(ImageError, match="does not exist"):
            image.image  # noqa: B018
    Image.new("RGB", (3, 3)).save(tmp_path / "a.png")
    assert image.image.size == (3, 3)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """Return a sample with a source of 8 x 6 and a mask of its right half."""
    Image.new("RGB", (8, 6), (10, 20, 30)).save(tmp_path / "source.png")
    Image.new("RGB", (16, 12), (90, 20, 30)).save(tmp_path / "edit.png")
    mask = Image.new("L", (8, 6))
    mask.paste(255, (4, 0, 8, 6))
    mask.save(tmp_path / "mask.png")
    return Sample("s", "", tmp_path / "source.png", mask=tmp_path / "mask.png")


def test_the_edit_in_its_sources_size(sample: Sample, tmp_path: Path) -> None:
    exhibit = MetricInputs(sample, tmp_path / "edit.png")
    assert exhibit.edit_at_source_size().image.size == (8, 6)
    assert exhibit.edit_at_source_size().image is exhibit.edit_at_source_size().image
    assert exhibit.edit_at_source_size().digest != exhibit.edit.digest
    same = MetricInputs(sample, tmp_path / "source.png")
    assert same.edit_at_source_size() is same.edit


def test_white_around_the_region(sample: Sample, tmp_path: Path) -> None:
    exhibit = MetricInputs(sample, tmp_path / "edit.png")
    pixels = np.asarray(exhibit.masked_edit().image)
    assert pixels.shape == (12, 16, 3)
    assert (pixels[:, :7] == 255).all()
    assert (pixels[:, 9:] == (90, 20, 30)).all()
    bare = MetricInputs(Sample("s", "", sample.source), tmp_path / "edit.png")
    assert bare.masked_edit() is bare.edit
    assert bare.editable_region((8, 6)) is None


def test_a_mask_that_marks_nothing_leaves_no_region(sample: Sample, tmp_path: Path) -> None:
    grey = Image.new("L", (8, 6), 128)
    tiny = Image.new("L", (4000, 3000))
    tiny.putpixel((9, 9), 255)  # and in the edit's size it is empty
    for mask in (grey, tiny):
        mask.save(tmp_path / "mask.png")
        with pytest.raises(NotMeasurable, match="the mask marks no region"):
            MetricInputs(sample, tmp_path / "edit.png").masked_edit().image  # noqa: B018


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "I;16"])
def test_masks_of_all_kinds(mode: str, tmp_path: Path) -> None:
    drawn = np.zeros((6, 8), dtype=np.uint8)
    drawn[:, 4:] = 255
    mask = Image.fromarray(drawn)
    if mode == "I;16":
        mask = Image.fromarray(drawn.astype(np.uint16) * 257)
    elif mode in ("LA", "RGBA"):
        mask = mask.convert(mode)
        mask.putalpha(0)  # the pixels under the alpha channel count
    else:
        mask = mask.convert(mode)
    mask.save(tmp_path / "mask.png")
    exhibit = MetricInputs(Sample("s", "", mask=tmp_path / "mask.png"), tmp_path / "edit.png")
    region = exhibit.editable_region((8, 6))
    assert region is not None
    assert np.array_equal(region, drawn)


def test_only_above_128_is_to_be_edited(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1, 128, 129, 255]], dtype=np.uint8)).save(tmp_path / "mask.png")
    exhibit = MetricInputs(Sample("s", "", mask=tmp_path / "mask.png"), tmp_path / "edit.png")
    region = exhibit.editable_region((5, 1))
    assert region is not None
    assert region.tolist() == [[0, 0, 0, 255, 255]]


def test_how_many_pixels_an_exhibit_can_take(sample: Sample, tmp_path: Path) -> None:
    exhibit = MetricInputs(sample, tmp_path / "edit.png")
    edit, source, mask = 16 * 12, 8 * 6, 8 * 6
    # The edit in its source's size, with white outside the mask's region.
    assert sum(exhibit.pixel_counts().values()) == edit + source + mask + source + edit
    assert not exhibit.used_files
    bare = MetricInputs(Sample("s", ""), tmp_path / "absent.png")
    assert sum(bare.pixel_counts().values()) == 0


def test_inputs_that_a_sample_lacks(tmp_path: Path) -> None:
    exhibit = MetricInputs(Sample("s", "", captions={"target": " "}), tmp_path / "edit.png")
    for take in (
        lambda: exhibit.source,
        lambda: exhibit.reference,
        lambda: exhibit.caption("target"),
        lambda: exhibit.caption("source"),
    ):
        with pytest.raises(NotMeasurable, match="the sample has no"):
            take()
    assert exhibit.mask is None


def test_used_files_are_recorded(sample: Sample, tmp_path: Path) -> None:
    exhibit = MetricInputs(sample, tmp_path / "edit.png")
    exhibit.masked_edit()
    assert set(exhibit.used_files) == {"edit", "mask"}


def test_an_ambiguous_mask_is_refused(tmp_path: Path) -> None:
    size = 400, 60
    drawn = np.zeros((60, 400), dtype=np.uint8)
    drawn[:, 200:] = 255
    slope(size).save(tmp_path / "edit.png")
    exhibit = MetricInputs(Sample("s", "", mask=tmp_path / "mask.png"), tmp_path / "edit.png")
    # The format of some editing services: the image, or black, with a transparent hole.
    for under in (slope(size), Image.new("RGB", size), Image.new("RGB", size, "white")):
        under.putalpha(Image.fromarray(255 - drawn))
        under.save(tmp_path / "mask.png")
        with pytest.raises(ImageError, match=r"mask\.png marks one region in grey and another"):
            MetricInputs(exhibit.sample, exhibit.edit_path).editable_region(size)
    # Grey values and alpha agree if they mark the same region, even inverted or with slightly different edges.
    for alpha in (drawn, 255 - drawn, np.roll(drawn, 1, axis=1)):
        mask = Image.fromarray(drawn).convert("RGB")
        mask.putalpha(Image.fromarray(alpha))
        mask.save(tmp_path / "mask.png")
        region = MetricInputs(exhibit.sample, exhibit.edit_path).editable_region(size)
        assert region is not None
        assert np.array_equal(region, drawn)
