"""Requests for a text. They are repeated until the text is valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from creval.calls.reading import read_text
from creval.calls.text_generation import GenerationFailedError, ItemSession
from creval.core.errors import CrevalError
from creval.core.formatting import end_sentence
from creval.parsing.text_checks import is_refusal
from creval.prompts import Prompt, load_prompt

T = TypeVar("T")
_MAX_QUOTE_LENGTH = 200  # characters of a quoted reply


class InvalidReplyError(Exception):
    """A reply is invalid. The model is asked again, with the reason, or with the text in `request` if given."""

    def __init__(self, why: str, request: str = "") -> None:
        super().__init__(why)
        self.request = request


class RetriesExhaustedError(GenerationFailedError):
    """No reply was valid within the allowed retries."""


class ValidatingSession:
    """Session of an item that repeats a request up to `retries` times. `rejections` lists rejected replies and why."""

    def __init__(self, session: ItemSession, retries: int) -> None:
        self.session, self.retries = session, retries
        self.rejections: list[str] = []

    async def generate(
        self,
        role: str,
        stage: str,
        prompt: Prompt,
        attempt: int,
        image_paths: Sequence[Path] | None = None,
        **places: str,
    ) -> str:
        """Return one reply without validation."""
        return await self.session.generate(role, stage, prompt, attempt=attempt, image_paths=image_paths, **places)

    async def generate_until_valid(
        self,
        role: str,
        stage: str,
        prompt: Prompt,
        parse: Callable[[str], T],
        *,
        reason: str = "",
        image_paths: Sequence[Path] | None = None,
        **places: str,
    ) -> T:
        """Return what `parse` returns for a reply. Repeat the request if the reply is rejected, empty or a refusal."""
        reasons: list[str] = []
        refusals = 0
        for again in range(self.retries + 1):
            try:
                text = await self.generate(role, stage, prompt, again, image_paths, reason=reason, **places)
            except GenerationFailedError as error:
                # A failed call was retried already; an empty reply was not.
                if error.__cause__ is not None or again == self.retries:
                    raise
                self.rejections.append(str(error))
                continue
            try:
                return await read_text(text, partial(parse, text))
            except InvalidReplyError as error:
                why, reason = str(error), error.request or end_sentence(str(error))
                # A reply that apologises for the last answer may contain a valid one, so parse it first.
                if is_refusal(text):
                    refusals += 1
                    why = f"the model declined: {_quote_beginning(text)}"
                    reason = error.request or "Nothing was written; leave out what you cannot write about."
                reasons.append(end_sentence(why))
                self.rejections.append(f"{stage}: {end_sentence(why)}")
        listed = " ".join(dict.fromkeys(reasons))
        if refusals == len(reasons):
            raise RetriesExhaustedError(f"{stage}: {listed}")
        tries = "1 try" if len(reasons) == 1 else f"{len(reasons)} tries"
        raise RetriesExhaustedError(f"{stage}: not accepted after {tries}: {listed}")


def load_prompt_with_places(name: str, folder: str | None, *required_places: str) -> Prompt:
    """Return a prompt, or the user's override of it. Raises `CrevalError` if a required placeholder is missing."""
    prompt = load_prompt(name, folder)
    for place in required_places:
        if place not in prompt.placeholders:
            raise CrevalError(f"{folder}/{name}.md: the prompt {name!r} needs the placeholder {{{{{place}}}}}.")
    return prompt


def _quote_beginning(text: str) -> str:
    """Return the beginning of a reply in quotation marks, on one line."""
    words = " ".join(text.split())
    return f"“{words[:_MAX_QUOTE_LENGTH].rstrip()} ...”" if len(words) > _MAX_QUOTE_LENGTH else f"“{words}”"
