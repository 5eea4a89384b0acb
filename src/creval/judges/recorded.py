"""A judge whose answers were recorded: `DIR/METRIC/MODEL/ID.json` (parsed) or `ID.txt` (raw)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.contract import contract_named
from creval.core.errors import CrevalError, unknown
from creval.core.files import read_bytes
from creval.core.probe import Question
from creval.core.replies import read_reply
from creval.core.verdict import Reply, Status, Verdict

# What CREval's script writes where its parser found no answer. It is not the judge's word.
_NOT_FOUND = frozenset({"未找到对应回答", "don't find model answers"})


class RecordedFile(NamedTuple):
    """The answers of one judge to one metric's questions on one edit."""

    metric: str
    system: str
    sample: str
    name: str

    @property
    def origin(self) -> str:
        """Where it lies in the folder of answers."""
        return f"{self.metric}/{self.system}/{self.name}"


@dataclass(frozen=True)
class Recording:
    """What a folder of recorded answers holds, before any of it is read."""

    judge: str
    folder: Path
    systems: tuple[str, ...]
    files: tuple[RecordedFile, ...]
    unmatched: tuple[str, ...]


def find_answers(
    folder: Path, metrics: Sequence[str], samples: Iterable[str], *, raw: bool = False
) -> Recording:
    """List the answer files that belong to these metrics and samples.

    Where an answer is there in both forms, the parsed one is taken, or with `raw` the raw one.
    """
    if not folder.is_dir():
        raise CrevalError(f"{folder} is not a folder of recorded answers (METRIC/MODEL/ID.json).")
    known = set(samples)
    there = [metric for metric in metrics if (folder / metric).is_dir()]
    if not there:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        wanted = ", ".join(metrics)
        raise CrevalError(
            f"{folder} should hold a folder for each metric ({wanted}), but holds {names}."
        )
    files: list[RecordedFile] = []
    unmatched: list[str] = []
    systems: dict[str, bool] = {}
    for metric in there:
        for system in sorted(entry.name for entry in os.scandir(folder / metric) if entry.is_dir()):
            found = _by_stem(folder / metric / system, raw)
            matched = [stem for stem in found if stem in known]
            systems[system] = systems.get(system, False) or bool(matched)
            unmatched += [f"{metric}/{system}/{stem}" for stem in found if stem not in known]
            files += [RecordedFile(metric, system, stem, found[stem]) for stem in matched]
    for system, matched_any in systems.items():
        if not matched_any:
            raise CrevalError(
                f"no file of model {system!r} in {folder} has the name of a sample, such as "
                f"{min(known, default='')!r}. Are these answers to this benchmark?"
            )
    if not files:
        raise CrevalError(f"{folder} holds no answers.")
    judge = f"recorded:{folder.resolve().name}"
    # An edit's answers together, so that they lie together in the run.
    files.sort(key=itemgetter(1, 2))
    return Recording(judge, folder, tuple(sorted(systems)), tuple(files), tuple(unmatched))


def _by_stem(folder: Path, raw: bool) -> dict[str, str]:
    """The folder's answer files by stem, one for each, in the order of their names."""
    first, second = ("txt", "json") if raw else ("json", "txt")
    chosen: dict[str, str] = {}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 (names are all that is needed)
        stem, dot, suffix = name.rpartition(".")
        if dot and (suffix == first or (suffix == second and stem not in chosen)):
            chosen[stem] = name
    return chosen


def read_answers(
    folder: Path, file: RecordedFile, questions: Sequence[Question]
) -> tuple[Reply, list[Verdict]]:
    """The reply in an answer file and the verdict on each question. A raw reply is kept whole."""
    origin = file.origin
    try:
        content = read_bytes(f"{folder}/{origin}")
    except OSError as error:
        return _failed(origin, questions, f"the file cannot be read: {error.strerror or error}")
    if origin.endswith(".txt"):
        text = content.decode("utf-8", "replace")
        return Reply(Status.ANSWERED, text, origin), read_reply(text, questions)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        return _failed(origin, questions, f"the file is not valid JSON: {error}")
    verdicts = _parsed(parsed, questions)
    if verdicts is None:
        text = content.decode("utf-8", "replace")
        verdicts = read_reply(text, questions)
        reason = parsed.get("error") if isinstance(parsed, dict) else None
        if reason and all(verdict.value is None for verdict in verdicts):
            return _failed(origin, questions, str(reason))
    return Reply(Status.ANSWERED, None, origin), verdicts


def _parsed(content: Any, questions: Sequence[Question]) -> list[Verdict] | None:
    """The verdicts in a file of the release's own form, question by question; none if it is not."""
    try:
        entries = content["questions"]
        asked = [(entry["question_id"], entry["question"].strip()) for entry in entries]
        if asked != [(question.label, question.text) for question in questions]:
            return None
        return [
            _verdict(question, entry["model_answer"], entry["explanation"])
            for question, entry in zip(questions, entries, strict=True)
        ]
    except (KeyError, TypeError, AttributeError):
        return None


def _verdict(question: Question, said: object, explanation: object) -> Verdict:
    if said in _NOT_FOUND:
        status = Status.MISSING if question.text else Status.UNASKABLE
        return Verdict(question.id, status)
    status, value = contract_named(question.contract).read(said)
    return Verdict(question.id, status, value, str(said), str(explanation))


def _failed(origin: str, questions: Sequence[Question], reason: str) -> tuple[Reply, list[Verdict]]:
    verdicts = [Verdict(q.id, Status.FAILED, explanation=reason) for q in questions]
    return Reply(Status.FAILED, None, origin), verdicts


def chosen_systems(recording: Recording, wanted: Sequence[str]) -> Recording:
    """The part of a recording that is about these systems."""
    for name in wanted:
        if name not in recording.systems:
            raise unknown("model", name, recording.systems)
    files = tuple(file for file in recording.files if file.system in wanted)
    return replace(recording, systems=tuple(sorted(set(wanted))), files=files)
