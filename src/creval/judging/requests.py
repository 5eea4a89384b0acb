"""One call to a judge: how it is put, what it may take, and what its reply says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from creval.core.edit_record import Edit
from creval.core.images import EncodedImage
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.scales import AnswerScale, get_scale
from creval.core.verdict import Verdict, VerdictStatus
from creval.judges.base import JudgeRequest, strip_thinking
from creval.judging.plan import EditWork
from creval.parsing.judge_replies import parse_reply
from creval.prompts import Prompt
from creval.providers.openai_wire import Completion, TokenLogprobs

"""Tokens that a model spends on one answer in each form, as a guess before it is known."""

_MAX_REASON_LENGTH = 300
_ANSWER_KEY = '"answer"'
_NO_LOGPROBS = "no log-probabilities came with the answer"


class EncodedEdit(NamedTuple):
    """An edit ready to be asked about: its pictures by what they show."""

    work: EditWork
    images: Mapping[str, tuple[EncodedImage, ...]]

    def select_images(self, names: Iterable[str]) -> list[EncodedImage]:
        return [image for name in names for image in self.images.get(name, ())]


class PendingCall(NamedTuple):
    """One request: questions about an edit, in these repeats; `tries` that came before."""

    encoded_edit: EncodedEdit
    questions: tuple[Question, ...]
    repeats: tuple[int, ...]
    previous_tries: int = 0


def find_image_paths(sample: Sample, edit: Edit, name: str) -> list[Path]:
    """The files behind what a question shows; texts have none."""
    single = {"source": sample.source, "edit": edit.image, "mask": sample.mask}
    if name in single:
        path = single[name]
        return [path] if path is not None else []
    return list(sample.references) if name == "references" else []


_IMAGE_DESCRIPTIONS = {
    "source": "the source image, as it was before the edit",
    "edit": "the edited image",
    "mask": "the mask: white is the region that was to be edited",
    "references": "a reference image that the edit was to follow",
}


PLACEHOLDERS = frozenset({"images", "instruction", "questions", "rubric", "format"})
"""The places that the prompt of a judge can have."""


def build_judge_request(call: PendingCall, prompts: Mapping[str, Prompt]) -> JudgeRequest:
    """The pictures and the text of a call."""
    sample, questions = call.encoded_edit.work.sample, call.questions
    contract = get_scale(questions[0].scale)
    labels = _question_labels(len(questions))
    names = [name for name in questions[0].shows for _ in call.encoded_edit.images.get(name, ())]
    descriptions = [f"Image {at} is {_IMAGE_DESCRIPTIONS[name]}." for at, name in enumerate(names, 1)]
    shows_instruction = "instruction" in questions[0].shows
    text = prompts[questions[0].prompt].fill(
        images=" ".join(descriptions),
        instruction=sample.instruction.strip() if shows_instruction else "",
        questions="\n".join(
            f"{label}: {' '.join(question.text.split())}" for label, question in zip(labels, questions, strict=True)
        ),
        rubric=questions[0].rubric,
        format=_format_request(contract, questions[0].form, len(labels)),
    )
    images = call.encoded_edit.select_images(questions[0].shows)
    words = [question.text for question in questions]
    form = questions[0].form
    return JudgeRequest(images, text, contract, labels, call.repeats, form, words, names)


@lru_cache(maxsize=256)
def _format_request(scale: AnswerScale, form: str, count: int) -> str:
    if form == "bare":
        return scale.bare_reply_format()
    return scale.reply_format(_question_labels(count), reasoned=form == "reasoned")


@lru_cache(maxsize=256)
def _question_labels(count: int) -> tuple[str, ...]:
    return tuple(f"Q{number}" for number in range(1, count + 1))


def read_verdicts(
    completion: Completion, request: JudgeRequest, questions: Sequence[Question], *, use_logprobs: bool = False
) -> list[Verdict]:
    """What a choice says about each question, and why where it says nothing.

    `weighed` takes the probabilities of the answer's token in the place of the answer.
    """
    if completion.finish_reason == "refusal":
        why = f"the judge declined: {completion.text}" if completion.text else "a filter declined"
        return [Verdict(q.id, VerdictStatus.REFUSED, explanation=why[:_MAX_REASON_LENGTH]) for q in questions]
    text = strip_thinking(completion.text)
    if completion.finish_reason == "length" and "{" not in text:
        text = text.rpartition("\n")[0]  # a last line that is cut off may begin another answer
    verdicts = parse_reply(text, questions, request.labels)
    if use_logprobs:
        verdicts = [_apply_logprobs(verdict, completion, request) for verdict in verdicts]
    if completion.finish_reason == "length":
        why = "the reply was cut off at its greatest length (`parameters` max_tokens=N allows more)"
    elif not completion.text.strip():
        why = "the reply was empty"
    else:
        return verdicts
    return [
        v if v.status is VerdictStatus.ANSWERED else Verdict(v.probe, VerdictStatus.MISSING, explanation=why)
        for v in verdicts
    ]


def _apply_logprobs(verdict: Verdict, completion: Completion, request: JudgeRequest) -> Verdict:
    """An answer whose value is the expected one, by the probabilities of the answer's token."""
    contract = request.scale
    if verdict.status is not VerdictStatus.ANSWERED or contract is None:
        return verdict
    said = (VerdictStatus.ANSWERED, verdict.value)
    for position in _tokens_from_answer(completion.logprobs):
        if contract.parse_answer(position.token) == said:
            value = contract.expected_value(position.alternatives)
            if value is not None:
                return verdict._replace(value=value)
    return Verdict(verdict.probe, VerdictStatus.MISSING, None, verdict.raw_answer, _NO_LOGPROBS)


def _tokens_from_answer(positions: Sequence[TokenLogprobs]) -> Sequence[TokenLogprobs]:
    """A reply's tokens from its answer on: the words of an explanation before it do not count."""
    found = "".join(position.token for position in positions).rfind(_ANSWER_KEY)
    ends = accumulate(len(position.token) for position in positions)
    first = next((n for n, end in enumerate(ends) if end > found + len(_ANSWER_KEY)), 0)
    return positions[first:] if found >= 0 else positions
