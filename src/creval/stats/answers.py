"""All answers of all voices to the same questions, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError
from creval.core.probe import EditKey, Question
from creval.stats.table import Floats
from creval.store.run import Run


@dataclass(frozen=True)
class Item:
    """One question about one edit."""

    edit: EditKey
    question: Question
    tags: Mapping[str, str]


@dataclass(frozen=True)
class AnswerTable:
    """What each voice answered to each question about each edit; axes item, voice.

    `unlike` counts questions that runs put in other words; they are left out.
    """

    items: tuple[Item, ...]
    voices: tuple[str, ...]
    values: Floats
    unlike: int = 0

    def of(self, chosen: NDArray[np.bool_]) -> AnswerTable:
        """The same for some of the items."""
        items = tuple(item for item, taken in zip(self.items, chosen, strict=True) if taken)
        return replace(self, items=items, values=self.values[chosen])


def gather(runs: Sequence[Run]) -> AnswerTable:
    """The answers of all judges and repeats in some runs. What only one run asked is left out."""
    judges = Counter(judge for run in runs for judge in {name for name, _ in run.voices()})
    items: dict[tuple[EditKey, str], Item] = {}
    columns: list[dict[tuple[EditKey, str], float]] = []
    voices: list[str] = []
    asked: Counter[tuple[EditKey, str]] = Counter()
    unlike: set[tuple[EditKey, str]] = set()
    for run in runs:
        probes = {
            (sample, probe.id): probe
            for sample, several in run.probes.items()
            for probe in several
            if isinstance(probe, Question)
        }
        here: dict[tuple[str, int], dict[tuple[EditKey, str], float]] = {}
        for judge, repeat, edit, probe, value in run.spoken():
            question = probes.get((edit.sample, probe))
            if question is None or value is None:
                continue
            key = edit, probe
            known = items.setdefault(key, Item(edit, question, run.samples[edit.sample].tags))
            if (known.question.text, known.question.contract) != (question.text, question.contract):
                unlike.add(key)
            here.setdefault((judge, repeat), {})[key] = value
        asked.update({key for column in here.values() for key in column})
        for (judge, repeat), column in sorted(here.items()):
            several = sum(name == judge for name, _ in here) > 1
            name = f"{judge}, repeat {repeat + 1}" if several else judge
            voices.append(f"{name} in {_name(run.folder)}" if judges[judge] > 1 else name)
            columns.append(column)
    if len(voices) < 2:
        raise CrevalError(
            "one voice alone agrees with nobody: give a second run, or one with several judges or "
            "repeats (creval judge --repeat K)."
        )
    shared = [key for key in items if asked[key] == len(runs) and key not in unlike]
    if not shared:
        raise CrevalError("these runs hold no answers to the same questions about the same edits.")
    values = np.array([[column.get(key, np.nan) for column in columns] for key in shared])
    return AnswerTable(tuple(items[key] for key in shared), tuple(voices), values, len(unlike))


def _name(folder: Path) -> str:
    return folder.resolve().name
