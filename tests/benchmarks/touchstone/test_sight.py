"""What `pixel` sees, against what is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from creval.benchmarks.touchstone.draw import draw
from creval.benchmarks.touchstone.editors import EDITORS, edited
from creval.benchmarks.touchstone.samples import make_samples
from creval.benchmarks.touchstone.scene import CONTAINERS, FRAMES, STYLES, Extra, Scene, Small
from creval.benchmarks.touchstone.shapes import KINDS
from creval.benchmarks.touchstone.sight import FITS, UNREAD, see
from creval.benchmarks.touchstone.sprites import MATERIALS
from creval.core.processes import on_all_cores

PLAIN = Scene(
    "cat", "red", place="left", background="meadow", backdrop="blue",
    others=(Small("star", "green", "top"), Small("bell", "pink", "bottom right")),
)  # fmt: skip


class Judged(NamedTuple):
    """A question as it was answered, and as it should have been."""

    metric: str
    kind: str
    truth: bool
    answer: bool


def judged(seed: int, number: int) -> list[Judged]:
    """All answers to one sample's edits."""
    sample = make_samples(number, seed)[-1]
    source = see(draw(sample.source)).scene
    found = []
    for editor in EDITORS:
        scene = edited(sample, editor, seed)
        seen = see(draw(scene)).scene
        for metric, several in sample.asked.items():
            for check, _, _ in several:
                truth, answer = check.answer(sample.source, scene), check.answer(source, seen)
                found.append(Judged(metric, check.kind, truth, answer))
    return found


def rates(answers: list[Judged]) -> tuple[float, float]:
    """Sensitivity and specificity."""
    yes = [one.answer for one in answers if one.truth]
    no = [not one.answer for one in answers if not one.truth]
    return sum(yes) / len(yes), sum(no) / len(no)


def by(answers: list[Judged], what: str) -> Iterator[tuple[str, list[Judged]]]:
    for name in sorted({getattr(one, what) for one in answers}):
        yield name, [one for one in answers if getattr(one, what) == name]


def test_pixels_tell_almost_everything() -> None:
    answers = [one for number in range(1, 10) for one in judged(4321, number)]
    for metric, some in by(answers, "metric"):
        sensitivity, specificity = rates(some)
        assert sensitivity >= 0.9, metric
        assert specificity >= 0.9, metric


@pytest.mark.study
def test_pixels_tell_almost_everything_about_200_samples() -> None:
    """Prints what the documentation gives by kind."""
    parts = on_all_cores(partial(judged, 987654), range(1, 201))
    answers = [one for part in parts for one in part]
    print()
    for what in ("metric", "kind"):
        for name, some in by(answers, what):
            sensitivity, specificity = rates(some)
            print(f"| {name} | {len(some):,} | {sensitivity:.3f} | {specificity:.3f} |")
            if what == "metric":
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
        assert see(picture).fit < FITS
