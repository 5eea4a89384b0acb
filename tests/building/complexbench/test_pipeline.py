"""Replies of a model become three steps. In a chain, steps depend on each other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from creval.building.complexbench import pipeline
from creval.building.complexbench.edit_types import EditTypePlan, draw_edit_types
from creval.building.complexbench.objects import ImageObjects, SceneObject
from creval.calls.validated_text import RetriesExhaustedError, ValidatingSession
from tests.building.chains_made import Script

SCENE = ImageObjects(
    [
        SceneObject("left cat", (0, 4, 8, 24)),
        SceneObject("right cat", (30, 4, 38, 24)),
        SceneObject("cup", (10, 4, 18, 24)),
        SceneObject("vase", (20, 4, 28, 24)),
    ],
    (80, 40),
)
CHAIN = EditTypePlan("two-chain", ("change object", "color", "delete object"), ((), (0,), ()))


def step(instruction: str, old: str = "nothing", new: str = "nothing") -> str:
    return json.dumps({"instruction": instruction, "old": old, "new": new})


def checks(*faults: str) -> str:
    return json.dumps(
        [
            {
                "number": at,
                "scene": "no" if fault == "scene" else "yes",
                "reference": "yes",
                "conflict": "yes" if fault == "conflict" else "no",
                "reason": fault,
            }
            for at, fault in enumerate(faults, 1)
        ]
    )


def write(*texts: str, types: EditTypePlan = CHAIN, retries: int = 1) -> tuple[dict[str, Any], list[str]]:
    script = Script(*texts)
    scribe = ValidatingSession(script, retries)  # type: ignore[arg-type]
    made = asyncio.run(pipeline.StepWriter(scribe, pipeline.load_complexbench_prompts(), types, SCENE).write())
    return {**made, "rejected": scribe.rejections}, script.said


def test_types_of_a_name_that_is_no_text() -> None:
    drawn = [draw_edit_types("parallel", ["cup"], "caf\udce9.jpg") for _ in range(2)]
    assert drawn[0] == drawn[1]


DOG = step("Change the left cat into a white dog.", "left cat", "white dog")
GREEN = step("Change the color of the dog to green.", "white dog")
GONE = step("Delete the vase.", "the vase")


def test_a_chain_with_boxes() -> None:
    made, said = write(DOG, GREEN, GONE, checks("", "", ""))
    assert made["new_ins"].splitlines() == [
        "Change the left cat into a white dog.",
        "Change the color of the dog to green.",
        "Delete the vase.",
    ]
    assert made["edit pair"] == [
        {"edit_type": "change object", "ori obj": "left cat", "new_obj": "white dog", "bbox": [0, 4, 8, 24]},
        {"edit_type": "color", "ori obj": "white dog", "new_obj": "nothing"},
        {"edit_type": "delete object", "ori obj": "vase", "new_obj": "nothing", "bbox": [20, 4, 28, 24]},
    ]
    assert "A later instruction will build on" in said[0]
    assert "carried out by then: Change the left cat into a white dog." in said[1]
    assert "must not depend" not in said[1]
    assert "- Change the left cat into a white dog.\n- Change the color" in said[2]
    assert "Instruction 2 builds on what instruction 1 makes." in said[3]


def test_infeasible_steps_are_rewritten_with_their_dependents() -> None:
    made, said = write(
        DOG,
        GREEN,
        GONE,
        checks("scene", "", ""),
        step("Change the left cat into a black hat.", "left cat", "black hat"),
        step("Change the color of the hat to red.", "hat"),
        checks("", "", ""),
    )
    assert made["new_ins"].splitlines()[1:] == ["Change the color of the hat to red.", "Delete the vase."]
    assert "it does not fit the scene (scene)" in said[4]
    assert made["rejected"] == [
        "feasibility, step 1: “Change the left cat into a white dog.”: it does not fit the scene (scene)."
    ]
    cup = step("Delete the cup.", "cup")
    with pytest.raises(RetriesExhaustedError, match="conflicts with another instruction"):
        write(DOG, GREEN, GONE, checks("", "", "conflict"), cup, checks("", "", "conflict"))
    with pytest.raises(RetriesExhaustedError, match="repetition: this instruction was already rejected"):
        write(DOG, GREEN, GONE, checks("", "", "conflict"), GONE, GONE)


@pytest.mark.parametrize(
    ("at", "text", "reason"),
    [
        (0, step("Change the dog into a hat.", "dog", "hat"), "reference: `old` is “dog”"),
        (0, step("Change a cat into a hat.", "cat", "hat"), "reference: "),
        (0, step("Change the cup into a hat.", "cup"), "result: "),
        (0, "Well.", "format: "),
        (1, step("Change the color of the cup to red.", "cup"), "chain: it does not name"),
        (2, step("Delete the left cat.", "left cat"), "independence: the left cat"),
        (2, step("Delete Delete Delete Delete", "vase"), "garbled text: "),
    ],
)
def test_steps_that_break_a_rule_are_requested_again(at: int, text: str, reason: str) -> None:
    texts = [DOG, GREEN, GONE, checks("", "", "")]
    texts.insert(at, text)
    made, said = write(*texts)
    assert made["rejected"][0].startswith(f"step {at + 1}: {reason}")
    assert reason in said[at + 1]


def test_a_check_that_cannot_be_read_is_asked_for_again() -> None:
    made, said = write(DOG, GREEN, GONE, "All fine!", checks("", "", ""))
    assert "every instruction needs one yes or no" in said[-1]
    assert len(made["edit pair"]) == 3


def test_an_images_types_are_the_same_each_time() -> None:
    drawn = [draw_edit_types("two-chain", ["cup"], f"{seed} a.jpg") for seed in range(20)]
    assert drawn == [draw_edit_types("two-chain", ["cup"], f"{seed} a.jpg") for seed in range(20)]
    assert len(set(drawn)) > 5, "another seed draws other types"
    assert len({draw_edit_types("two-chain", ["cup"], f"{n}.jpg") for n in range(20)}) > 5
