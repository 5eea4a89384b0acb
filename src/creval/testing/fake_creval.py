"""Replies of the fake server to the CREval builder: random instructions and questions in realistic formats.

Some replies are faulty. `CREVAL_WRITERS` maps a part of a request's wording to the function that writes the reply.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS
from creval.parsing.written_instructions import WrittenInstruction, dimension_reply_format, instruction_reply_format
from creval.parsing.written_questions import WrittenQuestion, question_reply_format

SLIP_RATE = 0.12
"""Share of faulty replies."""
_RETRY_MARKER = "asked again"  # text in the prompt of a retry

_QUOTED = re.compile(r'"[^"\n]{1,100}"|“[^”\n]{1,100}”')

ReplyWriter = Callable[[str, random.Random], str]


class QuestionFormat(NamedTuple):
    """A format in which models write questions. `has_reasons`: the format includes a reason for each question."""

    render: Callable[[Sequence[WrittenQuestion]], str]
    has_reasons: bool = False


def _entries(questions: Sequence[WrittenQuestion]) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"Q{number}",
            **({"thinking_process": reason} if reason else {}),
            "question": text,
            "choices": ["Yes", "No"],
            "answer": answer,
            **({} if weight is None else {"weight": weight}),
        }
        for number, (text, answer, weight, reason) in enumerate(questions, 1)
    ]


def _as_fenced_json(questions: Sequence[WrittenQuestion]) -> str:
    inside = json.dumps({"questions": _entries(questions)}, ensure_ascii=False, indent=2)
    return f"1. What changes? The subject.\n2. What else?\n\n```json\n{inside}\n```\nDone."


def _as_json_lines(questions: Sequence[WrittenQuestion]) -> str:
    return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in _entries(questions))


def _as_json_without_commas(questions: Sequence[WrittenQuestion]) -> str:
    """Render questions as JSON without commas between lines."""
    whole = json.dumps(_entries(questions), ensure_ascii=False, indent=2)
    return "Here you are:\n" + whole.replace(",\n", "\n")


def _format_weight(weight: float | None) -> str:
    return "" if weight is None else f"{weight:g}"


def _format_question(number: int, question: WrittenQuestion, parts: Sequence[str]) -> str:
    """Render a question from parts, each of which contains one placeholder.

    A part whose placeholder has no value is left out.
    """
    weight = _format_weight(question.weight)
    values = {"{q}": question.text, "{a}": question.answer, "{w}": weight, "{r}": question.reason}
    filled_parts = []
    for part in parts:
        place = next((at for at in values if at in part), None)
        if place is None or values[place]:
            filled = part.replace("{n}", str(number))
            filled_parts.append(filled if place is None else filled.replace(place, str(values[place])))
    return "".join(filled_parts)


def _text_format(*parts: str, joined: str = "\n", before: str = "", after: str = "") -> QuestionFormat:
    def render(questions: Sequence[WrittenQuestion]) -> str:
        return before + joined.join(_format_question(at, one, parts) for at, one in enumerate(questions, 1)) + after

    return QuestionFormat(render, any("{r}" in part for part in parts))


def _table(questions: Sequence[WrittenQuestion]) -> str:
    rows = ["| # | Question | Answer | Weight |", "|---|:--|---|--:|"]
    for number, question in enumerate(questions, 1):
        text = question.text.replace("|", "\\|")
        rows.append(f"| {number} | {text} | {question.answer or ''} | {_format_weight(question.weight)} |")
    return "These are the questions.\n\n" + "\n".join(rows) + "\n\nI hope that helps!"


QUESTION_FORMATS: Mapping[str, QuestionFormat] = {
    "fenced JSON": QuestionFormat(_as_fenced_json, True),
    "bare JSON": QuestionFormat(lambda questions: json.dumps(_entries(questions)), True),
    "JSON by label": QuestionFormat(
        lambda questions: json.dumps({entry["question_id"]: entry for entry in _entries(questions)}), True
    ),
    "JSON in a row": QuestionFormat(_as_json_lines, True),
    "JSON without commas": QuestionFormat(_as_json_without_commas, True),
    "bold": _text_format(
        "**Q{n}:** {q}",
        "\n**Answer:** {a}",
        "\n**Weight:** {w}",
        "\n*Reason:* {r}",
        joined="\n\n",
        before="**Instruction Following**\n\n",
        after="\n\nShall I write more of them?",
    ),
    "bold inside": _text_format("**Q{n}: {q}**", "\n- Answer: **{a}**", "\n- Weight: {w} points"),
    "numbered": _text_format(
        "{n}. {q}",
        " (Answer: {a})",
        " (Weight: {w})",
        before="Sure! What must be true of the edit?\n\n1. The subject changes.\n2. So does the "
        "ground.\n\nQuestions:\n",
    ),
    "numbered, below": _text_format("{n}) {q}", "\n   Reference answer: {a}.", "\n   Weight: {w}"),
    "bullets": _text_format("- {q}", " [{a}]", " (weight {w})"),
    "bullets with a dash": _text_format("* {q}", " — {a}", ", weight: {w}", before="Sure:\n\n"),
    "headings": _text_format(
        "### Question {n}", "\n\nReasoning: {r}", "\n\n{q}", "\n\n- Answer: {a}", "\n- Weight: {w}", joined="\n\n"
    ),
    "table": QuestionFormat(_table),
    "Chinese": _text_format("问题{n}：{q}", "\n答案：{a}", "\n权重：{w}", "\n理由：{r}", joined="\n\n"),
    "full width": _text_format("Q{n}：{q}", "（Answer：{a}", "；Weight：{w}", "）"),
}

PARTS = (
    "head",
    "left side",
    "right side",
    "base",
    "backdrop",
    "outline",
    "lower edge",
    "largest object",
    "foreground",
    "top corner",
    "shadow",
    "centre",
)
_CHANGES = (
    "carved from green jade",
    "wrapped in silver foil",
    "covered in small round mirrors",
    "drawn with thick ink lines",
    "knitted from orange wool",
    "printed on a paper label",
    "folded like origami",
    "lit by a violet lamp",
    "set inside a glass bottle",
    "decorated with brass gears",
    "turned into a paper lantern",
)
_KEPT = (
    "in the same place",
    "of the same shape",
    "facing the same way",
    "in one piece",
    "as wide as it is tall",
    "darker than the sky",
    "half hidden",
    "in full view",
)
_FLAWS = (
    "blurred patches",
    "doubled contours",
    "noise",
    "torn seams",
    "melted edges",
    "floating fragments",
    "smeared texture",
    "colour bands",
)
_PATTERNS = {
    "IF": ("Is the {} now {}?", _CHANGES),
    "VC": ("Is the {} {}?", _KEPT),
    "VQ": ("Is the {} free of {}?", _FLAWS),
}
REFUSAL = "I'm sorry, but I can't help with this picture."


def _questions(metric: str, count: int, rng: random.Random) -> list[WrittenQuestion]:
    pattern, ends = _PATTERNS[metric]
    found = []
    for part, end in zip(rng.sample(PARTS, count), rng.sample(ends, count), strict=True):
        weight = rng.randint(1, 3) if metric == "VC" else 1
        reason = f"The {part} matters here."
        found.append(WrittenQuestion(pattern.format(part, end), "Yes", float(weight), reason))
    return found


def _spoil_question(questions: list[WrittenQuestion], metric: str, rng: random.Random) -> list[WrittenQuestion]:
    """Replace one random question by a faulty one, such as a garbled question or a duplicate."""
    at = rng.randrange(len(questions))
    asked = questions[at]
    spoilt = {
        "garbled": asked._replace(text=asked.text.replace("the ", "the \ufffd\ufffd ")),
        "mojibake": asked._replace(text=asked.text.replace("the ", "the â€œ ")),
        "two facts": asked._replace(text=asked.text[:-1] + " and is the sky red?"),
        "no answer": asked._replace(answer=None),
        "another answer": asked._replace(answer="It depends on the picture"),
        "duplicate": questions[at - 1],
    }
    if metric == "VC":
        spoilt |= {"no weight": asked._replace(weight=None), "heavy": asked._replace(weight=9.0)}
    questions[at] = spoilt[rng.choice(sorted(spoilt))]
    return questions


def _has_slip(text: str, rng: random.Random) -> bool:
    return rng.random() < (SLIP_RATE / 4 if _RETRY_MARKER in text else SLIP_RATE)


def _write_questions(metric: str) -> ReplyWriter:
    def write(text: str, chance: random.Random) -> str:
        questions = _questions(metric, chance.randint(6, 8), chance)
        form = QUESTION_FORMATS[chance.choice(sorted(QUESTION_FORMATS))]
        if _has_slip(text, chance):
            if chance.random() < 0.2:
                return REFUSAL
            few = chance.random() < 0.2
            questions = questions[:3] if few else _spoil_question(questions, metric, chance)
        return form.render(questions)

    return write


def _random_instruction(rng: random.Random) -> WrittenInstruction:
    first, second, third, fourth = _random_changes(4, rng)
    text = (
        f"Rebuild the picture so that the {first[0]} is {first[1]}, the {second[0]} is {second[1]},"
        f" and the {third[0]} is {third[1]}; the {fourth[0]} becomes {fourth[1]}."
    )
    attributes = tuple(f"{what} {how}" for what, how in (first, second, third, fourth))
    return WrittenInstruction(text, rng.choice(CLASS_DIMENSIONS), attributes)


def _random_changes(count: int, rng: random.Random) -> list[tuple[str, str]]:
    return list(zip(rng.sample(PARTS, count), rng.sample(_CHANGES, count), strict=True))


def _rewrite_instruction(text: str, rng: random.Random) -> WrittenInstruction:
    """Return an instruction that contains all quoted words of the request."""
    changes = [f"the {what} is {how}" for what, how in _random_changes(rng.randint(2, 3), rng)]
    quoted = dict.fromkeys(_QUOTED.findall(text))
    signs = "".join(f", with the words {words}" for words in quoted)
    told = f"Do what was asked for so that {', '.join(changes)}{signs}."
    return WrittenInstruction(told, rng.choice(CLASS_DIMENSIONS), tuple(changes))


def _as_json(told: WrittenInstruction) -> str:
    return json.dumps(
        {"dimension": told.dimension, "attributes": told.attributes, "instruction": told.text}, ensure_ascii=False
    )


INSTRUCTION_FORMATS: Mapping[str, Callable[[WrittenInstruction], str]] = {
    "bare JSON": _as_json,
    "fenced JSON": lambda told: f"Here it is:\n\n```json\n{_as_json(told)}\n```",
    "bold": lambda told: (
        f"**Dimension:** {told.dimension}\n**Attributes:** {'; '.join(told.attributes)}\n\n**Instruction:** {told.text}"
    ),
    "Chinese": lambda told: f"维度：{told.dimension}\n指令：{told.text}",
    "below": lambda told: f"Dimension: {told.dimension}\n\n### Instruction:\n\n“{told.text}”",
}
BARE_INSTRUCTION_FORMATS: Mapping[str, Callable[[WrittenInstruction], str]] = {
    "plain": lambda told: told.text,
    "quoted": lambda told: f'Certainly! Here is one:\n\n"{told.text}"\n\nIt asks for four things at once.',
    "bold alone": lambda told: f"Sure:\n\n**{told.text}**",
}


def _write_instruction(text: str, rng: random.Random, chosen: Sequence[str] = (), added: bool = False) -> str:
    asked, _, _ = text.partition(instruction_reply_format(chosen, added))
    told = _rewrite_instruction(asked, rng) if added else _random_instruction(rng)
    forms = INSTRUCTION_FORMATS if chosen else {**INSTRUCTION_FORMATS, **BARE_INSTRUCTION_FORMATS}
    render = forms[rng.choice(sorted(forms))]
    if not chosen:
        told = told._replace(dimension="Surreal Fantasy")
    if _has_slip(text, rng):
        slips = {
            "refusal": REFUSAL,
            "two": f"Instruction: {told.text}\n\nInstruction: {_random_instruction(rng).text}",
            "long": render(told._replace(text=" ".join(_random_instruction(rng).text for _ in range(3)))),
            "garbled": render(told._replace(text=told.text + " the" * 5)),
            "vague": render(told._replace(text=told.text[:-1] + ", or something like that.")),
        }
        return slips[rng.choice(sorted(slips))]
    return render(told)


def _write_dimension(_: str, rng: random.Random) -> str:
    name = rng.choice(CLASS_DIMENSIONS)
    return rng.choice([name, json.dumps({"dimension": name}), f"This is **{name}**."])


CREVAL_WRITERS: dict[str, ReplyWriter] = {
    instruction_reply_format(chosen, added): partial(_write_instruction, chosen=chosen, added=added)
    for chosen in (CLASS_DIMENSIONS, ())
    for added in (True, False)
}
CREVAL_WRITERS[dimension_reply_format(CLASS_DIMENSIONS)] = _write_dimension
CREVAL_WRITERS |= {question_reply_format(metric): _write_questions(metric) for metric in METRICS}


def is_true_of_source(question: str) -> bool | None:
    """Return whether the answer to a question is yes for the source image.

    Returns None if the question was not written by this module.
    """
    part = next((part for part in PARTS if question.startswith(f"Is the {part} ")), None)
    return None if part is None else " now " not in question
