"""Instruction templates: random choice, users' template files, and comparison with filled templates."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

from creval.benchmarks.ice_bench.item_lines import BLANK_PATTERN, IMAGE_REFERENCE, find_blanks
from creval.benchmarks.ice_bench.tasks import Task, find_tasks
from creval.building.ice.task_kits import TASK_KITS
from creval.core.errors import CrevalError
from creval.core.files import read_json
from creval.parsing.text_checks import text_digest


def find_echoed_blanks(text: str, template: str) -> list[str]:
    """Return the blanks of a template that a text still contains because they were copied, not filled in."""
    parts = re.split(BLANK_PATTERN, template)  # text, blank, text, blank, ..., text
    ends = [re.escape(part) for part in parts[::2]]
    ends[-1] += r"\Z"
    # A lookahead with a back reference is atomic. It avoids exponential backtracking in a long text.
    filled = (rf"(?=(?P<at{n}>.+?){end})(?P=at{n}){end}" for n, end in enumerate(ends[1:]))
    match = re.match(ends[0] + "".join(filled), " ".join(text.split()), re.IGNORECASE)
    if match:
        return [
            blank
            for blank, words in zip(parts[1::2], match.groups(), strict=True)
            if _normalise(words) == _normalise(blank)
        ]
    return find_blanks(template) if _normalise(text) == _normalise(template) else []


def _normalise(text: str) -> str:
    """Return a text in lower case, without braces and without periods at its ends."""
    return " ".join(re.sub("[{}]", "", text).split()).strip(" .").casefold()


class TemplateSet:
    """Templates of all tasks. A user's file replaces the templates of the tasks that it names."""

    def __init__(self, path: Path | None = None) -> None:
        self._by_task: dict[str, Sequence[str]] = {name: kit.templates for name, kit in TASK_KITS.items()}
        if path is not None:
            self._by_task |= _read_templates(path)

    @property
    def version(self) -> str:
        """Digest of all templates."""
        content = json.dumps(self._by_task, sort_keys=True, ensure_ascii=False)
        return text_digest(content)[:12]

    def draw(self, task: Task, item: str, seed: int) -> str:
        """Return a random template of a task. It is always the same for the same item and seed."""
        rng = random.Random(f"{seed}|{task.number}|{item}")  # noqa: S311
        return rng.choice(self._by_task[task.name])


def _read_templates(path: Path) -> dict[str, Sequence[str]]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise CrevalError(f"{path} must be an object from task names to lists of templates.")
    found: dict[str, Sequence[str]] = {}
    for name, given in content.items():
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts:
            raise CrevalError(f"{path}: {name} must have a template or a list of templates.")
        for task in find_tasks(name):
            found[task.name] = [_validate_template(path, task, text) for text in texts]
    return found


def _validate_template(path: Path, task: Task, text: object) -> str:
    """Return a template. Raises `CrevalError` if it is malformed or names images that the task does not have."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    rest = BLANK_PATTERN.sub("", words)
    wrong = [name for name in find_image_tags(words) if name not in allowed_image_tags(task)]
    if not words:
        why = "it is not a string" if not isinstance(text, str) else "it is empty"
    elif not all(map(str.strip, find_blanks(words))):
        why = "a blank in it is empty"
    elif "{" in rest or "}" in rest:
        why = "its braces do not match"
    elif wrong:
        why = f"the task has no {wrong[0]}"
    else:
        return words
    raise CrevalError(f"{path}: invalid template of {task.name} ({why}): {words[:100]}")


def allowed_image_tags(task: Task, references: int = 1) -> tuple[str, ...]:
    """Return the image tags that instructions for a task can use."""
    found = ("<SOURCE>",) if task.has_source else ()
    return found + tuple(f"<REF_{n + 1}>" for n in range(references if task.reference_metric else 0))


def find_image_tags(text: str) -> list[str]:
    """Return the image tags in a text. Tags are recognised in any spelling and returned in their normal form.

    >>> find_image_tags("Give <SOURCE> the style of [REF_1].")
    ['<SOURCE>', '<REF_1>']
    """
    return [f"<{match[1]}>" for match in IMAGE_REFERENCE.finditer(text)]
