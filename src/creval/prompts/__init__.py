"""Prompts that are sent to models. Each is a Markdown file that users can override.

A prompt has placeholders such as `{{questions}}`. A paragraph is omitted if all its placeholders are empty. Files of
CREval's authors, with placeholders such as `{Questions}`, are accepted too.
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
# Our names of the authors' placeholders. The first one that the shipped prompt has is used. Prompts that write
# questions have no `questions`; there, `{Questions}` stands for the existing questions (`taken`).
_AUTHORS_NAMES = {
    "edit instructions": ("instruction", "instructions"),
    "edit instruction": ("instruction", "instructions"),
    "questions": ("questions", "taken"),
}
# Images are sent before the text, in this order.
_IMAGE_LABELS = {"image-a": "Image 1", "image-b": "Image 2"}
_AUTHORS_PLACEHOLDER = re.compile(
    rf"(?<!\{{)\{{({'|'.join([*_AUTHORS_NAMES, *_IMAGE_LABELS])})\}}(?!\}})", re.IGNORECASE
)


class Prompt(NamedTuple):
    """Text with placeholders. `in_authors_syntax` is true if they were written in the syntax of CREval's authors."""

    name: str
    text: str
    in_authors_syntax: bool = False

    @property
    def version(self) -> str:
        """Name and digest of the text."""
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"

    @property
    def placeholders(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.text))

    def is_optional(self, placeholder: str) -> bool:
        """Return whether no paragraph with this placeholder has another one, so it can be omitted without loss."""
        shared = [parts[1::2] for parts in _split_paragraphs(self.text) if placeholder in parts[1::2]]
        return not self.in_authors_syntax and all(set(places) == {placeholder} for places in shared)

    def with_instruction(self) -> Prompt:
        """Return the prompt with a paragraph for the instruction before its questions.

        >>> Prompt("note", "Look.\n\n{{questions}}").with_instruction().text
        'Look.\n\nThe image was edited by this instruction: {{instruction}}\n\n{{questions}}'
        """
        paragraphs = self.text.strip().split("\n\n")
        at = next((n for n, one in enumerate(paragraphs) if "{{questions}}" in one), len(paragraphs))
        paragraphs.insert(at, "The image was edited by this instruction: {{instruction}}")
        return self._replace(text="\n\n".join(paragraphs))

    def fill(self, **values: str) -> str:
        """Return the text with its placeholders filled. Placeholders in the values are not filled.

        >>> Prompt("note", "To {{name}}.\\n\\nYou said: {{words}}").fill(name="you", words="")
        'To you.'
        """
        paragraphs = []
        for parts in _split_paragraphs(self.text):
            # Text and placeholders alternate.
            filled = [values[part] if at % 2 else part for at, part in enumerate(parts)]
            if len(parts) == 1 or any(filled[1::2]):
                paragraphs.append("".join(filled))
        text = "\n\n".join(paragraphs)
        if not text.strip():
            raise CrevalError(f"the prompt {self.name!r} is empty, because all its placeholders are empty.")
        return text


@lru_cache(maxsize=64)
def _split_paragraphs(text: str) -> list[list[str]]:
    return [_PLACEHOLDER.split(paragraph) for paragraph in text.strip().split("\n\n")]


def _parse_user_prompt(shipped: Prompt, text: str) -> Prompt:
    """Return the prompt of a user's file, with the authors' placeholders translated to ours."""

    def translate(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name in _IMAGE_LABELS:
            return _IMAGE_LABELS[name]
        known = [place for place in _AUTHORS_NAMES[name] if place in shipped.placeholders]
        return f"{{{{{(known or _AUTHORS_NAMES[name])[0]}}}}}"

    found, number = _AUTHORS_PLACEHOLDER.subn(translate, text)
    return Prompt(shipped.name, found, number > 0)


_NEED_INSTRUCTION = frozenset({"creval_rewrite", "creval_dimension", "creval_if", "creval_vc", "creval_vq"})


def prompt_names() -> tuple[str, ...]:
    """Return the names of all registered prompts."""
    return tuple(registry.prompts.names())


def load_prompt(name: str, folder: str | Path | None = None, own: Mapping[str, str] = MappingProxyType({})) -> Prompt:
    """Return a prompt by name, from the user's `folder`, from `own` (the protocol's prompts) or from the registry."""
    text = own[name] if name in own else registry.prompts.get(require_known("prompt", name, (*own, *prompt_names())))
    if not isinstance(text, str):
        raise CrevalError(f"prompt {name!r} of {registry.prompts.origin(name)} must be a string.")
    shipped = Prompt(name, text)
    if folder is None:
        return shipped
    path = Path(folder) / f"{name}.md"
    if not Path(folder).is_dir():
        raise CrevalError(f"`prompts` {folder} is not a folder.")
    if not any((Path(folder) / f"{known}.md").is_file() for known in (*own, *prompt_names())):
        raise CrevalError(f"{folder} contains no {name}.md. `creval prompts` writes one.")
    if not path.is_file():
        return shipped
    try:
        found = _parse_user_prompt(shipped, read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CrevalError(f"{path} cannot be read: {error}.") from error
    unknown = sorted(found.placeholders - shipped.placeholders)
    # The authors' prompts label the images and describe the reply format themselves.
    required = {"questions"} if found.in_authors_syntax else {"images", "questions", "format"}
    if name in _NEED_INSTRUCTION:
        required.add("instruction")
    missing = sorted(shipped.placeholders & required - found.placeholders)
    if unknown or missing:
        what = f"has no placeholder {{{{{unknown[0]}}}}}" if unknown else f"needs {{{{{missing[0]}}}}}"
        places = ", ".join(f"{{{{{place}}}}}" for place in sorted(shipped.placeholders))
        raise CrevalError(f"{path}: the prompt {name!r} {what}. Its placeholders are {places}.")
    return found
