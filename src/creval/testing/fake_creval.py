"""What the rehearsal server writes when it is asked to: instructions and questions, by chance.

They come in the forms that real models use, and now and then with a slip. `WRITERS` is the list of
what it can write; a request is known by the wording that asks for its form.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from creval.benchmarks.creval.release import CLASSES, METRICS
from creval.parsing.instructions import Instruction, dimension_request, instruction_request
from creval.parsing.questions import Written, question_request

SLIPS = 0.12
"""The share of replies with a slip."""
_ASKED_AGAIN = "asked again"  # how a prompt says that it is put once more

_QUOTED = re.compile(r'"[^"\n]{1,100}"|“[^”\n]{1,100}”')

Write = Callable[[str, random.Random], str]


class Writer(NamedTuple):
    """Something that can be written: the wording by which a request for it is known, and how."""

    asks: str
    write: Write


class Form(NamedTuple):
    """A form in which models write questions; whether it tells their reasons too."""

    render: Callable[[Sequence[Written]], str]
    reasons: bool = False


def _entry(number: int, question: Written) -> dict[str, object]:
    entry: dict[str, object] = {"question_id": f"Q{number}"}
    if question.reason:
        entry["thinking_process"] = question.reason
    entry |= {"question": question.text, "choices": ["Yes", "No"], "answer": question.answer}
    return entry if question.weight is None else entry | {"weight": question.weight}


def _entries(questions: Sequence[Written]) -> list[dict[str, object]]:
    return [_entry(number, question) for number, question in enumerate(questions, 1)]


def _fenced(questions: Sequence[Written]) -> str:
    inside = json.dumps({"questions": _entries(questions)}, ensure_ascii=False, indent=2)
    return f"1. What changes? The subject.\n2. What else?\n\n```json\n{inside}\n```\nDone."


def _bare(questions: Sequence[Written]) -> str:
    return json.dumps(_entries(questions))


def _by_label(questions: Sequence[Written]) -> str:
    return json.dumps({f"Q{at}": entry for at, entry in enumerate(_entries(questions), 1)})


def _in_a_row(questions: Sequence[Written]) -> str:
    return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in _entries(questions))


def _with_slips(questions: Sequence[Written]) -> str:
    """JSON whose commas between lines were forgotten."""
    whole = json.dumps(_entries(questions), ensure_ascii=False, indent=2)
    return "Here you are:\n" + whole.replace(",\n", "\n")


def _field(name: str, value: object) -> str:
    return "" if value in (None, "") else f"{name}{value}"


def _number(weight: float | None) -> object:
    return None if weight is None else f"{weight:g}"


def _lines(questions: Sequence[Written], parts: Sequence[str], joined: str) -> str:
    """Questions in words; each part has a place for one thing, and goes where there is none."""
    blocks = []
    for number, question in enumerate(questions, 1):
        values = {
            "{n}": str(number),
            "{q}": question.text,
            "{a}": question.answer,
            "{w}": _number(question.weight),
            "{r}": question.reason,
        }
        kept = []
        for part in parts:
            place = next((at for at in ("{q}", "{a}", "{w}", "{r}") if at in part), "{n}")
            if values[place]:
                kept.append(part.replace("{n}", str(number)).replace(place, str(values[place])))
        blocks.append("".join(kept))
    return joined.join(blocks)


def _form(*parts: str, joined: str = "\n", before: str = "", after: str = "") -> Form:
    def render(questions: Sequence[Written]) -> str:
        return f"{before}{_lines(questions, parts, joined)}{after}"

    return Form(render, any("{r}" in part for part in parts))


def _table(questions: Sequence[Written]) -> str:
    rows = ["| # | Question | Answer | Weight |", "|---|:--|---|--:|"]
    for number, question in enumerate(questions, 1):
        text = question.text.replace("|", "\\|")
        rows.append(
            f"| {number} | {text} | {question.answer or ''} | {_number(question.weight) or ''} |"
        )
    return "These are the questions.\n\n" + "\n".join(rows) + "\n\nI hope that helps!"


FORMS: Mapping[str, Form] = {
    "fenced JSON": Form(_fenced, True),
    "bare JSON": Form(_bare, True),
    "JSON by label": Form(_by_label, True),
    "JSON in a row": Form(_in_a_row, True),
    "JSON without commas": Form(_with_slips, True),
    "bold": _form(
        "**Q{n}:** {q}", "\n**Answer:** {a}", "\n**Weight:** {w}", "\n*Reason:* {r}", joined="\n\n",
        before="**Instruction Following**\n\n", after="\n\nShall I write more of them?",
    ),
    "bold inside": _form("**Q{n}: {q}**", "\n- Answer: **{a}**", "\n- Weight: {w} points"),
    "numbered": _form(
        "{n}. {q}", " (Answer: {a})", " (Weight: {w})",
        before="Sure! What must be true of the edit?\n\n1. The subject changes.\n2. So does the "
        "ground.\n\nQuestions:\n",
    ),
    "numbered, below": _form("{n}) {q}", "\n   Reference answer: {a}.", "\n   Weight: {w}"),
    "bullets": _form("- {q}", " [{a}]", " (weight {w})"),
    "bullets with a dash": _form("* {q}", " — {a}", ", weight: {w}", before="Sure:\n\n"),
    "headings": _form(
        "### Question {n}", "\n\nReasoning: {r}", "\n\n{q}", "\n\n- Answer: {a}",
        "\n- Weight: {w}", joined="\n\n",
    ),
    "table": Form(_table),
    "Chinese": _form("问题{n}：{q}", "\n答案：{a}", "\n权重：{w}", "\n理由：{r}", joined="\n\n"),
    "full width": _form("Q{n}：{q}", "（Answer：{a}", "；Weight：{w}", "）"),
}  # fmt: skip

PARTS = ("head", "left side", "right side", "base", "backdrop", "outline", "lower edge",
         "largest object", "foreground", "top corner", "shadow", "centre")  # fmt: skip
_CHANGES = ("carved from green jade", "wrapped in silver foil", "covered in small round mirrors",
            "drawn with thick ink lines", "knitted from orange wool", "printed on a paper label",
            "folded like origami", "lit by a violet lamp", "set inside a glass bottle",
            "decorated with brass gears", "turned into a paper lantern")  # fmt: skip
_KEPT = ("in the same place", "of the same shape", "facing the same way", "in one piece",
         "as wide as it is tall", "darker than the sky", "half hidden", "in full view")  # fmt: skip
_FLAWS = ("blurred patches", "doubled contours", "noise", "torn seams", "melted edges",
          "floating fragments", "smeared texture", "colour bands")  # fmt: skip
_PATTERNS = {
    "IF": ("Is the {} now {}?", _CHANGES),
    "VC": ("Is the {} {}?", _KEPT),
    "VQ": ("Is the {} free of {}?", _FLAWS),
}
REFUSAL = "I'm sorry, but I can't help with this picture."


def _questions(metric: str, count: int, chance: random.Random) -> list[Written]:
    pattern, ends = _PATTERNS[metric]
    found = []
    for part, end in zip(chance.sample(PARTS, count), chance.sample(ends, count), strict=True):
        weight = chance.randint(1, 3) if metric == "VC" else 1
        reason = f"The {part} matters here."
        found.append(Written(pattern.format(part, end), "Yes", float(weight), reason))
    return found


def _slip(questions: list[Written], metric: str, chance: random.Random) -> list[Written]:
    """Spoil one of the questions."""
    at = chance.randrange(len(questions))
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
    questions[at] = spoilt[chance.choice(sorted(spoilt))]
    return questions


def _slips(text: str, chance: random.Random) -> bool:
    return chance.random() < (SLIPS / 4 if _ASKED_AGAIN in text else SLIPS)


def _write_questions(metric: str) -> Write:
    def write(text: str, chance: random.Random) -> str:
        questions = _questions(metric, chance.randint(6, 8), chance)
        form = FORMS[chance.choice(sorted(FORMS))]
        if _slips(text, chance):
            if chance.random() < 0.2:
                return REFUSAL
            few = chance.random() < 0.2
            questions = questions[:3] if few else _slip(questions, metric, chance)
        return form.render(questions)

    return write


def _told(chance: random.Random) -> Instruction:
    first, second, third, fourth = _changes(4, chance)
    text = (
        f"Rebuild the picture so that the {first[0]} is {first[1]}, the {second[0]} is {second[1]},"
        f" and the {third[0]} is {third[1]}; the {fourth[0]} becomes {fourth[1]}."
    )
    attributes = tuple(f"{what} {how}" for what, how in (first, second, third, fourth))
    return Instruction(text, chance.choice(CLASSES), attributes)


def _changes(count: int, chance: random.Random) -> list[tuple[str, str]]:
    return list(zip(chance.sample(PARTS, count), chance.sample(_CHANGES, count), strict=True))


def _rewritten(text: str, chance: random.Random) -> Instruction:
    """An instruction with the words that a request has in quotation marks."""
    changes = [f"the {what} is {how}" for what, how in _changes(chance.randint(2, 3), chance)]
    quoted = dict.fromkeys(_QUOTED.findall(text))
    signs = "".join(f", with the words {words}" for words in quoted)
    told = f"Do what was asked for so that {', '.join(changes)}{signs}."
    return Instruction(told, chance.choice(CLASSES), tuple(changes))


def _as_json(told: Instruction) -> str:
    return json.dumps(
        {"dimension": told.dimension, "attributes": told.attributes, "instruction": told.text},
        ensure_ascii=False,
    )


TOLD: Mapping[str, Callable[[Instruction], str]] = {
    "bare JSON": _as_json,
    "fenced JSON": lambda told: f"Here it is:\n\n```json\n{_as_json(told)}\n```",
    "bold": lambda told: (
        f"**Dimension:** {told.dimension}\n**Attributes:** {'; '.join(told.attributes)}\n\n"
        f"**Instruction:** {told.text}"
    ),
    "Chinese": lambda told: f"维度：{told.dimension}\n指令：{told.text}",
    "below": lambda told: f"Dimension: {told.dimension}\n\n### Instruction:\n\n“{told.text}”",
}
TOLD_ALONE: Mapping[str, Callable[[Instruction], str]] = {
    "plain": lambda told: told.text,
    "quoted": lambda told: (
        f'Certainly! Here is one:\n\n"{told.text}"\n\nIt asks for four things at once.'
    ),
    "bold alone": lambda told: f"Sure:\n\n**{told.text}**",
}


def _write_instruction(
    text: str, chance: random.Random, chosen: bool = False, added: bool = False
) -> str:
    asked, _, _ = text.partition(instruction_request(chosen, added))
    told = _rewritten(asked, chance) if added else _told(chance)
    forms = TOLD if chosen else {**TOLD, **TOLD_ALONE}
    render = forms[chance.choice(sorted(forms))]
    if not chosen:
        told = told._replace(dimension="Surreal Fantasy")
    if _slips(text, chance):
        slips = {
            "refusal": REFUSAL,
            "two": f"Instruction: {told.text}\n\nInstruction: {_told(chance).text}",
            "long": render(told._replace(text=" ".join(_told(chance).text for _ in range(3)))),
            "garbled": render(told._replace(text=told.text + " the" * 5)),
            "vague": render(told._replace(text=told.text[:-1] + ", or something like that.")),
        }
        return slips[chance.choice(sorted(slips))]
    return render(told)


def _choose(_: str, chance: random.Random) -> str:
    name = chance.choice(CLASSES)
    return chance.choice([name, json.dumps({"dimension": name}), f"This is **{name}**."])


WRITERS: list[Writer] = [
    *(
        Writer(
            instruction_request(chosen, added),
            partial(_write_instruction, chosen=chosen, added=added),
        )
        for chosen in (True, False)
        for added in (True, False)
    ),
    Writer(dimension_request(), _choose),
    *(Writer(question_request(metric), _write_questions(metric)) for metric in METRICS),
]


def write(text: str, chance: random.Random) -> str | None:
    """What is written to a request; none where it asks for no writing."""
    for writer in WRITERS:
        if writer.asks in text:
            return writer.write(text, chance)
    return None


def true_of_source(question: str) -> bool | None:
    """Whether a question that was written here is true of the picture before it is edited; none
    of others."""
    part = next((part for part in PARTS if question.startswith(f"Is the {part} ")), None)
    return None if part is None else " now " not in question
