"""What `pixel` sees, against what is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from creval.core.concurrency import on_all_cores
from creval.touchstone.recognition import UNREAD, see
from creval.touchstone.render import draw
from creval.touchstone.samples import make_samples
from creval.touchstone.scene import CONTAINERS, FRAMES, STYLES, Extra, Scene, Small
from creval.touchstone.shapes import KINDS
from creval.touchstone.simulated_edits import EDITORS, edited
from creval.touchstone.sprites import MATERIALS, sprite

PLAIN = Scene(
    "cat", "red", place="left", background="meadow", backdrop="blue",
    others=(Small("star", "green", "top"), Small("bell", "pink", "bottom right")),
)  # fmt: skip


class Judged(NamedTuple):
    """A question as it was answered, and as it should have been."""

    metric: str
    kind: str
    truth: bool
    answer: bool | None


def judged(seed: int, number: int) -> list[Judged]:
    """All answers to one sample's edits."""
    sample = make_samples(number, seed)[-1]
    source = see(draw(sample.source))
    found = []
    for editor in EDITORS:
        scene = edited(sample, editor, seed)
        seen = see(draw(scene))
        known = source.known and seen.known
        for metric, several in sample.asked.items():
            for check, _, _ in several:
                truth = check.answer(sample.source, scene)
                answer = check.answer(source.scene, seen.scene) if known else None
                found.append(Judged(metric, check.kind, truth, answer))
    return found


def rates(answers: list[Judged]) -> tuple[float, float]:
    """Sensitivity and specificity."""
    yes = [one.answer for one in answers if one.truth and one.answer is not None]
    no = [not one.answer for one in answers if not one.truth and one.answer is not None]
    return sum(yes) / len(yes), sum(no) / len(no)


def answered(answers: list[Judged]) -> float:
    return sum(one.answer is not None for one in answers) / len(answers)


def by(answers: list[Judged], what: str) -> Iterator[tuple[str, list[Judged]]]:
    for name in sorted({getattr(one, what) for one in answers}):
        yield name, [one for one in answers if getattr(one, what) == name]


def test_pixels_tell_almost_everything() -> None:
    answers = [one for number in range(1, 10) for one in judged(4321, number)]
    for metric, some in by(answers, "metric"):
        sensitivity, specificity = rates(some)
        assert sensitivity >= 0.9, metric
        assert specificity >= 0.9, metric
        assert answered(some) >= 0.9, metric


@pytest.mark.study
def test_pixels_tell_almost_everything_about_200_samples() -> None:
    """Prints what the documentation gives by kind."""
    parts = on_all_cores(partial(judged, 987654), range(1, 201))
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


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_size_and_place(kind: str) -> None:
    for size, place in (("small", "left"), ("medium", "centre"), ("large", "right")):
        scene = replace(PLAIN, kind=kind, size=size, place=place)
        seen = see(draw(scene))
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
    assert see(draw(scene)).scene == replace(scene, seed=0)


@pytest.mark.parametrize("style", STYLES)
def test_every_style(style: str) -> None:
    scene = replace(PLAIN, style=style, extras=(Extra("hat", "yellow"),))
    seen = see(draw(scene)).scene
    assert (seen.style, seen.kind, seen.size, seen.place) == (style, "cat", "medium", "left")
    assert (seen.background, seen.flaws) == ("meadow", ())
    assert [extra.kind for extra in seen.extras] == ["hat"]
    assert [(o.kind, o.slot) for o in seen.others] == [(o.kind, o.slot) for o in PLAIN.others]
    if scene.coloured:
        assert (seen.colour, seen.backdrop, seen.extras) == ("red", "blue", scene.extras), style


def test_two_panels_and_words_that_it_does_not_know() -> None:
    seen = see(draw(replace(PLAIN, panels=2, text="THE END"))).scene
    assert (seen.panels, seen.kind, seen.colour, seen.text) == (2, "cat", "red", "THE END")
    assert see(draw(replace(PLAIN, text="SOMETHING"))).scene.text == UNREAD


def test_only_the_pixels_count_and_a_smaller_picture_will_do() -> None:
    picture = draw(PLAIN)
    smaller = picture.resize((640, 640), Image.Resampling.LANCZOS)
    assert see(smaller).scene == replace(PLAIN, seed=0)


def test_other_pictures_fit_badly() -> None:
    chance = np.random.default_rng(1)
    noise = Image.fromarray(chance.integers(0, 255, (300, 200, 3)).astype(np.uint8))
    slopes = np.add.outer(np.arange(500), np.arange(700)) % 256
    for picture in (noise, Image.fromarray(slopes.astype(np.uint8)), Image.new("L", (8, 8))):
        assert not see(picture).known


def test_what_is_not_in_the_vocabulary_is_not_taken_for_what_is() -> None:
    picture = draw(PLAIN)
    assert see(picture).known
    grey = picture.convert("L").convert("RGB")
    elsewhere = picture.copy()
    star = sprite("star", "yellow", 92)
    elsewhere.paste(star, (560, 330), star)
    boxed = picture.copy()
    boxed.paste((120, 60, 20), (500, 300, 700, 600))
    brown = picture.copy()
    pixels = np.asarray(brown).copy()
    reddish = (pixels[..., 0] > 150) & (pixels[..., 1] < 110)
    pixels[reddish] = (110, 70, 40)
    turned = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    for other in (grey, elsewhere, boxed, Image.fromarray(pixels), turned):
        assert not see(other).known
