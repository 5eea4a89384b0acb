"""Tests of ICE-Bench: questions and measurements of each task, and scores worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from creval.benchmarks.ice_bench.protocol import SCHEMA, IceBench
from creval.benchmarks.ice_bench.tasks import GROUP_WEIGHTS, QA_METRIC, TASKS, Task
from creval.core.benchmark import Protocol
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.probe import Measurement, Question
from creval.core.sample import Sample
from creval.core.schema import Weights
from creval.judging.requests import find_image_paths
from creval.prompts import load_prompt

PROTOCOL = IceBench()
EDITED = ("aesthetic", "imaging", "clip_cap", QA_METRIC, "clip_src", "l1_src")
MEASURED = {
    1: ("aesthetic", "imaging", "clip_cap"),
    2: ("aesthetic", "imaging", "clip_cap", "face"),
    3: ("aesthetic", "imaging", "clip_cap", "style"),
    4: ("aesthetic", "imaging", "clip_cap", "subject"),
    **dict.fromkeys(range(5, 23), EDITED),
    23: ("aesthetic", "imaging", "clip_cap", "pose"),
    24: ("aesthetic", "imaging", "clip_cap", "canny"),
    25: ("aesthetic", "imaging", "clip_cap", "depth"),
    26: ("aesthetic", "imaging", "clip_cap", "colorfulness", "grey"),
    27: ("aesthetic", "imaging", "imaging/PF", "ssim"),
    28: (*EDITED, "style"),
    29: (*EDITED, "subject"),
    30: (*EDITED, "subject"),
    31: (*EDITED, "face"),
}


def item(task: Task, *, mask: bool = False, references: int = 0) -> Sample:
    return Sample(
        "s",
        "do it",
        Path("s.png"),
        {"task": task.name},
        mask=Path("m.png") if mask else None,
        references=tuple(Path(f"r{n}.png") for n in range(references)),
        captions={"target": "a red hat"},
    )


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: str(task.number))
def test_questions_and_measurements_of_each_task(task: Task) -> None:
    probes = PROTOCOL.probes(item(task, references=1))
    assert [probe.id for probe in probes] == list(MEASURED[task.number])
    for probe in probes:
        assert isinstance(probe, Question) == (probe.id == QA_METRIC)
        assert not isinstance(probe, Measurement) or probe.image_metric == probe.id.partition("/")[0]
    assert sum(GROUP_WEIGHTS[task.group].values()) == pytest.approx(1)


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: str(task.number))
def test_each_dimension_rests_on_probes_of_its_own(task: Task) -> None:
    """The probes of a dimension give a value to this dimension only."""
    sample = item(task, references=1)
    probes = PROTOCOL.probes(sample)
    for dimension in GROUP_WEIGHTS[task.group]:
        mine = {probe.id: 0.5 for probe in probes if probe.metric == dimension}
        found = PROTOCOL.score(sample, probes, mine)
        assert [name for name, score in found.items() if score.value is not None] == [dimension]


def test_the_inputs_of_measurements() -> None:
    probes = PROTOCOL.probes(item(TASKS["Virtual Try On"], mask=True, references=2))
    basis = {p.id: dict(p.parameters) for p in probes if isinstance(p, Measurement)}
    assert basis["clip_cap"] == {"caption": "a red hat"}
    assert basis["l1_src"] == {"mask": "m.png"}
    assert basis["subject"] == {"mask": "m.png", "reference": "r0.png"}
    assert basis["aesthetic"] == {}


@pytest.mark.parametrize(
    ("name", "mask", "references", "prompt", "files"),
    [
        ("Color Editing", False, 0, "ice_plain", "s e"),
        ("Inpainting", True, 0, "ice_mask", "s e m"),
        ("Style Transfer", False, 1, "ice_references", "s e r0"),
        ("Face Swap", True, 2, "ice_mask_references", "s e m r0 r1"),
    ],
)
def test_the_judge_sees_source_edit_mask_and_references_in_this_order(
    name: str, mask: bool, references: int, prompt: str, files: str
) -> None:
    sample = item(TASKS[name], mask=mask, references=references)
    (asked,) = [probe for probe in PROTOCOL.probes(sample) if isinstance(probe, Question)]
    edit = Edit(EditKey("M", "s"), image=Path("e.png"))
    shown = [path.stem for what in asked.shows for path in find_image_paths(sample, edit, what)]
    assert " ".join(shown) == files
    assert (asked.prompt, asked.scale, asked.form) == (prompt, "1/0", "bare")
    assert asked.shows[-1] == "instruction"
    assert [PROTOCOL.credit(asked, value) for value in (1.0, 0.0)] == [1.0, 0.0]


def test_the_prompts_agree_on_unchanged_parts_and_image_names() -> None:
    names = ("ice_plain", "ice_mask", "ice_references", "ice_mask_references")
    texts = {name: load_prompt(name).text for name in names}
    for name, text in texts.items():
        assert "<SOURCE> or [SOURCE] stands for the source image" in text
        assert ("<REF_1> or [REF_1] for the first" in text) == name.endswith("references")
        masked = "mask" in name
        assert ("nothing else is different, neither inside the region nor" in text) == masked
        assert ("0 as well if anything else has changed, inside the region or" in text) == masked


RAW = {
    "aesthetic": 5.0,
    "imaging": 60.0,
    "clip_cap": 0.3,
    QA_METRIC: 1.0,
    "clip_src": 0.9,
    "l1_src": 0.1,
    "face": 0.4,
    "style": 0.5,
    "subject": 0.6,
    "pose": 0.01,
    "canny": 0.2,
    "depth": 0.3,
    "grey": 0.05,
    "ssim": 0.7,
    "colorfulness": 0.45,
    "imaging/PF": 60.0,
}


@pytest.mark.parametrize(
    ("name", "dimensions", "score"),
    [
        ("Text-to-Image Creating", {"AES": 0.5, "IMG": 0.6, "PF": 0.6}, 1.7 / 3),
        ("Style Reference Creating", {"AES": 0.5, "IMG": 0.6, "PF": 0.6, "REF": 0.5}, 0.55),
        ("Motion Editing", {"AES": 0.5, "IMG": 0.6, "PF": 0.8, "SRC": 0.9}, 0.66),
        ("Outpainting", {"AES": 0.5, "IMG": 0.6, "PF": 0.8, "SRC": 0.9}, 0.66),
        ("Pose-guided Generation", {"AES": 0.5, "IMG": 0.6, "PF": 0.6, "CTRL": 0.99}, 0.648),
        ("Edge-guided Generation", {"AES": 0.5, "IMG": 0.6, "PF": 0.6, "CTRL": 0.8}, 0.61),
        ("Image Colorization", {"AES": 0.5, "IMG": 0.6, "PF": 1.05, "CTRL": 0.95}, 0.73),
        ("Image Deblurring", {"AES": 0.5, "IMG": 0.6, "PF": 0.6, "CTRL": 0.7}, 0.59),
        ("Face Swap", {"AES": 0.5, "IMG": 0.6, "PF": 0.8, "REF": 0.4, "SRC": 0.9}, 0.605),
    ],
)
def test_a_sample_by_hand(name: str, dimensions: Mapping[str, float], score: float) -> None:
    sample = item(TASKS[name])
    probes = PROTOCOL.probes(sample)
    values = {probe.id: RAW[probe.id] for probe in probes}
    found = PROTOCOL.score(sample, probes, values)
    assert {n: s.value for n, s in found.items() if s.value is not None} == pytest.approx(
        {**dimensions, "score": score}
    )
    assert found["score"][1:] == (len(probes), len(probes))
    assert [found[name].total > 0 for name in ("AES", "CTRL")] == [True, "CTRL" in dimensions]


def test_missing_values_give_no_score_and_are_counted() -> None:
    sample = item(TASKS["Color Editing"])
    values: dict[str, float | None] = {name: RAW[name] for name in EDITED}
    found = PROTOCOL.score(sample, PROTOCOL.probes(sample), values | {QA_METRIC: None})
    assert (found["PF"], found["score"]) == ((None, 1, 2), (None, 5, 6))
    assert found["SRC"].value == pytest.approx(0.9)
    del values["aesthetic"]
    assert PROTOCOL.score(sample, (), values)["AES"] == (None, 0, 1)
    stranger = Sample("x", "do", Path("x.png"))
    assert PROTOCOL.probes(stranger) == []
    assert {score.total for score in PROTOCOL.score(stranger, (), values).values()} == {0}


def scored(protocol: Protocol, name: str) -> dict[str, float | None]:
    sample = item(TASKS[name])
    found = protocol.score(sample, protocol.probes(sample), RAW)
    return {column: score.value for column, score in found.items()}


def test_the_released_codes_way_with_colours() -> None:
    released = PROTOCOL.with_weights("released")
    assert scored(released, "Image Colorization")["PF"] == pytest.approx(0.3 * 1.5 + 0.45 * 0.25)
    for task in TASKS:
        if task != "Image Colorization":
            assert scored(released, task) == scored(PROTOCOL, task)
    assert "as released" in released.schema.formula
    assert "released" not in PROTOCOL.schema.formula
    with pytest.raises(CrevalError, match="no choice of weights 'releasd'; did you mean 'released'"):
        PROTOCOL.with_weights("releasd")


def test_weights_of_ones_own() -> None:
    alike = PROTOCOL.with_weights({"AES": 1, "IMG": 1, "PF": 2, "CTRL": 4})
    assert scored(alike, "Color Editing")["score"] == pytest.approx((0.5 + 0.6 + 2 * 0.8) / 4)
    assert scored(alike, "Edge-guided Generation")["score"] == pytest.approx((1.1 + 1.2 + 3.2) / 8)
    some = PROTOCOL.with_weights({"Local Editing": {"PF": 3, "SRC": 1}, "Image Deblur": {"CTRL": 1}})
    assert scored(some, "Inpainting")["score"] == pytest.approx((3 * 0.8 + 0.9) / 4)
    assert scored(some, "Image Deblurring")["score"] == pytest.approx(0.7)
    assert scored(some, "Color Editing") == scored(PROTOCOL, "Color Editing")
    assert scored(some, "Inpainting")["AES"] == 0.5, "it is measured, with weight 0"


def test_the_narrower_weights_count_in_any_order() -> None:
    given: dict[str, float | dict[str, float]] = {
        "17": {"PF": 1},
        "Local Editing": {"SRC": 1},
        "No-ref Image Editing": {"AES": 1},
        "IMG": 1.0,
    }
    one, other = (PROTOCOL.with_weights(dict(entries)) for entries in (given.items(), reversed(given.items())))
    wanted = {"Inpainting": 0.8, "Outpainting": 0.9, "Color Editing": 0.5, "Face Swap": 0.6}
    for task, score in wanted.items():
        assert scored(one, task)["score"] == scored(other, task)["score"] == pytest.approx(score)
    alone = PROTOCOL.with_weights({"1": {"PF": 1}, "No-ref Image Creating": {"AES": 1}})
    assert scored(alone, "Text-to-Image Creating")["score"] == pytest.approx(0.6)


def test_values_of_weight_zero_can_be_missing() -> None:
    sample = item(TASKS["Face Swap"])
    values = {name: value for name, value in RAW.items() if name != "face"}
    assert PROTOCOL.score(sample, (), values)["score"] == (None, 6, 7)
    without = PROTOCOL.with_weights({"Face Swap": {"AES": 1, "IMG": 1, "PF": 1, "SRC": 1}})
    found = without.score(sample, (), values)["score"]
    assert found.value == pytest.approx(2.8 / 4)
    assert found[1:] == (6, 6)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ({"AES": 1, "SCR": 1}, "no dimension 'SCR'; did you mean 'SRC'"),
        ({"REF": 1}, "no dimension of Text-to-Image Creating has a weight. Its dimensions are AES, IMG, PF"),
        ({"Face Swap": {"CTRL": 1}}, "no dimension of Face Swap 'CTRL'"),
        ({"Face Swop": {"AES": 1}}, "no task 'Face Swop'; did you mean 'Face Swap'"),
        ({"Face Swap": {"AES": -1, "IMG": 2}}, "weights of Face Swap must be zero or more"),
        ({"Face Swap": {}}, "no dimension of Face Swap has a weight"),
        ({"Face Swap": 5}, "give the weights of its dimensions"),
        ({"31": {"AES": 1}, "Face Swap": {"PF": 1}}, "'31' and 'Face Swap' both set the weights of Face Swap"),
        ({"AES": float("nan")}, "must be zero or more"),
        ({"AES": 1e308, "IMG": 1e308}, "must be zero or more"),
    ],
)
def test_weights_that_are_none(weights: Weights, sentence: str) -> None:
    with pytest.raises(CrevalError, match=sentence):
        PROTOCOL.with_weights(weights)


def test_the_cards_columns_are_the_papers() -> None:
    assert SCHEMA.columns == ("AES", "IMG", "PF", "SRC", "REF", "CTRL", "score")
    assert SCHEMA.ranking_column == "score"
    assert [level.plural for level in SCHEMA.levels][-1] == "tasks"
