"""Recorded answers of a judge: `DIR/METRIC/MODEL/ID.json` (parsed) or `ID.txt` (raw)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.call import Reply
from creval.core.errors import CrevalError, require_known
from creval.core.files import list_files, read_bytes
from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.core.verdict import Verdict, VerdictStatus
from creval.parsing.judge_replies import parse_reply

# Written by CREval's script if its parser found no answer. These are not answers of the judge.
_PARSER_FAILURES = frozenset({"未找到对应回答", "don't find model answers"})


class RecordedFile(NamedTuple):
    """A file with the answers of one judge to one metric's questions about one edit."""

    metric: str
    model: str
    sample: str
    name: str

    @property
    def origin(self) -> str:
        """The file's path inside the folder of recorded answers."""
        return f"{self.metric}/{self.model}/{self.name}"


@dataclass(frozen=True)
class RecordedAnswers:
    """The files in a folder of recorded answers.

    `unmatched` files belong to no sample. `ignored` files and folders have an unknown name or suffix.
    """

    judge: str
    folder: Path
    models: tuple[str, ...]
    files: tuple[RecordedFile, ...]
    unmatched: tuple[str, ...]
    ignored: tuple[str, ...]


def find_recorded_answers(
    folder: Path, metrics: Sequence[str], samples: Iterable[str], *, raw: bool = False, only_models: Sequence[str] = ()
) -> RecordedAnswers:
    """List the answer files of these metrics and samples.

    If a sample has a parsed and a raw file, the parsed file is used, or the raw file if `raw`.
    """
    if not folder.is_dir():
        raise CrevalError(f"{folder} is not a folder of recorded answers (METRIC/MODEL/ID.json).")
    known = set(samples)
    deep = any("/" in name for name in known)
    there = {metric: _subfolders(folder / metric) for metric in metrics}
    ignored = [name for name in _visible_names(folder) if name not in metrics]
    if not any((folder / metric).is_dir() for metric in metrics):
        names = ", ".join(ignored[:8]) or "nothing"
        wanted = ", ".join(metrics)
        raise CrevalError(f"{folder} should contain a folder for each metric ({wanted}), but contains {names}.")
    models = sorted({model for found in there.values() for model in found})
    for name in only_models:
        require_known("model", name, models)
    models = [model for model in models if not only_models or model in only_models]
    files: list[RecordedFile] = []
    unmatched: list[str] = []
    for metric, found in there.items():
        for model in (model for model in models if model in found):
            chosen, others = _select_by_stem(folder / metric / model, raw, deep)
            ignored += [f"{metric}/{model}/{name}" for name in others]
            unmatched += [f"{metric}/{model}/{stem}" for stem in chosen if stem not in known]
            files += [RecordedFile(metric, model, stem, name) for stem, name in chosen.items() if stem in known]
    strangers = sorted(set(models) - {file.model for file in files})
    if strangers:
        raise CrevalError(
            f"no file of model {strangers[0]!r} in {folder} has the name of a sample, such as "
            f"{min(known, default='')!r}. Give the benchmark that these answers are about."
        )
    if not files:
        raise CrevalError(f"{folder} contains no answers.")
    # Group files by edit, so that the run stores an edit's answers together.
    files.sort(key=itemgetter(1, 2))
    judge = f"recorded:{folder.resolve().name}"
    return RecordedAnswers(judge, folder, tuple(models), tuple(files), tuple(unmatched), tuple(ignored))


def _visible_names(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208


def _subfolders(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [name for name in _visible_names(folder) if (folder / name).is_dir()]


def _select_by_stem(folder: Path, raw: bool, deep: bool) -> tuple[dict[str, str], list[str]]:
    """Return one answer file for each stem, and the names of files with other suffixes. `deep` includes subfolders."""
    first, second = ("txt", "json") if raw else ("json", "txt")
    chosen: dict[str, str] = {}
    others: list[str] = []
    for name in list_files(folder) if deep else _visible_names(folder):
        stem, _, suffix = name.rpartition(".")
        if suffix not in (first, second):
            others.append(name)
        elif suffix == first or stem not in chosen:
            chosen[stem] = name
    return chosen, others


def read_recorded_answers(
    folder: Path, file: RecordedFile, questions: Sequence[Question]
) -> tuple[Reply, list[Verdict]]:
    """Return the reply in an answer file, and the verdict on each question.

    The reply contains the judge's text only if the file is raw.
    """
    origin = file.origin
    try:
        content = read_bytes(f"{folder}/{origin}")
    except OSError as error:
        return _failed_reply(origin, questions, f"the file cannot be read: {error.strerror or error}")
    if origin.endswith(".txt"):
        text = content.decode("utf-8", "replace")
        return Reply(VerdictStatus.ANSWERED, text, origin), parse_reply(text, questions)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        return _failed_reply(origin, questions, f"the file is not valid JSON: {error}")
    verdicts = _verdicts_in_release_format(parsed, questions)
    if verdicts is None:
        text = content.decode("utf-8", "replace")
        verdicts = parse_reply(text, questions)
        reason = parsed.get("error") if isinstance(parsed, dict) else None
        if all(verdict.status in (VerdictStatus.MISSING, VerdictStatus.UNASKABLE) for verdict in verdicts):
            return _failed_reply(origin, questions, str(reason or "the file contains no answers to the questions"))
    return Reply(VerdictStatus.ANSWERED, None, origin), verdicts


def _verdicts_in_release_format(content: Any, questions: Sequence[Question]) -> list[Verdict] | None:
    """Return the verdicts in a file of the CREval release's format. None if the file has another format."""
    try:
        entries = content["questions"]
        verdicts = []
        for question, entry in zip(questions, entries, strict=True):
            if entry["question_id"] != question.label or entry["question"].strip() != question.text:
                return None
            verdicts.append(_build_verdict(question, entry["model_answer"], entry["explanation"]))
        return verdicts
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _build_verdict(question: Question, said: object, explanation: object) -> Verdict:
    if said in _PARSER_FAILURES:
        status = VerdictStatus.MISSING if question.text else VerdictStatus.UNASKABLE
        return Verdict(question.id, status)
    status, value = get_scale(question.scale).parse_answer(said)
    return Verdict(question.id, status, value, str(said), str(explanation))


def _failed_reply(origin: str, questions: Sequence[Question], reason: str) -> tuple[Reply, list[Verdict]]:
    verdicts = [Verdict(q.id, VerdictStatus.FAILED, explanation=reason) for q in questions]
    return Reply(VerdictStatus.FAILED, None, origin), verdicts
