"""What breaks a rule is asked for again; what is never accepted says why, and in whose words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from creval.build.chains.scribe import NotAcceptedError, RejectedError, Scribe
from creval.prompts import Prompt

ASK = Prompt("ask", "Write.\n\nNot accepted: {{reason}}")
SORRY = "I'm sorry, but I can't help with \n this picture."


class Script:
    """A model that says what a test wants of it; `said` is what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.said = list(texts), list[str]()

    async def ask(self, _role: str, _stage: str, prompt: Prompt, **places: Any) -> str:
        del places["again"], places["show"]
        self.said.append(prompt.fill(**places))
        return self.texts.pop(0)


def read(text: str) -> str:
    if "red" not in text:
        raise RejectedError("format: there is no red in it")
    return text


def insist(*texts: str) -> tuple[str, Scribe, list[str]]:
    script = Script(*texts)
    scribe = Scribe(script, len(texts) - 1)  # type: ignore[arg-type]
    return asyncio.run(scribe.insist("writer", "step", ASK, read)), scribe, script.said


def test_a_refusal_is_told_in_the_models_words() -> None:
    with pytest.raises(NotAcceptedError) as told:
        insist(SORRY, SORRY, SORRY)
    words = "step: the model declined: “I'm sorry, but I can't help with this picture.”"
    assert str(told.value) == words
    _, scribe, said = insist(SORRY, "red")
    assert scribe.rejected == [words]
    assert "sorry" not in said[1], "a refusal is no reason that a model is told"
    with pytest.raises(NotAcceptedError, match=r"^step: the model declined: “Sorry.{195} \.\.\.”$"):
        insist("Sorry" + " no" * 90_000)


def test_one_who_is_sorry_and_answers_has_answered() -> None:
    found, scribe, _ = insist("Sorry for the mistake: red it is.", "")
    assert found.endswith("red it is.")
    assert scribe.rejected == []


def test_equal_reasons_are_said_once() -> None:
    with pytest.raises(NotAcceptedError) as told:
        insist("blue", "green", "blue")
    assert str(told.value) == "step: not accepted after 3 tries: format: there is no red in it."
    with pytest.raises(NotAcceptedError, match=r"after 2 tries: format: .* the model declined: “I"):
        insist("blue", "I cannot.")
