"""Review of a built CREval benchmark.

Decisions are written into the benchmark's files at once. Dropped samples are moved to `dropped/` and can be restored.
If an instruction is changed, the old text is stored as `asked_for`, because the questions were written for it. Each
question is then outdated until a person accepts it for the new text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS, MIN_QUESTIONS
from creval.building.creval.dimensions import class_dimension
from creval.building.creval.files import DROPPED, QUESTIONS_KEY, SAMPLE_LIST, entry_sample_id, read_sample_list
from creval.building.review.base import ACCEPTED, OPEN, VERDICTS, ReviewField, ReviewGroup, ReviewItem
from creval.building.review.base import DROPPED as GONE
from creval.building.review.json_review import JsonReview, merge_user_text, read_verdict, set_verdict
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text, is_file, read_json, write_json

_INSTRUCTION = "instruction"
_ASKED_FOR, _ACCEPTED_FOR = "asked_for", "accepted_for"
_Entries = dict[str, tuple[dict[str, Any], bool]]  # by id, with whether they are dropped
_YES_NO = ("Yes", "No")
_WEIGHTS = ("1", "2", "3")
_NEW_QUESTION = (
    ReviewField("metric", METRICS[0], tuple(METRICS)),
    ReviewField("question", ""),
    ReviewField("answer", "Yes", _YES_NO),
    ReviewField("weight", "1", _WEIGHTS),
)
_FLAGS = {
    "true before": "a second model finds it true for the source image already",
    "false before": "a second model finds it not true for the source image",
}


class CrevalReview(JsonReview[_Entries]):
    """Review of samples. Each sample has an instruction and questions."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.title = str(folder)
        if not (folder / SAMPLE_LIST).is_file():
            raise CrevalError(f"{folder} contains no {SAMPLE_LIST}. `creval build creval` creates one.")

    def files(self) -> Sequence[Path]:
        return [self._folder(dropped) / SAMPLE_LIST for dropped in (False, True)]

    def load(self) -> _Entries:
        return {name: (entry, dropped) for dropped in (True, False) for name, entry in self._read_list(dropped).items()}

    def list_groups(self, entries: _Entries) -> Sequence[str]:
        return sorted(entries)

    def build_group(self, entries: _Entries, identity: str) -> ReviewGroup:
        entry, dropped = self._find_entry(entries, identity)
        items: list[ReviewItem] = []
        few = []
        for metric in METRICS:
            content = self._read_questions(identity, metric, dropped)
            if len(content[QUESTIONS_KEY]) < MIN_QUESTIONS:
                few.append(f"{metric} has {len(content[QUESTIONS_KEY])} of at least {MIN_QUESTIONS} questions")
            both = [(question, read_verdict(question)) for question in content[QUESTIONS_KEY]]
            both += [(question, GONE) for question in content[DROPPED]]
            both.sort(key=lambda one: _question_order(one[0]))  # dropped questions keep their place
            # Questions that were not accepted for the current text of the instruction are outdated.
            accepted_for = _instruction_digest(entry) if _ASKED_FOR in entry else None
            items += [
                _question_item(metric, question, verdict, accepted_for not in (None, question.get(_ACCEPTED_FOR)))
                for question, verdict in both
            ]
        items.insert(0, _instruction_item(entry, dropped, few))
        image = Path(os.path.normpath(self.folder / coerce_text(entry["input_image"][0])))
        inside = image.is_relative_to(os.path.normpath(self.folder))
        heading = coerce_text(entry.get("dimension")) or class_dimension(entry.get("class_id"))
        images = {image.name: image} if inside else {}
        instruction = coerce_text(entry.get("input_prompt"))
        new = () if dropped else _NEW_QUESTION
        return ReviewGroup(identity, heading, images, tuple(items), instruction, new)

    def apply(self, entries: _Entries, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        require_known("verdict", verdict, VERDICTS)
        entry, dropped = self._find_entry(entries, group)
        if item == _INSTRUCTION:
            self._decide_instruction(group, entry, dropped, verdict, fields)
        else:
            self._decide_question(group, entry, dropped, item, verdict, fields)

    def apply_addition(self, entries: _Entries, group: str, fields: Mapping[str, str]) -> str:
        entry, dropped = self._find_entry(entries, group)
        if dropped:
            raise CrevalError(f"{group} is dropped. Restore it before you add questions.")
        metric = require_known("metric", fields.get("metric", ""), METRICS)
        content = self._read_questions(group, metric, dropped)
        numbers = [_question_order(question)[0] for question in (*content[QUESTIONS_KEY], *content[DROPPED])]
        label = f"Q{max((number for number in numbers if number < 10**9), default=0) + 1}"
        question = _edit_question({"question_id": label, "question": ""}, metric, fields)
        set_verdict(question, ACCEPTED)
        if _ASKED_FOR in entry:
            question[_ACCEPTED_FOR] = _instruction_digest(entry)
        content[QUESTIONS_KEY].append(question)
        content = {name: value for name, value in content.items() if value or name != DROPPED}
        write_json(self._path(group, metric, dropped), content)
        return f"{metric}/{label}"

    def count_undecided(self) -> int:
        """Count the undecided items of samples that are not dropped."""
        kept = {identity: entry for identity, entry in self.entries.items() if not entry[1]}
        return sum(item.verdict == OPEN for identity in kept for item in self.build_group(kept, identity).items)

    def _folder(self, dropped: bool) -> Path:
        return self.folder / DROPPED if dropped else self.folder

    def _read_list(self, dropped: bool) -> dict[str, dict[str, Any]]:
        return {entry_sample_id(entry): entry for entry in read_sample_list(self._folder(dropped) / SAMPLE_LIST)}

    def _find_entry(self, entries: _Entries, identity: str) -> tuple[dict[str, Any], bool]:
        if identity not in entries:
            raise CrevalError(f"{self.folder} has no sample {identity!r}.")
        return entries[identity]

    def _path(self, identity: str, metric: str, dropped: bool) -> Path:
        return self._folder(dropped) / "questions_all" / metric / f"{identity}.json"

    def _read_questions(self, identity: str, metric: str, dropped: bool) -> dict[str, Any]:
        """Return the content of a question file, with the lists of active and of dropped questions."""
        path = self._path(identity, metric, dropped)
        content = read_json(path) if path.is_file() else {}
        found: dict[str, Any] = {QUESTIONS_KEY: [], DROPPED: []}
        found |= content if isinstance(content, dict) else {}
        for name in (QUESTIONS_KEY, DROPPED):
            if not isinstance(found[name], list) or not all(isinstance(entry, dict) for entry in found[name]):
                raise CrevalError(f"{path} contains no list of questions. Repair it first.")
        return found

    def _decide_instruction(
        self, identity: str, entry: dict[str, Any], dropped: bool, verdict: str, fields: Mapping[str, str]
    ) -> None:
        current = coerce_text(entry.get("input_prompt"))
        text = merge_user_text(fields.get("instruction", current), current)
        if not _in_one_line(text):
            raise CrevalError("an instruction cannot be empty. Drop it instead.")
        asked_for = _in_one_line(entry.get(_ASKED_FOR) or current)
        entry = {**entry, "input_prompt": text, _ASKED_FOR: asked_for}
        if asked_for == _in_one_line(text):
            del entry[_ASKED_FOR]
        name = fields.get("dimension")
        if name:
            require_known("dimension", name, CLASS_DIMENSIONS)
            entry |= {"class_id": 1 + CLASS_DIMENSIONS.index(name), "dimension": name}
        set_verdict(entry, OPEN if verdict == GONE else verdict)
        self._save_entry(identity, entry, dropped=verdict == GONE)
        if dropped != (verdict == GONE):
            for metric in METRICS:
                source = self._path(identity, metric, dropped)
                if is_file(source):
                    target = self._path(identity, metric, not dropped)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source.replace(target)

    def _save_entry(self, identity: str, entry: dict[str, Any], dropped: bool) -> None:
        """Write a sample's entry to the list of active or of dropped samples, and remove it from the other list."""
        for other in (dropped, not dropped):  # add before removing, so that a crash cannot lose the entry
            entries = self._read_list(other)
            if other == dropped:
                entries[identity] = entry
            elif entries.pop(identity, None) is None:
                continue
            listed = [{**entries[name], "id": number} for number, name in enumerate(sorted(entries), 1)]
            write_json(self._folder(other) / SAMPLE_LIST, listed)

    def _decide_question(
        self, identity: str, entry: dict[str, Any], dropped: bool, item: str, verdict: str, fields: Mapping[str, str]
    ) -> None:
        metric, _, label = item.partition("/")
        require_known("metric", metric, METRICS)
        content = self._read_questions(identity, metric, dropped)
        both = [*content[QUESTIONS_KEY], *content[DROPPED]]
        at = next((n for n, q in enumerate(both) if q.get("question_id") == label), None)
        if at is None:
            raise CrevalError(f"{identity} has no question {item}.")
        is_gone = [n >= len(content[QUESTIONS_KEY]) for n in range(len(both))]
        both[at] = _edit_question(both[at], metric, fields)
        set_verdict(both[at], OPEN if verdict == GONE else verdict)
        both[at].pop(_ACCEPTED_FOR, None)
        if verdict == ACCEPTED and _ASKED_FOR in entry:
            both[at][_ACCEPTED_FOR] = _instruction_digest(entry)
        is_gone[at] = verdict == GONE
        content[QUESTIONS_KEY] = [q for q, out in zip(both, is_gone, strict=True) if not out]
        content[DROPPED] = [q for q, out in zip(both, is_gone, strict=True) if out]
        if not content[QUESTIONS_KEY]:
            raise CrevalError(f"the last {metric} question cannot be dropped. Drop the instruction instead.")
        content[QUESTIONS_KEY].sort(key=_question_order)
        if not content[DROPPED]:
            del content[DROPPED]
        write_json(self._path(identity, metric, dropped), content)


def _question_order(question: Mapping[str, Any]) -> tuple[int, str]:
    """Return the sort key of a question: the number in its id."""
    label = coerce_text(question.get("question_id"))
    return (int(label[1:]) if label[1:9].isdecimal() and len(label) < 9 else 10**9, label)


def _in_one_line(text: object) -> str:
    return " ".join(coerce_text(text).split())


def _instruction_digest(entry: Mapping[str, Any]) -> str:
    """Return a digest of an instruction's text."""
    words = _in_one_line(entry.get("input_prompt")).encode("utf-8", "replace")
    return hashlib.blake2b(words, digest_size=6).hexdigest()


def _edit_question(question: dict[str, Any], metric: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return a question with changed fields. Raises `CrevalError` if they are invalid."""
    current = coerce_text(question.get("question"))
    text = merge_user_text(fields.get("question", current), current)
    if not _in_one_line(text):
        raise CrevalError("a question cannot be empty. Drop it instead.")
    found = {**question, "question": text}
    if "answer" in fields:
        found["answer"] = require_known("answer", fields["answer"], _YES_NO)
    if "weight" in fields and metric == "VC":
        found["weight"] = int(require_known("weight", fields["weight"], _WEIGHTS))
    return found


def _facts_as_text(made: object) -> dict[str, str]:
    return {name: coerce_text(value) for name, value in made.items()} if isinstance(made, dict) else {}


def _instruction_item(entry: Mapping[str, Any], dropped: bool, notes: Sequence[str]) -> ReviewItem:
    fields = (
        ReviewField("instruction", coerce_text(entry.get("input_prompt"))),
        ReviewField("dimension", class_dimension(entry.get("class_id")), CLASS_DIMENSIONS),
    )
    verdict = GONE if dropped else read_verdict(entry)
    facts = _facts_as_text(entry.get("made"))
    if _ASKED_FOR in entry:
        facts["previous text"] = coerce_text(entry[_ASKED_FOR])
    return ReviewItem(_INSTRUCTION, _INSTRUCTION, fields, verdict, tuple(notes), facts)


def _question_item(metric: str, question: Mapping[str, Any], verdict: str, is_outdated: bool) -> ReviewItem:
    fields = [
        ReviewField("question", coerce_text(question.get("question"))),
        ReviewField("answer", coerce_text(question.get("answer")), _YES_NO),
    ]
    if metric == "VC":
        fields.append(ReviewField("weight", coerce_text(question.get("weight")), _WEIGHTS))
    facts = _facts_as_text(question.get("made"))
    flag = _FLAGS.get(facts.get("flag", ""))
    reason = coerce_text(question.get("thinking_process"))
    if reason:
        facts["reason"] = reason
    identity = f"{metric}/{coerce_text(question.get('question_id'))}"
    notes = [flag] if flag else []
    if is_outdated and verdict != GONE:
        notes.append("the instruction was changed afterwards")
    return ReviewItem(identity, "question", tuple(fields), verdict, tuple(notes), facts)
