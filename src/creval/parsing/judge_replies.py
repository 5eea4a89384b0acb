"""Parsing of a judge's reply into one verdict per question.

The rules:

1. A reply of more than `MAX_REPLY_CHARS` characters counts as truncated. The model's thinking (marked by tags) and a
   copy of the prompt are removed.
2. An answer is in JSON, or in a line such as `Q3: Yes` or `Answer: Yes`. If only one question was asked, it can also
   be the reply's first word. Text inside an explanation is never an answer.
3. A prompt's example is not an answer: answers with the explanation of an example are ignored.
4. A truncated reply or an object without an end contains no answers.
5. An answer is assigned to a question only if it cannot belong to another one.
6. Two different verdicts on a question make it ambiguous. The second verdict may be under another key, or in a
   sentence outside of JSON such as "On reflection, the answer is no." A sentence that retracts the answer has the
   same effect. Quotations do not count.

An unanswered question has a status that gives the reason, and is asked again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from creval.core.probe import Question
from creval.core.scales import EXAMPLE_EXPLANATION, AnswerScale, get_scale
from creval.core.stated_verdicts import takes_back
from creval.core.verdict import Verdict, VerdictStatus
from creval.parsing.answer_entries import (
    AnswerEntry,
    find_json_entries,
    find_line_entries,
    iter_labelled_lines,
    normalise_label,
    quoted_explanations,
)
from creval.parsing.labels import normalise_text
from creval.parsing.reply_text import MAX_REPLY_CHARS, strip_thinking

_MAX_ANSWER_CHARS = 400
_MAX_EXPLANATION_CHARS = 4000
_EXAMPLE_EXPLANATIONS = frozenset({EXAMPLE_EXPLANATION, "...", "…"})
_TAKEN_BACK = "(taken back)"


def parse_reply(
    text: str, questions: Sequence[Question], labels: Sequence[str] | None = None, *, prompt: str = ""
) -> list[Verdict]:
    """Return one verdict per question, in order. The request contained exactly these questions.

    `labels` are the labels of the questions in the request. The default is each question's own label, or Q1, Q2 ... for
    questions without one. `prompt` is the text that was sent. Never raises. The time is linear in the reply's length.

    Accepted formats:

    - fenced or bare JSON: several objects, an array, nested objects, or an object from labels to answers
    - JSON with wrong punctuation
    - lines such as `Q3: Yes`
    - only the answer, if one question was asked

    An answer without a label is assigned by the question's text, or by order if there are as many answers as questions.
    """
    if len(text) > MAX_REPLY_CHARS:
        return missing_verdicts(questions, f"the reply has more than {MAX_REPLY_CHARS:,} characters")
    text = strip_thinking(text)
    if (sent := prompt.strip()) and sent in text:
        text = text.replace(sent, "\n")
        if not text.strip():
            return missing_verdicts(questions, "the reply only repeats the prompt")
    found = find_json_entries(text)
    echoed = {_plain(words) for words in _EXAMPLE_EXPLANATIONS | quoted_explanations(prompt)}
    entries = [entry for entry in found.entries if _plain(entry.explanation) not in echoed]
    if found.entries and not entries:
        return missing_verdicts(questions, "the reply only repeats the example of the prompt")
    if not found.entries:
        entries = _entries_in_prose(found.prose, questions, bare=not found.has_json)
    own = [question.label or f"Q{n}" for n, question in enumerate(questions, 1)]
    keys = [normalise_label(label) for label in labels or own]
    # If other answers have labels, one without a label is not assigned by order, and may belong to any question.
    beside = [entry.answer for entry in entries if len(keys) > 1 and not (entry.number or entry.text)]
    if beside and any(entry.number for entry in entries):
        found = found._replace(corrections=found.corrections + "\n".join(a for a in beside if isinstance(a, str)))
    stated = _StatedVerdicts(f"{found.prose}\n{found.corrections}".strip(), keys)
    return [
        _build_verdict(question, given, stated.find(get_scale(question.scale), key))
        for question, key, given in zip(
            questions, keys, _assign_entries(entries, questions, keys, found.sound), strict=True
        )
    ]


def _plain(explanation: str) -> str:
    """Return an explanation without case, brackets and full stop, to compare it with those in the prompt's examples."""
    words = explanation.strip()
    return " ".join(words.casefold().strip("<>[]()*_. ").split()) or words


def missing_verdicts(questions: Sequence[Question], why: str) -> list[Verdict]:
    """Return a verdict with the status `missing` and the reason `why` for each question."""
    return [Verdict(question.id, VerdictStatus.MISSING, explanation=why) for question in questions]


def _entries_in_prose(prose: str, questions: Sequence[Question], *, bare: bool) -> list[AnswerEntry]:
    """Return the answers in lines.

    If `bare` and only one question was asked, the whole text can also be the answer.
    """
    entries = find_line_entries(prose, _answer_checker(questions))
    if len(questions) != 1 or not bare:
        return entries
    whole = [AnswerEntry(None, None, prose, prose)]
    if get_scale(questions[0].scale).parse_answer(prose)[0] in (VerdictStatus.ANSWERED, VerdictStatus.AMBIGUOUS):
        # A line `Answer: ...` that differs counts as a second answer.
        return whole + [entry for entry in entries if entry.number is None]
    return entries or whole


class _StatedVerdicts:
    """Verdicts in sentences outside of JSON. They do not count as answers, but they can contradict an answer."""

    def __init__(self, prose: str, keys: Sequence[str | None]) -> None:
        self._prose, self._keys = prose, set(keys)
        self._found: dict[str, list[tuple[str | None, str]]] = {}
        self._is_taken_back = takes_back(prose)

    def find(self, scale: AnswerScale, key: str | None) -> list[str]:
        """Return the verdicts on a question.

        These are verdicts in sentences or lines that name the question, or that do not name another asked question.
        """
        if not self._prose:
            return []
        if scale.name not in self._found:
            self._found[scale.name] = [
                (stated.question or label, stated.words)
                for label, line in iter_labelled_lines(self._prose)
                for stated in scale.find_stated(line)
            ]
        found = self._found[scale.name]
        words = [words for label, words in found if label == key or label not in self._keys]
        return [*words, _TAKEN_BACK] if self._is_taken_back else words


def _build_verdict(question: Question, entries: Sequence[AnswerEntry], stated: Sequence[str]) -> Verdict:
    if not entries:
        status = VerdictStatus.MISSING if question.text.strip() else VerdictStatus.UNASKABLE
        return Verdict(question.id, status)
    scale = get_scale(question.scale)
    answer = entries[0].answer
    status, value = scale.parse_answer(answer)
    said = answer if isinstance(answer, str) else json.dumps(answer)
    others = [other.answer for other in entries[1:] if scale.parse_answer(other.answer) != (status, value)]
    others += [words for words in stated if value is not None and scale.parse_answer(words)[1] != value]
    if others:
        status, value = VerdictStatus.AMBIGUOUS, None
        said = f"{said} | {others[0]}"
    if len(said) > _MAX_ANSWER_CHARS:
        said = said[: _MAX_ANSWER_CHARS - 1] + "…"
    return Verdict(question.id, status, value, said, entries[0].explanation[:_MAX_EXPLANATION_CHARS])


def _assign_entries(
    entries: Sequence[AnswerEntry], questions: Sequence[Question], keys: Sequence[str | None], sound: bool
) -> list[list[AnswerEntry]]:
    """Return, for each question, the entries that cannot belong to another question.

    An entry with only a label is assigned only if every label in the reply belongs to an asked question. Otherwise the
    model may have numbered differently (for example from zero), and the same label would mean another question.
    """
    numbers = [entry.number for entry in entries]
    bare = sound and not any(entry.number or entry.text for entry in entries)
    in_order = len(entries) == len(keys) and (bare or numbers == list(keys))
    labels_hold = {number for number in numbers if number} <= set(keys)
    given: list[list[AnswerEntry]] = [[] for _ in keys]
    texts = [normalise_text(question.text) for question in questions]
    by_text, by_key = _places(texts), _places(keys)
    for at, entry in enumerate(entries):
        wording = normalise_text(entry.text or "")
        quoted = by_text.get(wording, set()) if wording else set()
        named = by_key.get(entry.number, set()) if entry.number else set()
        if in_order:
            named = {at}
        elif len(keys) == 1 and not entry.number and not wording:
            named = {0}
        if named and quoted:
            # A question without text (some releases have them) contradicts no wording.
            named = {n for n in named if n in quoted or not texts[n]}
        elif quoted or len(named) > 1 or not labels_hold:
            named = quoted
        elif wording:
            named = {n for n in named if _is_similar_wording(entry.text or "", questions[n].text)}
        for n in named:
            given[n].append(entry)
    return given


def _places(names: Sequence[str | None]) -> dict[str | None, set[int]]:
    found: dict[str | None, set[int]] = {}
    for at, name in enumerate(names):
        found.setdefault(name, set()).add(at)
    return found


def _is_similar_wording(wording: str, text: str) -> bool:
    """Return whether the wording of a question in a reply may be a short form or paraphrase of the asked question."""
    said, asked = (set(_WORD.findall(words.casefold())) for words in (wording, text))
    return not asked or 2 * len(said & asked) >= min(len(said), len(asked))


_WORD = re.compile(r"\w+")


def _answer_checker(questions: Sequence[Question]) -> Callable[[str], bool]:
    """Return a function that checks whether a text is an answer on the scale of any of these questions."""
    contracts = [get_scale(name) for name in dict.fromkeys(q.scale for q in questions)]
    readable = (VerdictStatus.ANSWERED, VerdictStatus.INAPPLICABLE, VerdictStatus.AMBIGUOUS)
    return lambda text: any(contract.parse_answer(text)[0] in readable for contract in contracts)
