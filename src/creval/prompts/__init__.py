"""The texts that are sent to models: one file each, named by its content, replaceable.

A text has places such as `{{questions}}`. A paragraph is left out where there is nothing for any of
its places. CREval's authors write theirs as `{Questions}`; their own files are understood too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from creval import registry
from creval.core.errors import CrevalError, require_known
from creval.core.files import read_text

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
# What the authors' places are called here: the first that a text has. Where questions are written,
# those that are asked already are the only ones.
_AUTHORS_NAMES = {
    "edit instructions": ("instruction", "instructions"),
    "edit instruction": ("instruction", "instructions"),
    "questions": ("questions", "taken"),
}
# Pictures go before the text, in this order.
_IMAGE_LABELS = {"image-a": "Image 1", "image-b": "Image 2"}
_AUTHORS_PLACEHOLDER = re.compile(
    rf"(?<!\{{)\{{({'|'.join([*_AUTHORS_NAMES, *_IMAGE_LABELS])})\}}(?!\}})", re.IGNORECASE
)


class Prompt(NamedTuple):
    """A text with places to fill; `in_authors_syntax` says that they were written as the authors do."""

    name: str
    text: str
    in_authors_syntax: bool = False

    @property
    def version(self) -> str:
        """The name, and a digest that changes with the text."""
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"

    @property
    def placeholders(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.text))

    def is_optional(self, placeholder: str) -> bool:
        """Whether a place has paragraphs of its own, which are left out without loss."""
        shared = [parts[1::2] for parts in _split_paragraphs(self.text) if placeholder in parts[1::2]]
        return not self.in_authors_syntax and all(set(places) == {placeholder} for places in shared)

    def fill(self, **values: str) -> str:
        """The text with its places filled; what is filled in is not searched for places.

        >>> Prompt("note", "To {{name}}.\\n\\nYou said: {{words}}").fill(name="you", words="")
        'To you.'
        """
        paragraphs = []
        for parts in _split_paragraphs(self.text):
            # Words and places alternate.
            filled = [values[part] if at % 2 else part for at, part in enumerate(parts)]
            if len(parts) == 1 or any(filled[1::2]):
                paragraphs.append("".join(filled))
        text = "\n\n".join(paragraphs)
        if not text.strip():
            raise CrevalError(f"the prompt {self.name!r} says nothing: all its places are empty.")
        return text


@lru_cache(maxsize=64)
def _split_paragraphs(text: str) -> list[list[str]]:
    return [_PLACEHOLDER.split(paragraph) for paragraph in text.strip().split("\n\n")]


def _parse_user_prompt(shipped: Prompt, text: str) -> Prompt:
    """A text whose places may be those of the authors' own files."""

    def ours(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name in _IMAGE_LABELS:
            return _IMAGE_LABELS[name]
        known = [place for place in _AUTHORS_NAMES[name] if place in shipped.placeholders]
        return f"{{{{{(known or _AUTHORS_NAMES[name])[0]}}}}}"

    found, number = _AUTHORS_PLACEHOLDER.subn(ours, text)
    return Prompt(shipped.name, found, number > 0)


_NEED_INSTRUCTION = frozenset({"creval_rewrite", "creval_dimension", "creval_if", "creval_vc", "creval_vq"})


def prompt_names() -> tuple[str, ...]:
    """The names of all texts."""
    return tuple(registry.prompts.names())


def load_prompt(name: str, folder: str | Path | None = None, own: Mapping[str, str] = MappingProxyType({})) -> Prompt:
    """Return a text by its name: from a user's `folder`, a protocol's `own`, or registered."""
    text = own[name] if name in own else registry.prompts.get(require_known("prompt", name, (*own, *prompt_names())))
    if not isinstance(text, str):
        raise CrevalError(f"prompt {name!r} of {registry.prompts.origin(name)} is not a text.")
    shipped = Prompt(name, text)
    if folder is None:
        return shipped
    path = Path(folder) / f"{name}.md"
    if not Path(folder).is_dir():
        raise CrevalError(f"{folder} is not a folder of prompts.")
    if not any((Path(folder) / f"{known}.md").is_file() for known in (*own, *prompt_names())):
        raise CrevalError(f"{folder} holds no {name}.md; `creval prompts` writes one.")
    if not path.is_file():
        return shipped
    try:
        found = _parse_user_prompt(shipped, read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CrevalError(f"{path} cannot be read: {error}.") from error
    unknown = sorted(found.placeholders - shipped.placeholders)
    # The authors' texts say themselves which picture is which, and how to answer.
    needful = {"questions"} if found.in_authors_syntax else {"images", "questions", "format"}
    if name in _NEED_INSTRUCTION:
        needful.add("instruction")
    needed = sorted(shipped.placeholders & needful - found.placeholders)
    if unknown or needed:
        what = f"does not know {{{{{unknown[0]}}}}}" if unknown else f"needs {{{{{needed[0]}}}}}"
        places = ", ".join(f"{{{{{place}}}}}" for place in sorted(shipped.placeholders))
        raise CrevalError(f"{path}: the prompt {name!r} {what}. Its places are {places}.")
    return found
