"""Asking for a text until it keeps the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from creval.calls.text_generation import Desk, UnwrittenError
from creval.core.errors import CrevalError
from creval.parsing.text_checks import declined
from creval.prompts import Prompt, load_prompt

T = TypeVar("T")
_QUOTED = 200  # letters of what a model said


class RejectedError(Exception):
    """A reply that cannot be used, and why."""


class NotAcceptedError(UnwrittenError):
    """A text that came, as often as it was asked for, and was never accepted."""


class Scribe:
    """One picture's desk, and what was rejected there. `retries` bounds how often the same is asked
    for again, with the reason."""

    def __init__(self, desk: Desk, retries: int) -> None:
        self.desk, self.retries = desk, retries
        self.rejected: list[str] = []

    async def insist(
        self, role: str, stage: str, prompt: Prompt, read: Callable[[str], T], *,
        reason: str = "", show: Sequence[Path] | None = None, **places: str,
    ) -> T:  # fmt: skip
        """What `read` makes of a reply; one that it rejects, or that is empty or declines, is asked
        for again."""
        reasons: list[str] = []
        refusals = 0
        for again in range(self.retries + 1):
            try:
                text = await self.desk.ask(
                    role, stage, prompt, again=again, show=show, reason=reason, **places
                )
            except UnwrittenError as error:
                # A call that was given up has been made often enough; an empty reply has not.
                if error.__cause__ is not None or again == self.retries:
                    raise
                self.rejected.append(str(error))
                continue
            try:
                return read(text)
            except RejectedError as error:
                why, reason = str(error), _sentence(str(error))
                # One who is sorry for the last answer may well give another: read first.
                if declined(text):
                    refusals += 1
                    why = f"the model declined: {_quoted(text)}"
                    reason = "Nothing was written; leave out what you cannot write about."
                reasons.append(_sentence(why))
                self.rejected.append(f"{stage}: {_sentence(why)}")
        told = " ".join(dict.fromkeys(reasons))
        if refusals == len(reasons):
            raise NotAcceptedError(f"{stage}: {told}")
        tries = "1 try" if len(reasons) == 1 else f"{len(reasons)} tries"
        raise NotAcceptedError(f"{stage}: not accepted after {tries}: {told}")


def load_text(name: str, folder: str | None, *needed: str) -> Prompt:
    """A prompt, or the user's own in its place; that one must have the places that it cannot do
    without."""
    prompt = load_prompt(name, folder)
    for place in needed:
        if place not in prompt.places:
            raise CrevalError(f"{folder}/{name}.md: the prompt {name!r} needs {{{{{place}}}}}.")
    return prompt


def _quoted(text: str) -> str:
    """The beginning of what a model said, in one line."""
    words = " ".join(text.split())
    return f"“{words[:_QUOTED].rstrip()} ...”" if len(words) > _QUOTED else f"“{words}”"


def _sentence(reason: str) -> str:
    return reason if reason.endswith((".", "!", "?", "”")) else f"{reason}."
