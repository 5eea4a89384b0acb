"""What `creval build creval` made, to be accepted, edited or dropped item by item.

Decisions are written into the benchmark's own files at once. What is dropped moves to `dropped/`,
from where it can come back. Where an instruction gets other words, the old ones stay beside it
(`asked_for`) until its questions are accepted for the new ones.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.creval.release import CLASSES, FEWEST, METRICS
from creval.building.creval.files import DROPPED, LIST, QUESTIONS, identity_of, read_list
from creval.building.review.entries import as_sent
from creval.building.review.model import ACCEPTED, VERDICTS, Field, ReviewGroup, ReviewItem
from creval.building.review.model import DROPPED as GONE
from creval.core.errors import CrevalError, known_name
from creval.core.files import read_json, text_of, write_json
from creval.store.lock import turn

_INSTRUCTION = "instruction"
_ASKED_FOR, _ACCEPTED_FOR = "asked_for", "accepted_for"
_YES_NO = ("Yes", "No")
_WEIGHTS = ("1", "2", "3")
_FLAGS = {
    "true before": "a second model finds it true of the source already",
    "false before": "a second model does not find it true of the source",
}


class CrevalReview:
    """A benchmark's samples, each with its instruction and its questions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.title = str(folder)
        if not (folder / LIST).is_file():
            raise CrevalError(f"{folder} holds no {LIST}; creval build creval makes one.")

    def groups(self) -> Sequence[str]:
        return sorted({*self._entries(), *self._entries(dropped=True)})

    def group(self, identity: str) -> ReviewGroup:
        entry, dropped = self._entry(identity)
        items: list[ReviewItem] = []
        few = []
        for metric in METRICS:
            content = self._content(identity, metric, dropped)
            if len(content[QUESTIONS]) < FEWEST:
                few.append(f"{metric} has {len(content[QUESTIONS])} of at least {FEWEST} questions")
            both = [(question, text_of(question.get("review"))) for question in content[QUESTIONS]]
            both += [(question, GONE) for question in content[DROPPED]]
            both.sort(key=lambda one: _number(one[0]))  # what is dropped stays in its place
            items += [
                _question_item(metric, question, verdict, _is_older(entry, question))
                for question, verdict in both
            ]
        items.insert(0, _instruction_item(entry, dropped, few))
        picture = Path(os.path.normpath(self.folder / text_of(entry["input_image"][0])))
        inside = picture.is_relative_to(os.path.normpath(self.folder))
        heading = text_of(entry.get("dimension")) or _dimension(entry)
        pictures = {picture.name: picture} if inside else {}
        return ReviewGroup(identity, heading, pictures, tuple(items))

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        known_name("verdict", verdict, VERDICTS)
        with turn(self.folder):
            if item == _INSTRUCTION:
                self._decide_instruction(group, verdict, fields)
            else:
                self._decide_question(group, item, verdict, fields)

    def left(self) -> int:
        return sum(
            not item.verdict for identity in self._entries() for item in self.group(identity).items
        )

    def _entries(self, dropped: bool = False) -> dict[str, dict[str, Any]]:
        folder = self.folder / DROPPED if dropped else self.folder
        return {identity_of(entry): entry for entry in read_list(folder / LIST)}

    def _entry(self, identity: str) -> tuple[dict[str, Any], bool]:
        for dropped in (False, True):
            entries = self._entries(dropped)
            if identity in entries:
                return entries[identity], dropped
        raise CrevalError(f"there is no sample {identity!r} in {self.folder}.")

    def _path(self, identity: str, metric: str, dropped: bool) -> Path:
        folder = self.folder / DROPPED if dropped else self.folder
        return folder / "questions_all" / metric / f"{identity}.json"

    def _content(self, identity: str, metric: str, dropped: bool) -> dict[str, Any]:
        """A file of questions; those that were dropped stand beside the others."""
        path = self._path(identity, metric, dropped)
        content = read_json(path) if path.is_file() else {}
        found: dict[str, Any] = {QUESTIONS: [], DROPPED: []}
        found |= content if isinstance(content, dict) else {}
        for name in (QUESTIONS, DROPPED):
            if not isinstance(found[name], list) or not all(
                isinstance(entry, dict) for entry in found[name]
            ):
                raise CrevalError(f"{path} holds no list of questions; mend it first.")
        return found

    def _decide_instruction(self, identity: str, verdict: str, fields: Mapping[str, str]) -> None:
        entry, dropped = self._entry(identity)
        there = text_of(entry.get("input_prompt"))
        text = as_sent(fields.get("instruction", there), there)
        if not _words(text):
            raise CrevalError("an instruction needs words; drop it instead.")
        asked_for = _words(entry.get(_ASKED_FOR) or there)
        entry = {**entry, "input_prompt": text, _ASKED_FOR: asked_for}
        if asked_for == _words(text):
            del entry[_ASKED_FOR]
        name = fields.get("dimension")
        if name:
            known_name("dimension", name, CLASSES)
            entry |= {"class_id": 1 + CLASSES.index(name), "dimension": name}
        entry = _reviewed(entry, "" if verdict == GONE else verdict)
        self._put(identity, entry, dropped=verdict == GONE)
        if dropped != (verdict == GONE):
            for metric in METRICS:
                source = self._path(identity, metric, dropped)
                if source.is_file():
                    target = self._path(identity, metric, not dropped)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source.replace(target)

    def _put(self, identity: str, entry: dict[str, Any], dropped: bool) -> None:
        """Put a sample's entry into one of the two lists, and take it out of the other."""
        for other in (dropped, not dropped):  # in both for a moment rather than in none
            entries = self._entries(other)
            if other == dropped:
                entries[identity] = entry
            elif entries.pop(identity, None) is None:
                continue
            folder = self.folder / DROPPED if other else self.folder
            listed = [
                {**entries[name], "id": number} for number, name in enumerate(sorted(entries), 1)
            ]
            write_json(folder / LIST, listed)

    def _decide_question(
        self, identity: str, item: str, verdict: str, fields: Mapping[str, str]
    ) -> None:
        metric, _, label = item.partition("/")
        known_name("metric", metric, METRICS)
        entry, dropped = self._entry(identity)
        content = self._content(identity, metric, dropped)
        both = [*content[QUESTIONS], *content[DROPPED]]
        at = next((n for n, q in enumerate(both) if q.get("question_id") == label), None)
        if at is None:
            raise CrevalError(f"{identity} has no question {item}.")
        gone = {id(question) for question in content[DROPPED]}
        is_gone = [id(question) in gone for question in both]
        both[at] = _reviewed(_changed(both[at], metric, fields), "" if verdict == GONE else verdict)
        both[at].pop(_ACCEPTED_FOR, None)
        if verdict == ACCEPTED and _ASKED_FOR in entry:
            both[at][_ACCEPTED_FOR] = _digest(entry)
        is_gone[at] = verdict == GONE
        content[QUESTIONS] = [q for q, out in zip(both, is_gone, strict=True) if not out]
        content[DROPPED] = [q for q, out in zip(both, is_gone, strict=True) if out]
        if len(content[QUESTIONS]) < 1:
            raise CrevalError(
                f"the last {metric} question cannot be dropped; drop the instruction."
            )
        content[QUESTIONS].sort(key=_number)
        if not content[DROPPED]:
            del content[DROPPED]
        write_json(self._path(identity, metric, dropped), content)


def _number(question: Mapping[str, Any]) -> tuple[int, str]:
    """Questions come back to their places."""
    label = text_of(question.get("question_id"))
    return (int(label[1:]) if label[1:9].isdecimal() and len(label) < 9 else 10**9, label)


def _words(text: object) -> str:
    """A text in one line."""
    return " ".join(text_of(text).split())


def _digest(entry: Mapping[str, Any]) -> str:
    """A name for an instruction's words."""
    words = _words(entry.get("input_prompt")).encode("utf-8", "replace")
    return hashlib.blake2b(words, digest_size=6).hexdigest()


def _is_older(entry: Mapping[str, Any], question: Mapping[str, Any]) -> bool:
    """Whether a question was written for other words, and nobody has accepted it for these."""
    return _ASKED_FOR in entry and question.get(_ACCEPTED_FOR) != _digest(entry)


def _reviewed(entry: Mapping[str, Any], verdict: str) -> dict[str, Any]:
    kept = {name: value for name, value in entry.items() if name != "review"}
    return {**kept, "review": verdict} if verdict else kept


def _changed(question: dict[str, Any], metric: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """A question with its fields as they were changed, if they can be so."""
    there = text_of(question.get("question"))
    text = as_sent(fields.get("question", there), there)
    if not _words(text):
        raise CrevalError("a question needs words; drop it instead.")
    found = {**question, "question": text}
    if "answer" in fields:
        found["answer"] = known_name("answer", fields["answer"], _YES_NO)
    if "weight" in fields and metric == "VC":
        found["weight"] = int(known_name("weight", fields["weight"], _WEIGHTS))
    return found


def _dimension(entry: Mapping[str, Any]) -> str:
    number = entry.get("class_id")
    known = isinstance(number, int) and 1 <= number <= len(CLASSES)
    return CLASSES[number - 1] if known and isinstance(number, int) else ""


def _facts(made: object) -> dict[str, str]:
    return {name: text_of(value) for name, value in made.items()} if isinstance(made, dict) else {}


def _instruction_item(entry: Mapping[str, Any], dropped: bool, notes: Sequence[str]) -> ReviewItem:
    fields = (
        Field("instruction", text_of(entry.get("input_prompt"))),
        Field("dimension", _dimension(entry), CLASSES),
    )
    verdict = GONE if dropped else text_of(entry.get("review"))
    facts = _facts(entry.get("made"))
    if _ASKED_FOR in entry:
        facts["its words before"] = text_of(entry[_ASKED_FOR])
    return ReviewItem(_INSTRUCTION, _INSTRUCTION, fields, verdict, tuple(notes), facts)


def _question_item(
    metric: str, question: Mapping[str, Any], verdict: str, older: bool
) -> ReviewItem:
    fields = [
        Field("question", text_of(question.get("question"))),
        Field("answer", text_of(question.get("answer")), _YES_NO),
    ]
    if metric == "VC":
        fields.append(Field("weight", text_of(question.get("weight")), _WEIGHTS))
    facts = _facts(question.get("made"))
    flag = _FLAGS.get(facts.get("flag", ""))
    reason = text_of(question.get("thinking_process"))
    if reason:
        facts["reason"] = reason
    identity = f"{metric}/{text_of(question.get('question_id'))}"
    notes = [flag] if flag else []
    if older and verdict != GONE:
        notes.append("the instruction has got other words since")
    return ReviewItem(identity, "question", tuple(fields), verdict, tuple(notes), facts)
