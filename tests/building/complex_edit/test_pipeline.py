"""Replies of a model become a chain, and invalid replies are requested again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from creval.benchmarks.complex_edit.atomic_operations import OPERATIONS
from creval.building.complex_edit import pipeline
from creval.calls.text_generation import GenerationFailedError
from creval.calls.validated_text import RetriesExhaustedError, ValidatingSession
from creval.core.errors import CrevalError
from tests.building.chains_made import Script


def sequence(*words: str) -> str:
    return json.dumps([{"operation": "Change Color", "instruction": said} for said in words])


def write(*texts: str, steps: int = 2, retries: int = 1) -> tuple[dict[str, Any], list[str]]:
    script = Script(*texts)
    scribe = ValidatingSession(script, retries)  # type: ignore[arg-type]
    edit = asyncio.run(pipeline.write_chain(scribe, pipeline.load_complex_edit_prompts(), steps))
    return {"edit": edit, "rejected": scribe.rejections}, script.said


SHORT = '{"needed": "no"}'


@pytest.mark.parametrize("name", ["sequence", "simplify", "compound"])
def test_every_stage_is_shown_two_examples(name: str) -> None:
    text = pipeline.load_complex_edit_prompts()[name].text
    shown = text[text.index("Two examples of") :]
    assert shown.count("Thought: ") == 2
    assert "{{" not in shown[: shown.rindex("Thought: ")], "examples have no placeholders"


def test_a_chain_of_two() -> None:
    long = "Make the door red, because a warm entrance says welcome to everybody."
    made, said = write(
        sequence(long, "Make the wall blue."),
        '{"needed": "yes", "instruction": "Make the door red."}',
        SHORT,
        "**Reasoning:** two things.\n**Instruction:** Make the door red and the wall blue.",
    )
    first, second = made["edit"]["sequence"]
    assert (first["before"], first["instruction"]) == (long, "Make the door red.")
    assert second["instruction"] == "Make the wall blue."
    assert made["edit"]["compound"] == [
        {"compound_instruction": "Make the door red.", "reasoning": ""},
        {"compound_instruction": "Make the door red and the wall blue.", "reasoning": "two things."},
    ]
    assert made["rejected"] == []
    assert "1. Make the door red.\n2. Make the wall blue." in said[-1]
    assert all(name in said[0] for name in OPERATIONS)


def test_texts_that_break_a_rule_are_requested_again_with_the_reason() -> None:
    made, said = write(
        sequence("Make the door red.", "Make Make Make Make"),
        sequence("Make the door red.", "Make the wall blue."),
        "It depends.",
        '{"needed": "yes", "instruction": "Make the door red, all of it, now."}',
        SHORT,
        '{"instruction": "1. Make the door red. 2. Make the wall blue."}',
        '{"instruction": "Make the door red and the wall blue."}',
    )
    assert "garbled text: something is repeated" in said[1]
    assert "Write another one." in said[1]
    assert "not accepted" not in said[0]
    assert made["rejected"] == [
        "sequence: edit 2: garbled text: something is repeated over and over.",
        "simplify: format: the reply does not say clearly whether a shorter instruction is needed.",
        "simplify: simplification: the instruction is not shorter than before.",
        "compound C2: list: it is a list of steps, not one instruction.",
    ]
    assert "not accepted after 2 tries" in made["edit"]["sequence"][0]["unsimplified"]
    assert made["edit"]["sequence"][0]["instruction"] == "Make the door red."


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["no", "no"], "count: 0 edits"),
        ([sequence("Make it red."), sequence("Make it red.")], "count: 1 edits"),
        ([sequence("Make it red.", "make it red.")] * 2, "edit 2: duplicate"),
        (
            [sequence("Make it red.", "Make it blue."), SHORT, SHORT] + ['{"instruction": "Make it red."}'] * 2,
            "nothing added",
        ),
    ],
)
def test_texts_that_are_never_accepted_end_an_image(texts: list[str], reason: str) -> None:
    with pytest.raises(RetriesExhaustedError, match=reason):
        write(*texts)


def test_an_empty_reply_is_asked_for_again() -> None:
    made, _ = write("", sequence("Make it red."), "", SHORT, steps=1)
    assert made["rejected"] == [f"{stage}: the model wrote nothing" for stage in ("sequence", "simplify")]
    with pytest.raises(GenerationFailedError, match="wrote nothing"):
        write("", "", steps=1)


def test_quoted_words_must_not_be_lost() -> None:
    step = {"operation": "Add Text", "instruction": 'Write "TEA" on the cup.'}
    made, _ = write(
        json.dumps([step, {"operation": "Change Color", "instruction": "Make the cup red."}]),
        SHORT,
        SHORT,
        '{"instruction": "Make the cup red, with words on it."}',
        '{"instruction": "Make the cup red, with \\"TEA\\" on it."}',
    )
    assert made["rejected"] == ["compound C2: lost words: the words “TEA” are lost."]


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "complexedit_compound.md").write_text("Join: {{instructions}} {{format}}")
    assert pipeline.load_complex_edit_prompts(str(tmp_path))["compound"].text.startswith("Join: ")
    (tmp_path / "complexedit_compound.md").write_text("Join. {{format}}")
    with pytest.raises(CrevalError, match=r"needs the placeholder \{\{instructions\}\}"):
        pipeline.load_complex_edit_prompts(str(tmp_path))


def test_the_expected_calls_of_an_image() -> None:
    calls = {stage.role: 0.0 for stage in pipeline.estimate_complex_edit_stages(8)}
    for stage in pipeline.estimate_complex_edit_stages(8):
        calls[stage.role] += stage.calls
    assert calls == {"writer": 1, "reviser": 15}
    assert sum(stage.calls for stage in pipeline.estimate_complex_edit_stages(1)) == 2, "there is nothing to merge"
