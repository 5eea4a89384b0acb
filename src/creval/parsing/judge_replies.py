"""Reading a judge's reply: which question got which answer.

What is read is read only where it can mean one thing; everything else stays unanswered, with a status that says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.core.verdict import Verdict, VerdictStatus
from creval.parsing.answer_entries import AnswerEntry, find_json_entries, find_line_entries, normalise_label
from creval.parsing.labels import normalise_text

_MAX_ANSWER_CHARS = 400
_MAX_EXPLANATION_CHARS = 4000


def parse_reply(text: str, questions: Sequence[Question], labels: Sequence[str] | None = None) -> list[Verdict]:
    """Return one verdict for each question, in their order, from the reply to all of them.

    `labels` are the names under which the questions were put, if not their own, or Q1, Q2 ... where they have none.
    Reads fenced or bare JSON: objects in a row, an array, objects inside objects, an object from label to answer; JSON
    with slips of punctuation; lines such as `Q3: Yes`; and, where one question was asked, the bare answer. An answer
    without a label goes by the question's text, or by order where there are as many answers as questions.
    """
    entries, sound = find_json_entries(text)
    if not entries:
        bare = len(questions) == 1 and get_scale(questions[0].scale).parse_answer(text)[0]
        entries = find_line_entries(text, _answer_checker(questions))
        if bare is VerdictStatus.ANSWERED:
            # `Answer: ...` in a line that says otherwise makes it two answers.
            lines = [entry for entry in entries if entry.number is None]
            entries = [AnswerEntry(None, None, text, text), *lines]
        # A sound object without an answer is not an answer off the scale.
        if bare and not entries and not (sound and "{" in text):
            entries = [AnswerEntry(None, None, text, text)]
    own = [question.label or f"Q{n}" for n, question in enumerate(questions, 1)]
    keys = [normalise_label(label) for label in labels or own]
    return [
        _build_verdict(question, given)
        for question, given in zip(questions, _assign_entries(entries, questions, keys, sound), strict=True)
    ]


def _build_verdict(question: Question, entries: Sequence[AnswerEntry]) -> Verdict:
    if not entries:
        status = VerdictStatus.MISSING if question.text.strip() else VerdictStatus.UNASKABLE
        return Verdict(question.id, status)
    contract = get_scale(question.scale)
    answer = entries[0].answer
    status, value = contract.parse_answer(answer)
    said = answer if isinstance(answer, str) else json.dumps(answer)
    for other in entries[1:]:
        if contract.parse_answer(other.answer) != (status, value):
            status, value = VerdictStatus.AMBIGUOUS, None
            said = f"{said} | {other.answer}"
            break
    if len(said) > _MAX_ANSWER_CHARS:
        said = said[: _MAX_ANSWER_CHARS - 1] + "…"
    return Verdict(question.id, status, value, said, entries[0].explanation[:_MAX_EXPLANATION_CHARS])


def _assign_entries(
    entries: Sequence[AnswerEntry], questions: Sequence[Question], keys: Sequence[str | None], sound: bool
) -> list[list[AnswerEntry]]:
    """Return for each question the entries that can only be meant for it.

    A label alone counts only where every label of the reply is one that was asked: a model that counts from zero means
    other questions by the same numbers.
    """
    numbers = [entry.number for entry in entries]
    bare = sound and not any(entry.number or entry.text for entry in entries)
    in_order = len(entries) == len(keys) and (bare or numbers == list(keys))
    labels_hold = {number for number in numbers if number} <= set(keys)
    given: list[list[AnswerEntry]] = [[] for _ in keys]
    texts = [normalise_text(question.text) for question in questions]
    for at, entry in enumerate(entries):
        wording = normalise_text(entry.text or "")
        quoted = {n for n, text in enumerate(texts) if wording and text == wording}
        named = {n for n, key in enumerate(keys) if entry.number and key == entry.number}
        if in_order:
            named = {at}
        elif len(keys) == 1 and not entry.number and not wording:
            named = {0}
        if named and quoted:
            # A question without words, which releases have, contradicts no wording.
            named = {n for n in named if n in quoted or not texts[n]}
        elif quoted or len(named) > 1 or not labels_hold:
            named = quoted
        elif wording:
            named = {n for n in named if _is_similar_wording(entry.text or "", questions[n].text)}
        for n in named:
            given[n].append(entry)
    return given


def _is_similar_wording(wording: str, text: str) -> bool:
    """Return whether a reply's wording can be a question's, shortened or put otherwise."""
    said, asked = (set(_WORD.findall(words.casefold())) for words in (wording, text))
    return not asked or 2 * len(said & asked) >= min(len(said), len(asked))


_WORD = re.compile(r"\w+")


def _answer_checker(questions: Sequence[Question]) -> Callable[[str], bool]:
    """Return a check whether a text is an answer on the scale of any of these questions."""
    contracts = [get_scale(name) for name in dict.fromkeys(q.scale for q in questions)]
    readable = (VerdictStatus.ANSWERED, VerdictStatus.INAPPLICABLE, VerdictStatus.AMBIGUOUS)
    return lambda text: any(contract.parse_answer(text)[0] in readable for contract in contracts)
