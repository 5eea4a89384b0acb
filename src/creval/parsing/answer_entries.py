"""Extraction of answers from a reply's text in any format.

Models return JSON in many forms: nested, numbered, quoted or malformed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from creval.core.text_cache import cache_by_text
from creval.parsing.broken_json import complete_value, iter_fields
from creval.parsing.json_objects import (
    LENIENT_DECODER,
    MAX_DEPTH,
    BrokenObject,
    MultiDict,
    Prose,
    UnclosedObject,
    split_json,
)
from creval.parsing.labels import FieldAliases, labelled_lines

_MAX_LABEL_CHARS = 40


class AnswerEntry(NamedTuple):
    """One answer in a reply, with the number or text of its question if the reply has it."""

    number: str | None
    text: str | None
    answer: object
    explanation: str = ""
    is_correction: bool = False


class JsonAnswers(NamedTuple):
    """The JSON answers in a reply.

    - `entries`: the answers.
    - `has_json`: True if there is any JSON.
    - `sound`: True if all of the JSON is valid.
    - `prose`: the text outside of JSON.
    - `corrections`: corrections and other remarks inside the JSON, one per line.
    """

    entries: list[AnswerEntry]
    has_json: bool
    sound: bool
    prose: str
    corrections: str = ""


@cache_by_text(1 << 22)
def normalise_label(label: str) -> str | None:
    """Return a label's normal form: `Q3`, `Question 3`, `**Q03:**` and `3` all become `3`.

    >>> normalise_label("Question 3") == normalise_label("q03:") == "3"
    True
    """
    match = _LABEL.fullmatch(label) if len(label) <= _MAX_LABEL_CHARS else None
    return match[1] if match else label.strip().casefold() or None


_SENTENCE = re.compile(r"\w\s+\w")
_FENCE = re.compile(r"^\s*```[A-Za-z]*|```\s*$")
_LABEL = re.compile(r"[\W_]*(?:q(?:uestion)?[\s._#-]*)?0*([0-9]{1,4})\W*", re.IGNORECASE)
# A label before a question. A bare number needs punctuation after it.
_LABEL_PREFIX = re.compile(
    r"\W*(?:q(?:uestion)?[\s._#-]*0*(?=[0-9]{1,4}\b)|0*(?=[0-9]{1,4}\s*[:.)：、]))([0-9]{1,4})"
    r"[\W_]*(?<![<>≤≥≈~±.,–−-](?=[0-9]))(.*)",  # a sign belongs to the number after it
    re.IGNORECASE | re.DOTALL,
)


def _split_label(text: str) -> tuple[str | None, str]:
    match = _LABEL_PREFIX.match(text)
    return (match[1], match[2]) if match else (None, text)


_FIELDS = FieldAliases(
    answer="answer modelanswer finalanswer verdict correctedanswer revisedanswer updatedanswer",
    score="score rating finalscore",
    number="questionid id qid questionnumber number",
    question="question questiontext",
    explanation="explanation reason reasoning rationale thinkingprocess thinking thought thoughts analysis "
    "justification comment comments note notes observation observations evidence details",
    correction="correction corrections",
)


def find_json_entries(text: str) -> JsonAnswers:
    """Return the answers in the JSON of a text. Objects without an end contain no answers."""
    whole = _FENCE.sub("", text).strip()
    if whole.startswith("[") and "{" not in whole and (answers := _parse_answer_array(whole)):
        return JsonAnswers(answers, True, True, "")
    entries: list[AnswerEntry] = []
    prose: list[str] = []
    has_json = False
    sound = True
    for piece in split_json(text):
        if isinstance(piece, Prose):
            prose.append(piece)
            continue
        has_json = True
        sound = sound and not isinstance(piece, BrokenObject)
        if isinstance(piece, BrokenObject):
            entries += () if isinstance(piece, UnclosedObject) else _entries_in_broken_json(piece)
        else:
            _collect_entries(piece, None, 0, entries)
        prose.append("\n")
    corrections = [f"Q{e.number}: {e.answer}\n" if e.number else f"{e.answer}\n" for e in entries if e.is_correction]
    answers = [e for e in entries if not e.is_correction]
    return JsonAnswers(answers, has_json, sound, "".join(prose), "".join(corrections))


def _parse_answer_array(whole: str) -> list[AnswerEntry]:
    """Parse a reply that is an array of bare answers and nothing else."""
    try:
        values = json.loads(whole)
    except (ValueError, RecursionError):
        return []
    if not all(isinstance(value, str | bool | int) for value in values):
        return []
    return [AnswerEntry(None, None, value) for value in values]


def _collect_entries(value: Any, number: str | None, depth: int, into: list[AnswerEntry]) -> None:
    """Add the answers inside a JSON value to `into`; `number` is the label of the value."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            if type(item) in _CONTAINERS:
                _collect_entries(item, None, depth + 1, into)
        return
    layout, values = _read_layout(tuple(value)), list(value.values())
    wording: str | None = None
    if layout.question is not None:
        found, wording = _split_label(str(values[layout.question]))
        number = number or found
    if layout.number is not None:
        number = normalise_label(str(values[layout.number]))
    explanation = "" if layout.explanation is None else str(values[layout.explanation])
    if number is None and layout.answers and len(layout.labels) == 1:
        ((at, number),) = layout.labels.items()
        wording = str(values[at])
        if not _SENTENCE.search(wording):  # not a question, but a second answer
            into.append(AnswerEntry(number, None, wording))
            wording = None
    for at in layout.answers:
        if type(values[at]) not in _CONTAINERS:
            into.append(AnswerEntry(number, wording or None, values[at], explanation))
        elif type(values[at]) is list and not any(type(v) in _CONTAINERS for v in values[at]):
            # One list with the answers to all questions, in order.
            into += [AnswerEntry(None, None, answer, explanation) for answer in values[at]]
    for at in layout.corrections:
        _collect_corrections(values[at], number, depth, into)
    for at in layout.remarks:
        if type(values[at]) not in _CONTAINERS:
            into.append(AnswerEntry(number, None, values[at], is_correction=True))
    for at in layout.others:
        label, inner = layout.labels.get(at), values[at]
        if type(inner) in _CONTAINERS:
            _collect_entries(inner, label, depth + 1, into)
        elif label and not layout.answers:
            into.append(AnswerEntry(label, None, inner))


def _collect_corrections(value: Any, number: str | None, depth: int, into: list[AnswerEntry]) -> None:
    """Add each value inside a correction to `into`. A value's label is its key's, or else `number`."""
    if type(value) not in _CONTAINERS:
        into.append(AnswerEntry(number, None, value, is_correction=True))
    elif depth <= MAX_DEPTH:
        keys, values = ([""] * len(value), value) if isinstance(value, list) else (list(value), value.values())
        for key, inner in zip(keys, values, strict=True):
            label = normalise_label(key) or ""
            _collect_corrections(inner, label if label.isdigit() else number, depth + 1, into)


_CONTAINERS = frozenset({list, dict, MultiDict})
# A key that may contain a second verdict, such as `initial_answer` or `Q1_final`. It is not an answer, but can
# contradict one. Summaries are excluded, and so are references such as `correct_answer` in recorded answers.
_SECOND_VERDICT = re.compile(
    r"^(?!.*(?:average|mean|total|sum|correct(?!ed|ion)|right|expected|reference|truth|gold)).*?(?:answer|verdict|decision|conclu|judge?ment|final|revis|correct|amend|actual|result|score|rating)"
)


class _Layout(NamedTuple):
    """The roles of an object's keys, as indices of the keys.

    Layouts are cached, because the objects in replies have few different ones.
    """

    answers: tuple[int, ...]
    number: int | None
    question: int | None
    explanation: int | None
    corrections: tuple[int, ...]
    remarks: tuple[int, ...]
    labels: dict[int, str]
    others: tuple[int, ...]


def _may_hold_verdict(slot: str | None, key: str) -> bool:
    """Return whether a key may contain a second verdict in addition to the answer under another key."""
    named = slot is None and len(key) <= _MAX_LABEL_CHARS and _SECOND_VERDICT.search(key.casefold())
    return slot == "score" or bool(named)


@cache_by_text(1 << 22)
def _read_layout(keys: tuple[str, ...]) -> _Layout:
    slots = [_FIELDS.find(key) for key in keys]
    last = {slot: at for at, slot in enumerate(slots) if slot}
    # A score is the answer only if there is no other.
    kind = "answer" if "answer" in last else "score"
    answers = tuple(at for at, slot in enumerate(slots) if slot == kind)
    return _Layout(
        answers,
        last.get("number"),
        last.get("question"),
        next((at for at, slot in enumerate(slots) if slot == "explanation"), None),
        tuple(at for at, slot in enumerate(slots) if slot == "correction"),
        tuple(at for at, slot in enumerate(slots) if slot != kind and _may_hold_verdict(slot, keys[at])),
        {at: number for at, key in enumerate(keys) if (number := normalise_label(key) or "").isdigit()},
        tuple(at for at, slot in enumerate(slots) if slot in (None, "answer", "score")),
    )


def quoted_explanations(prompt: str) -> set[str]:
    """Return the explanations that a prompt contains in its example replies."""
    found = set()
    for field, value in iter_fields(prompt, _FIELDS.find):
        if field == "explanation":
            with suppress(ValueError, RecursionError):
                found.add(str(LENIENT_DECODER.raw_decode(value)[0]).strip())
    return found


def _entries_in_broken_json(broken: str) -> Iterator[AnswerEntry]:
    """Yield the answers in malformed JSON. A key with a question or its number starts a new entry."""
    fields = list(iter_fields(broken, _FIELDS.find))
    plain_score = all(field != "answer" for field, _ in fields)
    number: str | None = None
    wording: str | None = None
    explanation = ""
    for field, value in fields:
        words = value.strip(" \t\r\n,;\"'“”")
        if field == "answer" or (field == "score" and plain_score):
            if (answer := complete_value(value)) is not None:
                yield AnswerEntry(number, wording, answer, explanation)
        elif field == "explanation":
            explanation = words
        elif field == "number":
            number, wording, explanation = normalise_label(words), None, ""
        elif field == "question":
            found, wording = _split_label(words)
            number, explanation = found or number, ""


_ANSWER_LINE = re.compile(r"\W*(?:final\s+)?(answer)\W*?[:：]\s*(.+)", re.IGNORECASE)
_QUESTION_THEN_ANSWER = re.compile(r"(.*[?？])[\W_]*(.+)")


def find_line_entries(text: str, is_answer: Callable[[str], bool]) -> list[AnswerEntry]:
    """Return the answers in lines such as `Q3: Yes`, `3. No` and `Q3: Is it red? Yes`.

    A line `Answer: Yes` answers the question whose label is the most recent one above it.
    """
    entries: list[AnswerEntry] = []
    number: str | None = None
    wording: str | None = None
    for _, label, value in labelled_lines(
        text.splitlines(), str.casefold, _ANSWER_LINE, _LABEL_PREFIX, max_chars=sys.maxsize
    ):
        if label == "answer":
            entries.append(AnswerEntry(number, wording, value))
        elif label is not None:
            number, wording = label, None
            asked = _QUESTION_THEN_ANSWER.match(value)
            if is_answer(value):
                entries.append(AnswerEntry(number, None, value))
            elif asked and is_answer(asked[2]):
                entries.append(AnswerEntry(number, asked[1], asked[2]))
            else:
                wording = value or None
    return entries


def iter_labelled_lines(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield each line with the question number in the most recent label: its own, or one above it."""
    number: str | None = None
    for line in text.splitlines():
        number = _split_label(line)[0] or number
        yield number, line
