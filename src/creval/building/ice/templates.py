"""Templates of instructions: drawn by chance, read from people's own files, and compared with what was made of them."""

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
    """Return what of a template somebody wrote down as it stands, where something was to be filled in."""
    parts = re.split(BLANK_PATTERN, template)  # what stands between blanks, and they
    ends = [re.escape(part) for part in parts[::2]]
    ends[-1] += r"\Z"
    # What a lookahead has found is not tried in other ways, of which a long text has too many.
    filled = (rf"(?=(?P<at{n}>.+?){end})(?P=at{n}){end}" for n, end in enumerate(ends[1:]))
    match = re.match(ends[0] + "".join(filled), " ".join(text.split()), re.IGNORECASE)
    if match:
        return [
            blank
            for blank, said in zip(parts[1::2], match.groups(), strict=True)
            if _normalise(said) == _normalise(blank)
        ]
    return find_blanks(template) if _normalise(text) == _normalise(template) else []


def _normalise(text: str) -> str:
    """Return a text without braces, marks at its ends, and case."""
    return " ".join(re.sub("[{}]", "", text).split()).strip(" .").casefold()


class TemplateSet:
    """The templates of all tasks; a file of one's own replaces those of the tasks that it names."""

    def __init__(self, path: Path | None = None) -> None:
        self._by_task: dict[str, Sequence[str]] = {name: kit.templates for name, kit in TASK_KITS.items()}
        if path is not None:
            self._by_task |= _read_templates(path)

    @property
    def version(self) -> str:
        """A name for all of them."""
        content = json.dumps(self._by_task, sort_keys=True, ensure_ascii=False)
        return text_digest(content)[:12]

    def draw(self, task: Task, item: str, seed: int) -> str:
        """Draw one of a task's templates by chance."""
        chance = random.Random(f"{seed}|{task.number}|{item}")  # noqa: S311
        return chance.choice(self._by_task[task.name])


def _read_templates(path: Path) -> dict[str, Sequence[str]]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise CrevalError(f"{path} should hold an object from tasks to lists of templates.")
    found: dict[str, Sequence[str]] = {}
    for name, given in content.items():
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts:
            raise CrevalError(f"{path}: {name} should have a template, or a list of them.")
        for task in find_tasks(name):
            found[task.name] = [_validate_template(path, task, text) for text in texts]
    return found


def _validate_template(path: Path, task: Task, text: object) -> str:
    """Return a template that can be used: it names images that the task has, and its braces close."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    rest = BLANK_PATTERN.sub("", words)
    wrong = [name for name in find_image_tags(words) if name not in allowed_image_tags(task)]
    if not words:
        why = "it is no text" if not isinstance(text, str) else "it is empty"
    elif not all(map(str.strip, find_blanks(words))):
        why = "a blank in it is empty"
    elif "{" in rest or "}" in rest:
        why = "its braces do not match"
    elif wrong:
        why = f"the task has no {wrong[0]}"
    else:
        return words
    raise CrevalError(f"{path}: this template of {task.name} cannot be used ({why}): {words[:100]}")


def allowed_image_tags(task: Task, references: int = 1) -> tuple[str, ...]:
    """Return how instructions for a task name its images."""
    found = ("<SOURCE>",) if task.has_source else ()
    return found + tuple(f"<REF_{n + 1}>" for n in range(references if task.reference_metric else 0))


def find_image_tags(text: str) -> list[str]:
    """Return the names of images in a text, however they are written.

    >>> find_image_tags("Give <SOURCE> the style of [REF_1].")
    ['<SOURCE>', '<REF_1>']
    """
    return [f"<{match[1]}>" for match in IMAGE_REFERENCE.finditer(text)]
