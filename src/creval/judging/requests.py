"""One call to a judge: how it is put, what it may take, and what its reply says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from creval.core.edit import Edit
from creval.core.images import Encoded
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.scales import contract_named
from creval.core.verdict import Status, Verdict
from creval.judges.base import Request, without_thoughts
from creval.judging.plan import Item
from creval.parsing.answers import read_reply
from creval.prompts import Prompt
from creval.providers.openai_wire import Choice, Position

"""Tokens that a model spends on one answer in each form, as a guess before it is known."""

_LONGEST_REASON = 300
_ANSWER = '"answer"'
_NO_LOGPROBS = "no log-probabilities came with the answer"


class Look(NamedTuple):
    """An edit ready to be asked about: its pictures by what they show."""

    item: Item
    pictures: Mapping[str, tuple[Encoded, ...]]

    def shown(self, names: Iterable[str]) -> list[Encoded]:
        return [picture for name in names for picture in self.pictures.get(name, ())]


class Call(NamedTuple):
    """One request: questions about an edit, in these repeats; `tries` that came before."""

    look: Look
    questions: tuple[Question, ...]
    repeats: tuple[int, ...]
    tries: int = 0


def paths_of(sample: Sample, edit: Edit, name: str) -> list[Path]:
    """The files behind what a question shows; texts have none."""
    single = {"source": sample.source, "edit": edit.image, "mask": sample.mask}
    if name in single:
        path = single[name]
        return [path] if path is not None else []
    return list(sample.references) if name == "references" else []


_NAMES = {
    "source": "the source image, as it was before the edit",
    "edit": "the edited image",
    "mask": "the mask: white is the region that was to be edited",
    "references": "a reference image that the edit was to follow",
}


def make_request(call: Call, prompts: Mapping[str, Prompt]) -> Request:
    """The pictures and the text of a call."""
    sample, questions = call.look.item.sample, call.questions
    contract = contract_named(questions[0].contract)
    labels = _labels(len(questions))
    names = [name for name in questions[0].shows for _ in call.look.pictures.get(name, ())]
    images = [f"Image {at} is {_NAMES[name]}." for at, name in enumerate(names, 1)]
    shows_instruction = "instruction" in questions[0].shows
    text = prompts[questions[0].prompt].fill(
        images=" ".join(images),
        instruction=sample.instruction.strip() if shows_instruction else "",
        questions="\n".join(
            f"{label}: {' '.join(question.text.split())}"
            for label, question in zip(labels, questions, strict=True)
        ),
        rubric=questions[0].rubric,
        format=_format(contract.name, questions[0].form, len(labels)),
    )
    pictures = call.look.shown(questions[0].shows)
    words = [question.text for question in questions]
    form = questions[0].form
    return Request(pictures, text, contract, labels, call.repeats, form, words, names)


@lru_cache(maxsize=256)
def _format(scale: str, form: str, count: int) -> str:
    contract = contract_named(scale)
    if form == "bare":
        return contract.bare_request()
    return contract.request(_labels(count), reasoned=form == "reasoned")


@lru_cache(maxsize=256)
def _labels(count: int) -> tuple[str, ...]:
    return tuple(f"Q{number}" for number in range(1, count + 1))


def verdicts_of(
    choice: Choice, request: Request, questions: Sequence[Question], *, weighed: bool = False
) -> list[Verdict]:
    """What a choice says about each question, and why where it says nothing.

    `weighed` takes the probabilities of the answer's token in the place of the answer.
    """
    if choice.ended == "refusal":
        why = f"the judge declined: {choice.text}" if choice.text else "a filter declined"
        return [Verdict(q.id, Status.REFUSED, explanation=why[:_LONGEST_REASON]) for q in questions]
    text = without_thoughts(choice.text)
    if choice.ended == "length" and "{" not in text:
        text = text.rpartition("\n")[0]  # a last line that is cut off may begin another answer
    verdicts = read_reply(text, questions, request.labels)
    if weighed:
        verdicts = [_weighed(verdict, choice, request) for verdict in verdicts]
    if choice.ended == "length":
        why = "the reply was cut off at its greatest length (--set max_tokens=N allows more)"
    elif not choice.text.strip():
        why = "the reply was empty"
    else:
        return verdicts
    return [
        v if v.status is Status.ANSWERED else Verdict(v.probe, Status.MISSING, explanation=why)
        for v in verdicts
    ]


def _weighed(verdict: Verdict, choice: Choice, request: Request) -> Verdict:
    """An answer whose value is the expected one, by the probabilities of the answer's token."""
    contract = request.contract
    if verdict.status is not Status.ANSWERED or contract is None:
        return verdict
    said = (Status.ANSWERED, verdict.value)
    for position in _from_answer(choice.positions):
        if contract.read(position.token) == said:
            value = contract.weigh(position.options)
            if value is not None:
                return verdict._replace(value=value)
    return Verdict(verdict.probe, Status.MISSING, None, verdict.said, _NO_LOGPROBS)


def _from_answer(positions: Sequence[Position]) -> Sequence[Position]:
    """A reply's tokens from its answer on: the words of an explanation before it do not count."""
    found = "".join(position.token for position in positions).rfind(_ANSWER)
    ends = accumulate(len(position.token) for position in positions)
    first = next((n for n, end in enumerate(ends) if end > found + len(_ANSWER)), 0)
    return positions[first:] if found >= 0 else positions
