from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from creval.calls.text_generation import GenerationFailedError
from creval.calls.validated_text import (
    InvalidReplyError,
    RetriesExhaustedError,
    ValidatingSession,
    load_prompt_with_places,
)
from creval.core.errors import CrevalError
from creval.prompts import Prompt
from tests.building.chains_made import Script

PROMPT = Prompt("plan", "Plan {{what}}.\n\nNot again: {{reason}}")


def number(text: str) -> int:
    if not text.isdecimal():
        raise InvalidReplyError(f"format: {text} is no number")
    return int(text)


def insist(script: Script, retries: int = 1) -> tuple[int, list[str]]:
    scribe = ValidatingSession(script, retries)  # type: ignore[arg-type]
    found = asyncio.run(scribe.generate_until_valid("writer", "plan", PROMPT, number, what="it"))
    return found, scribe.rejections


def test_a_valid_first_reply_needs_one_request() -> None:
    script = Script("7")
    assert insist(script) == (7, [])
    assert script.said == ["plan: Plan it."]


def test_a_rejection_is_sent_to_the_model_and_stored() -> None:
    script = Script("seven", "7")
    assert insist(script) == (7, ["plan: format: seven is no number."])
    assert script.said[1] == "plan: Plan it.\n\nNot again: format: seven is no number."


def test_it_is_not_asked_for_without_end() -> None:
    script = Script("six", "seven", "8")
    with pytest.raises(RetriesExhaustedError, match="not accepted after 2 tries: format: six is no"):
        insist(script)
    assert script.texts == ["8"]
    with pytest.raises(RetriesExhaustedError, match="not accepted after 1 try"):
        insist(Script("six"), retries=0)


def test_an_empty_reply_is_asked_for_again_and_a_call_that_failed_is_not() -> None:
    assert insist(Script("", "7")) == (7, ["plan: the model wrote nothing"])
    with pytest.raises(GenerationFailedError, match="wrote nothing"):
        insist(Script("", "", "7"))

    class Failing(Script):
        async def generate(self, _role: str, stage: str, prompt: Any, **places: Any) -> str:
            await super().generate(_role, stage, prompt, **places)
            raise GenerationFailedError("plan: the server is gone") from OSError()

    failing = Failing("7", "7")
    with pytest.raises(GenerationFailedError, match="the server is gone"):
        insist(failing)
    assert len(failing.said) == 1


def test_a_refusal_quotes_the_model() -> None:
    sorry = "I'm sorry, but I can't help with \n this picture."
    words = "plan: the model declined: “I'm sorry, but I can't help with this picture.”"
    with pytest.raises(RetriesExhaustedError) as told:
        insist(Script(sorry, sorry, sorry), retries=2)
    assert str(told.value) == words
    script = Script(sorry, "7")
    assert insist(script) == (7, [words])
    assert "sorry" not in script.said[1], "a refusal is not sent to the model as a reason"
    with pytest.raises(RetriesExhaustedError, match=r"^plan: the model declined: “Sorry.{195} \.\.\.”$"):
        insist(Script("Sorry" + " no" * 90_000), retries=0)


def test_one_who_is_sorry_and_answers_has_answered() -> None:
    scribe = ValidatingSession(Script("Sorry for the mistake: 7"), 0)  # type: ignore[arg-type]
    found = asyncio.run(scribe.generate_until_valid("writer", "plan", PROMPT, lambda text: text[-1], what="it"))
    assert (found, scribe.rejections) == ("7", [])


def test_equal_reasons_are_listed_once() -> None:
    with pytest.raises(RetriesExhaustedError) as told:
        insist(Script("six", "six", "six"), retries=2)
    assert str(told.value) == "plan: not accepted after 3 tries: format: six is no number."
    with pytest.raises(RetriesExhaustedError, match=r"after 2 tries: format: .* the model declined: “I"):
        insist(Script("six", "I cannot."))


def test_a_prompt_of_ones_own_needs_its_places(tmp_path: Path) -> None:
    assert "instruction" in load_prompt_with_places("complexedit_simplify", None, "instruction").placeholders
    (tmp_path / "complexedit_simplify.md").write_text("Shorter: {{instruction}} {{format}}")
    assert load_prompt_with_places("complexedit_simplify", str(tmp_path), "instruction").text[:7] == "Shorter"
    (tmp_path / "complexedit_simplify.md").write_text("Shorter. {{format}}")
    with pytest.raises(CrevalError, match=r"complexedit_simplify\.md.* needs the placeholder \{\{instruction\}\}"):
        load_prompt_with_places("complexedit_simplify", str(tmp_path), "instruction")
