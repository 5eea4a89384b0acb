"""Touchstone's samples: instructions of every dimension, and a true answer to every question."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.touchstone.samples import make_samples
from creval.touchstone.scene import Extra, Scene, SmallObject
from creval.touchstone.scene_questions import Check, parse_check
from creval.touchstone.shapes import SUBJECT_KINDS
from creval.touchstone.simulated_edits import SIMULATED_EDITORS, simulate_edit

SAMPLES = make_samples(90, 11)


def test_every_dimension_has_instructions_of_three_to_six_requirements() -> None:
    assert Counter(sample.dimension for sample in SAMPLES) == dict.fromkeys(CLASS_DIMENSIONS, 10)
    assert len(SUBJECT_KINDS) >= 12
    lengths = {len(sample.requirements) for sample in SAMPLES}
    assert lengths == {3, 4, 5, 6}
    assert len({sample.instruction for sample in SAMPLES}) == len(SAMPLES)
    for sample in SAMPLES:
        assert sample.instruction.endswith(".")
        assert "{" not in sample.instruction
        texts = [a.check.text for several in sample.questions.values() for a in several]
        for text in (sample.instruction, *texts):
            assert not re.search(r"\ba (?=[aeiou])|\ban (?=[^aeiou])", text)
        for requirement in sample.requirements:
            assert requirement.apply(sample.source) != sample.source


def test_questions_are_enough_of_both_kinds_and_weighted() -> None:
    kinds = Counter(asked.check.kind for s in SAMPLES for a in s.questions.values() for asked in a)
    assert kinds.keys() >= {
        "colour",
        "count",
        "presence",
        "place",
        "size",
        "shape",
        "material",
        "text",
        "container",
        "style",
        "artefact",
        "background",
        "frame",
        "pattern",
    }
    for sample in SAMPLES:
        for metric, asked in sample.questions.items():
            assert len(asked) >= 5
            assert len({entry.check for entry in asked}) == len(asked)
            assert {entry.weight for entry in asked} <= ({1, 2, 3} if metric == "VC" else {1})
        assert {entry.answer for entry in sample.questions["VC"]} == {True, False}
        assert {entry.answer for entry in sample.questions["VQ"]} == {True, False}
        shared = {e.check for e in sample.questions["IF"]} & {e.check for e in sample.questions["VC"]}
        assert not shared
    weights = {entry.weight for sample in SAMPLES for entry in sample.questions["VC"]}
    assert weights == {1, 2, 3}


def test_questions_are_parsed_from_their_text() -> None:
    for sample in SAMPLES:
        for asked in (entry for several in sample.questions.values() for entry in several):
            assert parse_check(asked.check.text) == asked.check
            assert parse_check(asked.check.reworded) == asked.check
            assert asked.check.reworded != asked.check.text
    assert parse_check("Is the cat happy?") is None
    assert parse_check("Does the cat wear a tie?") is None
    assert parse_check("") is None


def right(sample_answers: list[bool]) -> float:
    return sum(sample_answers) / len(sample_answers)


@pytest.mark.parametrize(
    ("editor", "metric", "least", "most"),
    [
        ("faithful", "IF", 1.0, 1.0),
        ("faithful", "VC", 1.0, 1.0),
        ("faithful", "VQ", 1.0, 1.0),
        ("forgetful", "IF", 0.2, 0.7),
        ("forgetful", "VC", 1.0, 1.0),
        ("overeager", "IF", 1.0, 1.0),
        ("overeager", "VC", 0.4, 0.85),
        ("lazy", "IF", 0.0, 0.15),
        ("lazy", "VC", 1.0, 1.0),
        ("lazy", "VQ", 1.0, 1.0),
        ("clumsy", "IF", 1.0, 1.0),
        ("clumsy", "VC", 1.0, 1.0),
        ("clumsy", "VQ", 0.4, 0.8),
        ("stranger", "IF", 0.0, 0.4),
        ("stranger", "VC", 0.1, 0.5),
    ],
)
def test_editors_are_good_and_bad_at_what_they_should_be(editor: str, metric: str, least: float, most: float) -> None:
    answers = [
        asked.check.answer(sample.source, simulate_edit(sample, editor)) == asked.answer
        for sample in SAMPLES
        for asked in sample.questions[metric]
    ]
    assert least <= right(answers) <= most


def test_an_editor_does_the_same_again_and_another_seed_something_else() -> None:
    for editor in SIMULATED_EDITORS:
        first = [simulate_edit(sample, editor, 1) for sample in SAMPLES]
        assert first == [simulate_edit(sample, editor, 1) for sample in SAMPLES]
        other = [simulate_edit(sample, editor, 2) for sample in SAMPLES]
        assert (first == other) == (editor in ("faithful", "lazy"))


def test_absent_objects_are_neither_kept_nor_well_drawn() -> None:
    cat = Scene("cat", "red", extras=(Extra("hat", "blue"),), others=(SmallObject("star", "red", "top"),))
    owl = Scene("owl", "red")
    for check in (
        Check("subject", ("cat",)),
        Check("colour", ("cat", "red")),
        Check("place", ("cat", "centre")),
        Check("same size", ("cat",)),
        Check("has", ("cat", "hat")),
        Check("extra colour", ("hat", "blue")),
        Check("all colour", ("star", "red")),
        Check("outlines", ("cat",)),
        Check("complete", ("cat",)),
        Check("once", ("cat",)),
    ):
        assert check.answer(cat, cat), check
        assert not check.answer(cat, owl), check


def test_properties_hidden_by_a_style_are_absent() -> None:
    sketch = Scene("cat", "red", style="pencil sketch", text="HELLO")
    assert not Check("colour", ("cat", "red")).answer(sketch, sketch)
    assert not Check("material", ("cat", "gold")).answer(sketch, Scene("cat", "red", "gold", style="blueprint"))
    assert Check("reads", ("HELLO",)).answer(sketch, sketch)
    blocks = Scene("cat", "red", style="pixel art", text="HELLO")
    assert not Check("reads", ("HELLO",)).answer(blocks, blocks)
    assert Check("banner").answer(blocks, blocks)


def test_a_scene_knows_only_what_can_be_drawn() -> None:
    scene = Scene("cat", "red", extras=(Extra("sash", "blue", "dotted"),), flaws=("noise",))
    assert Scene.from_json(scene.as_json()) == scene
    with pytest.raises(ValueError, match="no 'dragon'"):
        Scene("dragon", "red")
    with pytest.raises(ValueError, match="no 'tartan'"):
        Scene("cat", "red", extras=(Extra("sash", "blue", "tartan"),))
    assert "red cat" in str(scene)
    assert "noise" in str(scene)
