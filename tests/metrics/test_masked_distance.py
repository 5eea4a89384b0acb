"""Tests of distances outside boxes, compared with plain NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from creval.core.sample import Box
from creval.metrics.pixel_distance import mask_outside_boxes, measure_pixel_distance

coordinate = st.floats(-30, 60, allow_nan=False)
boxes = st.lists(st.tuples(coordinate, coordinate, coordinate, coordinate), max_size=4)


def make_image(seed: int, width: int, height: int) -> Image.Image:
    generator = np.random.default_rng(seed)
    return Image.fromarray(generator.integers(0, 256, (height, width, 3), dtype=np.uint8))


def reference(first: Image.Image, second: Image.Image, boxes: list[Box]) -> tuple[float, float] | None:
    """Return the distances pixel by pixel, directly from the formula."""
    a, b = (np.asarray(image).astype(np.float64) / 255 for image in (first, second))
    total, square, count = 0.0, 0.0, 0
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            # The pixel covers [x, x + 1) x [y, y + 1).
            touched = any(
                left < x + 1 and x < right and top < y + 1 and y < bottom
                for left, top, right, bottom in boxes
                if left < right and top < bottom
            )
            if not touched:
                total += np.abs(a[y, x] - b[y, x]).sum()
                square += ((a[y, x] - b[y, x]) ** 2).sum()
                count += 3
    return (total / count, square / count) if count else None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.integers(1, 24), st.integers(1, 24), boxes)
def test_it_equals_the_formula(seed: int, width: int, height: int, given: list[Box]) -> None:
    first, second = make_image(seed, width, height), make_image(seed + 1, width, height)
    found = measure_pixel_distance(first, second, mask_outside_boxes((width, height), given))
    expected = reference(first, second, given)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.l1, found.l2) == pytest.approx(expected, abs=1e-12)


def test_worked_out_by_hand() -> None:
    black, white = Image.new("RGB", (10, 10)), Image.new("RGB", (10, 10), "white")
    assert measure_pixel_distance(black, white) == pytest.approx((1.0, 1.0, 1.0))
    half = white.copy()
    half.paste("black", (0, 0, 5, 10))
    assert measure_pixel_distance(black, half) == pytest.approx((0.5, 0.5, 1.0))
    left = mask_outside_boxes((10, 10), [(5, 0, 10, 10)])
    assert measure_pixel_distance(black, half, left) == (0.0, 0.0, 0.5)
    grey = Image.new("RGB", (10, 10), (51, 51, 51))
    assert measure_pixel_distance(black, grey) == pytest.approx((0.2, 0.04, 1.0))


def test_a_mask_that_covers_everything_leaves_nothing_to_measure() -> None:
    black = Image.new("RGB", (10, 10))
    assert measure_pixel_distance(black, black, mask_outside_boxes((10, 10), [(-5, -5, 50, 50)])) is None
    assert measure_pixel_distance(black, black, mask_outside_boxes((10, 10), [(float("nan"), 0, 1, 1)])) == (
        0.0,
        0.0,
        1.0,
    )


def test_an_edit_of_another_size_is_scaled_to_its_source() -> None:
    small, large = Image.new("RGB", (10, 8), "red"), Image.new("RGB", (30, 24), "red")
    assert measure_pixel_distance(small, large) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("size", [(1_000_000, 2), (2, 100_000)])
def test_very_wide_images(size: tuple[int, int]) -> None:
    white, black = Image.new("RGB", size, "white"), Image.new("RGB", size)
    mask = np.full((size[1], size[0]), 255, dtype=np.uint8)
    for whole in (mask, None):
        assert measure_pixel_distance(white, black, whole) == pytest.approx((1.0, 1.0, 1.0))
    half = mask.copy()
    half[:, ::2] = 0
    assert measure_pixel_distance(white, black, half) == pytest.approx((1.0, 1.0, 0.5))


def test_masks_of_wide_images() -> None:
    first, second = make_image(1, 40_000, 35), make_image(2, 40_000, 35)
    mask = mask_outside_boxes((40_000, 35), [(1.5, 3.2, 20_000, 33), (39_000, 0, 40_000, 35)])
    a, b = (np.asarray(image).astype(np.float64) / 255 for image in (first, second))
    apart = (a - b)[mask > 0]
    found = measure_pixel_distance(first, second, mask)
    assert found is not None
    assert (found.l1, found.l2) == pytest.approx((np.abs(apart).mean(), (apart**2).mean()))


def test_images_higher_than_a_strip() -> None:
    first, second = make_image(1, 7, 300), make_image(2, 7, 300)
    given: list[Box] = [(1.5, 100.2, 5, 131), (0, 250, 7, 256.5)]
    found = measure_pixel_distance(first, second, mask_outside_boxes((7, 300), given))
    assert found is not None
    assert (found.l1, found.l2) == pytest.approx(reference(first, second, given), abs=1e-12)
