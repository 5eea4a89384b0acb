"""A judge whose answers were recorded: `DIR/METRIC/MODEL/ID.json` (parsed) or `ID.txt` (raw)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.call import Reply
from creval.core.errors import CrevalError, known_name
from creval.core.files import files_below, read_bytes
from creval.core.probe import Question
from creval.core.scales import contract_named
from creval.core.verdict import Status, Verdict
from creval.parsing.answers import read_reply

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
    ignored: tuple[str, ...]


def find_answers(
    folder: Path,
    metrics: Sequence[str],
    samples: Iterable[str],
    *,
    raw: bool = False,
    only: Sequence[str] = (),
) -> Recording:
    """List the answer files that belong to these metrics and samples, of all systems or of some.

    Where an answer is there in both forms, the parsed one is taken, or with `raw` the raw one.
    """
    if not folder.is_dir():
        raise CrevalError(f"{folder} is not a folder of recorded answers (METRIC/MODEL/ID.json).")
    known = set(samples)
    deep = any("/" in name for name in known)
    there = {metric: _subfolders(folder / metric) for metric in metrics}
    ignored = [name for name in _names(folder) if name not in metrics]
    if not any((folder / metric).is_dir() for metric in metrics):
        names = ", ".join(ignored[:8]) or "nothing"
        wanted = ", ".join(metrics)
        raise CrevalError(
            f"{folder} should hold a folder for each metric ({wanted}), but holds {names}."
        )
    systems = sorted({system for found in there.values() for system in found})
    for name in only:
        known_name("model", name, systems)
    systems = [system for system in systems if not only or system in only]
    files: list[RecordedFile] = []
    unmatched: list[str] = []
    for metric, found in there.items():
        for system in (system for system in systems if system in found):
            chosen, others = _by_stem(folder / metric / system, raw, deep)
            ignored += [f"{metric}/{system}/{name}" for name in others]
            unmatched += [f"{metric}/{system}/{stem}" for stem in chosen if stem not in known]
            files += [
                RecordedFile(metric, system, stem, name)
                for stem, name in chosen.items()
                if stem in known
            ]
    strangers = sorted(set(systems) - {file.system for file in files})
    if strangers:
        raise CrevalError(
            f"no file of model {strangers[0]!r} in {folder} has the name of a sample, such as "
            f"{min(known, default='')!r}. Are these answers to this benchmark?"
        )
    if not files:
        raise CrevalError(f"{folder} holds no answers.")
    # An edit's answers together, so that they lie together in the run.
    files.sort(key=itemgetter(1, 2))
    judge = f"recorded:{folder.resolve().name}"
    return Recording(judge, folder, tuple(systems), tuple(files), tuple(unmatched), tuple(ignored))


def _names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208


def _subfolders(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [name for name in _names(folder) if (folder / name).is_dir()]


def _by_stem(folder: Path, raw: bool, deep: bool) -> tuple[dict[str, str], list[str]]:
    """The folder's answer files by stem, one for each, by name; and the other files.

    `deep` looks into the folders inside too: there a stem has slashes.
    """
    first, second = ("txt", "json") if raw else ("json", "txt")
    chosen: dict[str, str] = {}
    others: list[str] = []
    for name in files_below(folder) if deep else _names(folder):
        stem, _, suffix = name.rpartition(".")
        if suffix not in (first, second):
            others.append(name)
        elif suffix == first or stem not in chosen:
            chosen[stem] = name
    return chosen, others


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
        if all(verdict.status in (Status.MISSING, Status.UNASKABLE) for verdict in verdicts):
            return _failed(origin, questions, str(reason or "it holds no answers to the questions"))
    return Reply(Status.ANSWERED, None, origin), verdicts


def _parsed(content: Any, questions: Sequence[Question]) -> list[Verdict] | None:
    """The verdicts in a file of the release's own form, question by question; none if it is not."""
    try:
        entries = content["questions"]
        verdicts = []
        for question, entry in zip(questions, entries, strict=True):
            if entry["question_id"] != question.label or entry["question"].strip() != question.text:
                return None
            verdicts.append(_verdict(question, entry["model_answer"], entry["explanation"]))
        return verdicts
    except (KeyError, TypeError, AttributeError, ValueError):
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
