"""Wording that asks a model to write questions, and parsing of the reply in any format.

Nothing is guessed, and ambiguous text is skipped. The wording and the parser are in the same module, so that they stay
consistent.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from creval.core.scales import get_scale
from creval.parsing.json_objects import LENIENT_DECODER, MAX_DEPTH, iter_json_objects
from creval.parsing.labels import MARKUP, MAX_TEXT_CHARS, FieldAliases, labelled_lines, strip_markup
from creval.parsing.reply_format import TEXT, ReplyFormat, choice_schema, list_schema, object_schema

_YES_NO = get_scale("yes/no")


class WrittenQuestion(NamedTuple):
    """A question that a model wrote. `answer` is Yes, No, or the model's text if it is neither."""

    text: str
    answer: str | None = None
    weight: float | None = None
    reason: str = ""


def question_reply_format(metric: str) -> ReplyFormat:
    """Return the reply format that asks for questions for a metric."""
    weight = "its weight, 1, 2 or 3" if metric == "VC" else "the weight 1"
    entry = {"reason": "...", "question": "...?", "answer": "Yes", "weight": 1}
    example = json.dumps({"metric": metric, "questions": [entry]})
    schema = list_schema(
        reason=TEXT,
        question=TEXT,
        answer=choice_schema(("Yes", "No")),
        weight={"type": "integer", "enum": [1, 2, 3] if metric == "VC" else [1]},
    )
    text = (
        "Think first, in as many words as you need. Then close with one JSON object that holds "
        f"every question, in this form:\n{example}\nEach has the reason for it in a sentence, the "
        "question itself, the answer that a faultless edit would get (Yes or No, nothing else), "
        f"and {weight}."
    )
    return ReplyFormat(text, object_schema(thinking=TEXT, questions=schema))


WRITTEN_FIELDS = FieldAliases(
    question="question questiontext q 问题 提问",
    answer="answer referenceanswer reference expectedanswer correctanswer expected idealanswer "
    "答案 参考答案 标准答案 回答",
    weight="weight importance points 权重 分值",
    reason="reason reasoning rationale explanation thinkingprocess thinking thought why 理由 思考过程 思考",
    choices="choices options 选项",
    instruction="instruction editinstruction editinginstruction finalinstruction rewritteninstruction newinstruction "
    "inputprompt 指令 编辑指令",
    dimension="dimension creativedimension 维度",
    attributes="attributes attribute 属性",
)
_CHINESE_YES_NO = {"是": "Yes", "是的": "Yes", "对": "Yes", "否": "No", "不是": "No", "不": "No"}
_LABEL = re.compile(r"\W*(?:q(?:uestion)?|问题|题)[\s._#-]*[0-9]{1,3}\s*[.:：、)）]+\s*", re.I)
_WEIGHT = re.compile(
    r"([0-9]{1,3}(?:\.[0-9]{1,3})?)(?:\s{0,9}(?:/\s{0,9}3|points?|分))?(?:\s{0,9}[(（][^0-9]{0,200})?", re.I
)


def parse_questions(text: str) -> list[WrittenQuestion]:
    """Return the questions in a reply, in order.

    Accepted formats, also with Chinese punctuation:

    - fenced or bare JSON: one object, a list, or several objects
    - Markdown tables
    - lines such as `**Q1:** ...`, `1. ...` and `- ...`, with answer and weight after the question or in lines below it
    """
    found = [question for value in iter_json_objects(text) for question in _iter_questions(value, 0)]
    return found or _table_questions(text) or _line_questions(text)


def _iter_questions(value: Any, depth: int) -> Iterator[WrittenQuestion]:
    """Yield the questions inside a JSON value."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _iter_questions(inner, depth + 1)
    elif isinstance(value, dict):
        fields = WRITTEN_FIELDS.select(value)
        labelled = [inner for key, inner in value.items() if _LABEL.fullmatch(f"{key}:")]
        if isinstance(fields.get("question"), str):
            yield from _question_from_fields(fields["question"], fields)
        elif "answer" in fields and len(labelled) == 1 and isinstance(labelled[0], str):
            yield from _question_from_fields(labelled[0], fields)
        else:
            for key, inner in value.items():
                if isinstance(inner, str | bool) and key.rstrip().endswith(("?", "？")):
                    yield from _question_from_fields(key, {"answer": inner})
                else:
                    yield from _iter_questions(inner, depth + 1)


def _question_from_fields(text: str, fields: Mapping[str, Any]) -> Iterator[WrittenQuestion]:
    words = strip_markup(text[label.end() :] if (label := _LABEL.match(text)) else text)[:MAX_TEXT_CHARS]
    if words:
        reason = fields.get("reason")
        yield WrittenQuestion(
            words,
            _parse_answer(fields.get("answer")),
            _parse_weight(fields.get("weight")),
            strip_markup(reason)[:MAX_TEXT_CHARS] if isinstance(reason, str) else "",
        )


def _parse_answer(value: object) -> str | None:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if not isinstance(value, str):
        return None if value is None else str(value)[:MAX_TEXT_CHARS]
    said = value.strip(MARKUP + ",;.，。；[](){}（）【】|").strip()
    return _CHINESE_YES_NO.get(said) or _YES_NO.normalise_reference(said) or said[:MAX_TEXT_CHARS] or None


def _parse_weight(value: object) -> float | None:
    if isinstance(value, str):
        match = _WEIGHT.fullmatch(value.strip(MARKUP + ",;.，。；[](){}（）【】|"))
        return float(match[1]) if match else None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6:
        return float(value)
    return None


_CELL_BORDER = re.compile(r"(?<!\\)\|")
_TABLE_RULE = re.compile(r"[\s|:-]+")


def _table_questions(text: str) -> list[WrittenQuestion]:
    """Parse questions in the rows of Markdown tables with a question column."""
    found: list[WrittenQuestion] = []
    columns: list[str | None] = []
    for line in text.splitlines():
        row = line.strip()
        if not row.startswith("|"):
            columns = []
            continue
        cells = [cell.replace("\\|", "|").strip() for cell in _CELL_BORDER.split(row.strip("|"))]
        if not columns:
            columns = [WRITTEN_FIELDS.find(cell) for cell in cells]
        elif not _TABLE_RULE.fullmatch(row):
            fields = {slot: cell for slot, cell in zip(columns, cells, strict=False) if slot and cell}
            found += _question_from_fields(fields.get("question", ""), fields)
    return found


_NUMBERED_QUESTION = re.compile(
    r"[\s>#*_`+•·–-]*[(\[【（]?(?:(?:q(?:uestion)?|问题|题)[\s._#-]*[0-9]{1,3}|"
    r"[0-9]{1,3}(?=[\s*_]{0,20}[.:：、)）\]】]))[\s*_`]*[.:：、)）\]】]*[\s*_`]*(.*)",
    re.IGNORECASE,
)
# `Question 1 (Weight: 3):`, `A1. Yes`, and the choices after a question.
_LABEL_REMARK = re.compile(r"[^:：(（]{0,20}[(（]\s{0,9}([^()（）]{1,40})[)）][\s*_]*[:：]")
_ANSWER_LINE = re.compile(r"[\W_]*A[0-9]{1,3}\s*[.:：)]\s*(.+)")
_CHOICES = re.compile(r"(?:[(\[（]\s{0,9})?\b(?:yes\s{0,9}/\s{0,9}no|yes or no)\b(?:\s{0,9}[)\]）])?", re.IGNORECASE)
_BULLET = re.compile(r"\s*[-•*+·–]\s+(.*)")
_TAIL_SEPARATOR = re.compile(r"[,;，；|()（）\[\]【】—–→-]+|\s{2,}|(?<=yes)\s+(?=w)|(?<=no)\s+(?=w)", re.I)
_TAIL_PART = re.compile(r"(?:([^\W\d_]+(?: [^\W\d_]+)?)[\s*_]{0,20}[:：=]?\s*)?(.*)")


@dataclass
class _QuestionDraft:
    """A question that is being parsed from lines. `unlabelled`: its line had no label."""

    text: str
    answer: str | None
    weight: float | None
    unlabelled: bool
    reason: str = ""

    def set_field(self, slot: str, value: str) -> None:
        if slot == "answer":
            said = _parse_answer(value)
            both = self.answer is not None and said != self.answer
            self.answer = f"{self.answer} | {said}" if both else said
        elif slot == "weight" and self.weight is None:
            self.weight = _parse_weight(value)


_JSON_LINE = re.compile(r'\s*"(\w{1,40})"\s*:\s*("(?:[^"\\]|\\.)*")\s*(?:,\s*)?')


def _json_line_as_text(line: str) -> str:
    """Return a line of malformed JSON with a complete field as `key: value`. Return other lines unchanged."""
    match = _JSON_LINE.fullmatch(line)
    if match is None:
        return line
    try:
        return f"{match[1]}: {' '.join(LENIENT_DECODER.decode(match[2]).split())}"
    except ValueError:
        return line


def _line_questions(text: str) -> list[WrittenQuestion]:
    """Parse questions in lines. A question without a label counts only with an answer."""
    drafts: list[_QuestionDraft] = []
    current: _QuestionDraft | None = None
    waiting, before, reason, listing = False, False, "", False
    for line, slot, value in labelled_lines(map(_json_line_as_text, text.splitlines()), WRITTEN_FIELDS.find):
        if slot == "choices" or (listing and slot is None):  # Yes and No, as a list
            listing = "]" not in line and (listing or "[" in line)
            continue
        listing = False
        if slot == "reason":
            before = before or not drafts
            words = strip_markup(value.strip(MARKUP + ","))[:MAX_TEXT_CHARS]
            if current is not None and not before:
                current.reason = words
            else:
                reason = words
            continue
        if slot in ("answer", "weight"):
            if current is not None:
                current.set_field(slot, value)
            continue
        said = _ANSWER_LINE.match(line)
        if said and current is not None and _parse_answer(said[1]) in ("Yes", "No"):
            current.set_field("answer", said[1])
            continue
        begin = _NUMBERED_QUESTION.match(line)
        bullet = None if begin else _BULLET.match(line)
        rest = begin[1] if begin else bullet[1] if bullet else line
        inner = next(labelled_lines([rest], WRITTEN_FIELDS.find, max_chars=sys.maxsize)) if begin or bullet else None
        if inner and inner.field == "question":
            rest, slot = inner.value, "question"
        elif slot == "question":
            rest = value
        labelled = bool(begin) or waiting or slot == "question"
        split = _split_question(rest)
        if split is not None:
            current = _QuestionDraft(*split, unlabelled=not labelled)
            remark = _LABEL_REMARK.match(line) if labelled else None
            if remark and (noted := _parse_tail(remark[1])) and current.weight is None:
                current.weight = noted[1]
            if before:
                current.reason, reason = reason, ""
            drafts.append(current)
            waiting = False
        elif begin or slot == "question":
            current, waiting = None, not rest.strip(MARKUP)
        elif current is not None and current.answer is None and (tail := _parse_tail(line)) is not None:
            current.answer, weight = tail
            current.weight = current.weight if weight is None else weight
    return [
        WrittenQuestion(draft.text, draft.answer, draft.weight, draft.reason)
        for draft in drafts
        if draft.answer is not None or not draft.unlabelled
    ]


def _split_question(line: str) -> tuple[str, str | None, float | None] | None:
    """Split a line into a question, its answer and its weight. None if other text follows the question."""
    end = max(line.rfind("?"), line.rfind("？"))
    if end < 1 or end > MAX_TEXT_CHARS:
        return None
    tail = _parse_tail(line[end + 1 :])
    text = strip_markup(line[: end + 1].lstrip(MARKUP))[:MAX_TEXT_CHARS]
    return None if tail is None or len(text) < 2 else (text, *tail)


def _parse_tail(text: str) -> tuple[str | None, float | None] | None:
    """Return the answer and the weight in the text after a question. None if it contains anything else."""
    if len(text) > 200:
        return None
    answer: str | None = None
    weight: float | None = None
    bare: float | None = None
    for part in _TAIL_SEPARATOR.split(_CHOICES.sub("", text)):
        words = (part or "").strip(MARKUP + ".,。:：")
        if not words:
            continue
        match = _TAIL_PART.fullmatch(words)
        slot = WRITTEN_FIELDS.find(match[1]) if match and match[1] else None
        value = match[2] if match and slot else words
        said = _parse_answer(value)
        if said in ("Yes", "No") and slot in (None, "answer") and answer in (None, said):
            answer = said
        elif slot in (None, "weight") and _parse_weight(value) is not None and weight is None:
            weight, bare = (_parse_weight(value), bare) if slot else (weight, _parse_weight(value))
        else:
            return None
    if bare is not None and (answer is None or weight is not None):
        return None
    return answer, weight if bare is None else bare
