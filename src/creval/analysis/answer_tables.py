"""Tables of the answers of all voices (judges, repeats, people) to the same questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.human_ratings import Rating
from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.stats.agreement import AgreementItem, AnswerTable
from creval.store.run import Run


def questions_by_id(run: Run) -> dict[tuple[str, str], Question]:
    """Return the questions of a run, by sample and id."""
    pairs = ((sample, probe) for sample, probes in run.probes.items() for probe in probes)
    return {(sample, probe.id): probe for sample, probe in pairs if isinstance(probe, Question)}


def collect_answers(runs: Sequence[Run]) -> AnswerTable:
    """Collect the answers of all judges and repeats to the questions that all runs asked."""
    judges = Counter(judge for run in runs for judge in {name for name, _ in run.count_answers_by_voice()})
    items: dict[tuple[EditKey, str], Question] = {}
    tags: dict[str, Mapping[str, str]] = {}
    columns: list[dict[tuple[EditKey, str], float]] = []
    voices: list[str] = []
    asked: Counter[tuple[EditKey, str]] = Counter()
    unlike: set[tuple[EditKey, str]] = set()
    for run in runs:
        questions = questions_by_id(run)
        here: dict[tuple[str, int], dict[tuple[EditKey, str], float]] = {}
        for judge, repeat, edit, probe, value in run.verdicts_by_voice():
            question = questions.get((edit.sample, probe))
            if question is None or value is None:
                continue
            key = edit, probe
            known = items.setdefault(key, question)
            if (known.text, known.scale) != (question.text, question.scale):
                unlike.add(key)
            here.setdefault((judge, repeat), {})[key] = value
        tags |= {name: sample.tags for name, sample in run.samples.items()}
        asked.update({key for column in here.values() for key in column})
        for (judge, repeat), column in sorted(here.items()):
            several = sum(name == judge for name, _ in here) > 1
            name = f"{judge}, repeat {repeat + 1}" if several else judge
            voices.append(f"{name} in {run.folder.resolve().name}" if judges[judge] > 1 else name)
            columns.append(column)
    if len(voices) < 2:
        raise CrevalError(
            "agreement needs at least two judges or repeats: give a second run, or a run with several judges or "
            "repeats (`creval judge` with `repeat`)."
        )
    shared = [key for key in items if asked[key] == len(runs) and key not in unlike]
    if not shared:
        raise CrevalError("these runs have no answers to the same questions about the same edits.")
    rows = {
        (key, name): AgreementItem(
            key.sample, items[key, name].metric, tags[key.sample], get_scale(items[key, name].scale).nominal
        )
        for key, name in shared
    }
    return _build_table(rows, voices, columns, len(unlike))


def collect_rater_answers(ratings: Iterable[Rating], tags: Mapping[str, Mapping[str, str]]) -> AnswerTable:
    """Collect human ratings of edits, or preferences between two edits. Each rater is a voice."""
    said: dict[str, dict[Hashable, float]] = {}
    items: dict[Hashable, AgreementItem] = {}
    for rating in ratings:
        key = frozenset(rating.edits), rating.metric
        sample = rating.edits[0].sample
        chosen = rating.value is None
        items[key] = AgreementItem(sample, rating.metric, tags.get(sample, {}), chosen)
        number = rating.value
        if number is None:
            models = sorted(edit.model for edit in rating.edits)
            number = 1.0 + models.index(rating.choice) if rating.choice else 0.0
        said.setdefault(rating.rater, {})[key] = number
    if len(said) < 2:
        raise CrevalError("agreement needs two raters or more: the file has only one.")
    return _build_table(items, list(said), list(said.values()))


def _build_table(
    items: Mapping[Any, AgreementItem], voices: Sequence[str], columns: Sequence[Mapping[Any, float]], reworded: int = 0
) -> AnswerTable:
    values = np.array([[column.get(key, np.nan) for column in columns] for key in items])
    return AnswerTable(tuple(items.values()), tuple(voices), values, reworded)
