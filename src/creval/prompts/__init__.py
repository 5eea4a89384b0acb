"""The texts that are sent to models: one file each, named by its content, replaceable.

A text has places such as `{{questions}}`. A paragraph is left out where there is nothing for any of
its places. CREval's authors write theirs as `{Questions}`; their own files are understood too.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from creval.core.errors import CrevalError, known_name

_FOLDER = Path(__file__).parent
_PLACE = re.compile(r"\{\{(\w+)\}\}")
# What the authors' places are called here: the first that a text has. Where questions are written,
# those that are asked already are the only ones.
_AUTHORS = {
    "edit instructions": ("instruction", "instructions"),
    "edit instruction": ("instruction", "instructions"),
    "questions": ("questions", "taken"),
}
# Pictures go before the text, in this order.
_PICTURES = {"image-a": "Image 1", "image-b": "Image 2"}
_AUTHORS_PLACE = re.compile(
    rf"(?<!\{{)\{{({'|'.join([*_AUTHORS, *_PICTURES])})\}}(?!\}})", re.IGNORECASE
)


class Prompt(NamedTuple):
    """A text with places to fill; `authors` says that they were written as the authors do."""

    name: str
    text: str
    authors: bool = False

    @property
    def version(self) -> str:
        """The name, and a digest that changes with the text."""
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"

    @property
    def places(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text))

    def can_do_without(self, place: str) -> bool:
        """Whether a place has paragraphs of its own, which are left out without loss."""
        shared = [parts[1::2] for parts in _parsed(self.text) if place in parts[1::2]]
        return not self.authors and all(set(places) == {place} for places in shared)

    def fill(self, **values: str) -> str:
        """The text with its places filled; what is filled in is not searched for places.

        >>> Prompt("note", "To {{name}}.\\n\\nYou said: {{words}}").fill(name="you", words="")
        'To you.'
        """
        paragraphs = []
        for parts in _parsed(self.text):
            # Words and places alternate.
            filled = [values[part] if at % 2 else part for at, part in enumerate(parts)]
            if len(parts) == 1 or any(filled[1::2]):
                paragraphs.append("".join(filled))
        text = "\n\n".join(paragraphs)
        if not text.strip():
            raise CrevalError(f"the prompt {self.name!r} says nothing: all its places are empty.")
        return text


@lru_cache(maxsize=64)
def _parsed(text: str) -> list[list[str]]:
    return [_PLACE.split(paragraph) for paragraph in text.strip().split("\n\n")]


def _understood(shipped: Prompt, text: str) -> Prompt:
    """A text whose places may be those of the authors' own files."""

    def ours(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name in _PICTURES:
            return _PICTURES[name]
        known = [place for place in _AUTHORS[name] if place in shipped.places]
        return f"{{{{{(known or _AUTHORS[name])[0]}}}}}"

    found, number = _AUTHORS_PLACE.subn(ours, text)
    return Prompt(shipped.name, found, number > 0)


_ABOUT_INSTRUCTIONS = frozenset(
    {"creval_rewrite", "creval_dimension", "creval_if", "creval_vc", "creval_vq"}
)


def prompt_names() -> tuple[str, ...]:
    """The names of all texts."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.md")))


def load_prompt(name: str, folder: str | Path | None = None) -> Prompt:
    """A text by its name; a file of that name in a user's own `folder` takes its place."""
    known_name("prompt", name, prompt_names())
    shipped = Prompt(name, (_FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    if folder is None:
        return shipped
    path = Path(folder) / f"{name}.md"
    if not Path(folder).is_dir():
        raise CrevalError(f"{folder} is not a folder of prompts.")
    if not any((Path(folder) / f"{known}.md").is_file() for known in prompt_names()):
        raise CrevalError(f"{folder} holds no {name}.md; `creval prompts --out DIR` writes one.")
    if not path.is_file():
        return shipped
    try:
        own = _understood(shipped, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CrevalError(f"{path} cannot be read: {error}.") from error
    unknown = sorted(own.places - shipped.places)
    # The authors' texts say themselves which picture is which, and how to answer.
    needful = {"questions"} if own.authors else {"images", "questions", "format"}
    if name in _ABOUT_INSTRUCTIONS:
        needful.add("instruction")
    needed = sorted(shipped.places & needful - own.places)
    if unknown or needed:
        what = f"does not know {{{{{unknown[0]}}}}}" if unknown else f"needs {{{{{needed[0]}}}}}"
        places = ", ".join(f"{{{{{place}}}}}" for place in sorted(shipped.places))
        raise CrevalError(f"{path}: the prompt {name!r} {what}. Its places are {places}.")
    return own
