"""Scenes recognised from pixels, compared with the true scenes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from creval.core.concurrency import parallel_map
from creval.touchstone.recognition import UNREADABLE_TEXT, recognise_scene
from creval.touchstone.render import draw_scene
from creval.touchstone.samples import make_samples
from creval.touchstone.scene import CONTAINERS, FRAMES, STYLES, Extra, Scene, SmallObject
from creval.touchstone.shapes import SUBJECT_KINDS
from creval.touchstone.simulated_edits import SIMULATED_EDITORS, simulate_edit
from creval.touchstone.sprites import MATERIALS, draw_sprite

PLAIN = Scene(
    "cat",
    "red",
    place="left",
    background="meadow",
    backdrop="blue",
    others=(SmallObject("star", "green", "top"), SmallObject("bell", "pink", "bottom right")),
)


class Judged(NamedTuple):
    """An answer and the true answer."""

    metric: str
    kind: str
    truth: bool
    answer: bool | None


def judged(seed: int, number: int) -> list[Judged]:
    """Return all answers about the edits of one sample."""
    sample = make_samples(number, seed)[-1]
    source = recognise_scene(draw_scene(sample.source))
    found = []
    for editor in SIMULATED_EDITORS:
        scene = simulate_edit(sample, editor, seed)
        seen = recognise_scene(draw_scene(scene))
        known = source.is_recognised and seen.is_recognised
        for metric, several in sample.questions.items():
            for check, _, _ in several:
                truth = check.answer(sample.source, scene)
                answer = check.answer(source.scene, seen.scene) if known else None
                found.append(Judged(metric, check.kind, truth, answer))
    return found


def rates(answers: list[Judged]) -> tuple[float, float]:
    """Return sensitivity and specificity."""
    yes = [one.answer for one in answers if one.truth and one.answer is not None]
    no = [not one.answer for one in answers if not one.truth and one.answer is not None]
    return sum(yes) / len(yes), sum(no) / len(no)


def answered(answers: list[Judged]) -> float:
    return sum(one.answer is not None for one in answers) / len(answers)


def by(answers: list[Judged], what: str) -> Iterator[tuple[str, list[Judged]]]:
    for name in sorted({getattr(one, what) for one in answers}):
        yield name, [one for one in answers if getattr(one, what) == name]


def test_the_pixel_judge_is_almost_always_right() -> None:
    answers = [one for number in range(1, 6) for one in judged(4321, number)]
    for metric, some in by(answers, "metric"):
        sensitivity, specificity = rates(some)
        assert sensitivity >= 0.9, metric
        assert specificity >= 0.9, metric
        assert answered(some) >= 0.9, metric


@pytest.mark.study
def test_the_pixel_judge_is_almost_always_right_on_200_samples() -> None:
    """Print the table in docs/benchmarks/touchstone.md."""
    parts = parallel_map(partial(judged, 987654), range(1, 201))
    answers = [one for part in parts for one in part]
    print()
    for what in ("metric", "kind"):
        for name, some in by(answers, what):
            sensitivity, specificity = rates(some)
            share = f"{100 * answered(some):.1f} %"
            print(f"| {name} | {len(some):,} | {share} | {sensitivity:.3f} | {specificity:.3f} |")
            if what == "metric":
                assert answered(some) >= 0.9
                assert sensitivity >= 0.9
                assert specificity >= 0.9


@pytest.mark.parametrize("kind", SUBJECT_KINDS)
def test_every_kind_in_every_size_and_place(kind: str) -> None:
    for size, place in (("small", "left"), ("medium", "centre"), ("large", "right")):
        scene = replace(PLAIN, kind=kind, size=size, place=place)
        seen = recognise_scene(draw_scene(scene))
        assert seen.scene == replace(scene, seed=0)
        assert seen.fit > 0.8


@pytest.mark.parametrize(
    "scene",
    [
        *(replace(PLAIN, material=material, colour="yellow") for material in MATERIALS),
        *(replace(PLAIN, container=container, place="centre") for container in CONTAINERS),
        *(replace(PLAIN, frame=frame) for frame in FRAMES),
        replace(PLAIN, sticker=True),
        replace(PLAIN, text="GOOD LUCK"),
        replace(PLAIN, extras=(Extra("wings", "yellow"), Extra("crown", "blue"))),
        replace(PLAIN, extras=(Extra("wheels", "blue"), Extra("sash", "green", "dotted"))),
        replace(PLAIN, flaws=("cut limbs",), seed=2),
        replace(PLAIN, flaws=("doubled parts",)),
        replace(PLAIN, flaws=("broken outlines",)),
        replace(PLAIN, flaws=("noise",)),
        replace(PLAIN, flaws=("banding",)),
    ],
)
def test_everything_that_can_be_drawn_is_seen(scene: Scene) -> None:
    assert recognise_scene(draw_scene(scene)).scene == replace(scene, seed=0)


@pytest.mark.parametrize("style", STYLES)
def test_every_style(style: str) -> None:
    scene = replace(PLAIN, style=style, extras=(Extra("hat", "yellow"),))
    seen = recognise_scene(draw_scene(scene)).scene
    assert (seen.style, seen.kind, seen.size, seen.place) == (style, "cat", "medium", "left")
    assert (seen.background, seen.flaws) == ("meadow", ())
    assert [extra.kind for extra in seen.extras] == ["hat"]
    assert [(o.kind, o.slot) for o in seen.others] == [(o.kind, o.slot) for o in PLAIN.others]
    if scene.has_visible_colours:
        assert (seen.colour, seen.backdrop, seen.extras) == ("red", "blue", scene.extras), style


def test_two_panels_and_unknown_words() -> None:
    seen = recognise_scene(draw_scene(replace(PLAIN, panels=2, text="THE END"))).scene
    assert (seen.panels, seen.kind, seen.colour, seen.text) == (2, "cat", "red", "THE END")
    assert recognise_scene(draw_scene(replace(PLAIN, text="SOMETHING"))).scene.text == UNREADABLE_TEXT


def test_only_the_pixels_count_and_a_smaller_image_will_do() -> None:
    image = draw_scene(PLAIN)
    smaller = image.resize((640, 640), Image.Resampling.LANCZOS)
    assert recognise_scene(smaller).scene == replace(PLAIN, seed=0)


def test_other_images_fit_badly() -> None:
    chance = np.random.default_rng(1)
    noise = Image.fromarray(chance.integers(0, 255, (300, 200, 3)).astype(np.uint8))
    slopes = np.add.outer(np.arange(500), np.arange(700)) % 256
    for image in (noise, Image.fromarray(slopes.astype(np.uint8)), Image.new("L", (8, 8))):
        assert not recognise_scene(image).is_recognised


def test_unknown_content_is_not_recognised() -> None:
    image = draw_scene(PLAIN)
    assert recognise_scene(image).is_recognised
    grey = image.convert("L").convert("RGB")
    elsewhere = image.copy()
    star = draw_sprite("star", "yellow", 92)
    elsewhere.paste(star, (560, 330), star)
    boxed = image.copy()
    boxed.paste((120, 60, 20), (500, 300, 700, 600))
    brown = image.copy()
    pixels = np.asarray(brown).copy()
    reddish = (pixels[..., 0] > 150) & (pixels[..., 1] < 110)
    pixels[reddish] = (110, 70, 40)
    turned = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    for other in (grey, elsewhere, boxed, Image.fromarray(pixels), turned):
        assert not recognise_scene(other).is_recognised
