"""Requests to a judge: the images and the text of one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from creval.core.edit_record import Edit
from creval.core.images import EncodedImage
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.scales import AnswerScale, get_scale
from creval.judges.base import JudgeRequest
from creval.judging.plan import EditWork
from creval.prompts import Prompt
from creval.store.answer_cache import CachedAnswer


class EncodedEdit(NamedTuple):
    """An edit with its encoded images, by role."""

    work: EditWork
    images: Mapping[str, tuple[EncodedImage, ...]]

    def select_images(self, names: Iterable[str]) -> list[EncodedImage]:
        return [image for name in names for image in self.images.get(name, ())]


class PendingCall(NamedTuple):
    """One call to a judge: it asks questions about an edit, once for each of these repeats.

    - `previous_tries`: the number of earlier calls that left these questions unanswered.
    - `request`: the request, if it is built already.
    - `share_key`: the request's key in the answer cache, if replies are shared between runs.
    - `cached`: the answer from the cache, if another run has asked the same.
    """

    encoded_edit: EncodedEdit
    questions: tuple[Question, ...]
    repeats: tuple[int, ...]
    previous_tries: int = 0
    request: JudgeRequest | None = None
    share_key: bytes | None = None
    cached: CachedAnswer | None = None


def find_image_paths(sample: Sample, edit: Edit, name: str) -> list[Path]:
    """Return the image files that an entry of `Question.shows` stands for. Empty for entries that are texts."""
    single = {"source": sample.source, "edit": edit.image, "mask": sample.mask}
    path = single.get(name)
    return list(sample.references) if name == "references" else [path] if path is not None else []


_IMAGE_DESCRIPTIONS = {
    "source": "the source image, as it was before the edit",
    "edit": "the edited image",
    "mask": "the mask: white is the region that was to be edited",
    "references": "a reference image that the edit was to follow",
}


PLACEHOLDERS = frozenset({"images", "instruction", "questions", "rubric", "format"})
"""The placeholders that the prompt of a judge can have."""


def build_judge_request(call: PendingCall, prompts: Mapping[str, Prompt]) -> JudgeRequest:
    """Build the request of a call: its images and its text."""
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
