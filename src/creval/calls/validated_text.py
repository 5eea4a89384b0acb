"""Asking for a text until it keeps the rules."""

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
_MAX_QUOTE_LENGTH = 200  # letters of what a model said


class InvalidReplyError(Exception):
    """A reply that cannot be used, and why; `request` is how the model is asked again, if not with the reason."""

    def __init__(self, why: str, request: str = "") -> None:
        super().__init__(why)
        self.request = request


class RetriesExhaustedError(GenerationFailedError):
    """A text that came, as often as it was asked for, and was never accepted."""


class ValidatingSession:
    """An item's session, and what was rejected in it; `retries` bounds how often the same is asked for again."""

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
        """Return one reply, whatever it says."""
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
        """What `parse` makes of a reply; one that it rejects, or that is empty or declines, is asked for again."""
        reasons: list[str] = []
        refusals = 0
        for again in range(self.retries + 1):
            try:
                text = await self.generate(role, stage, prompt, again, image_paths, reason=reason, **places)
            except GenerationFailedError as error:
                # A call that was given up has been made often enough; an empty reply has not.
                if error.__cause__ is not None or again == self.retries:
                    raise
                self.rejections.append(str(error))
                continue
            try:
                return await read_text(text, partial(parse, text))
            except InvalidReplyError as error:
                why, reason = str(error), error.request or end_sentence(str(error))
                # One who is sorry for the last answer may well give another: read first.
                if is_refusal(text):
                    refusals += 1
                    why = f"the model declined: {_quote_beginning(text)}"
                    reason = error.request or "Nothing was written; leave out what you cannot write about."
                reasons.append(end_sentence(why))
                self.rejections.append(f"{stage}: {end_sentence(why)}")
        told = " ".join(dict.fromkeys(reasons))
        if refusals == len(reasons):
            raise RetriesExhaustedError(f"{stage}: {told}")
        tries = "1 try" if len(reasons) == 1 else f"{len(reasons)} tries"
        raise RetriesExhaustedError(f"{stage}: not accepted after {tries}: {told}")


def load_prompt_with_places(name: str, folder: str | None, *required_places: str) -> Prompt:
    """A prompt, or the user's own in its place; that one must have the places that it cannot do without."""
    prompt = load_prompt(name, folder)
    for place in required_places:
        if place not in prompt.placeholders:
            raise CrevalError(f"{folder}/{name}.md: the prompt {name!r} needs {{{{{place}}}}}.")
    return prompt


def _quote_beginning(text: str) -> str:
    """The beginning of what a model said, in one line."""
    words = " ".join(text.split())
    return f"“{words[:_MAX_QUOTE_LENGTH].rstrip()} ...”" if len(words) > _MAX_QUOTE_LENGTH else f"“{words}”"
