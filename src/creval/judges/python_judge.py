"""`python:module:name`: a class or a function of the user's judges.

A class is a `Judge`. A function is called with what it takes of `questions` (a list), `choices`
(the answers that the scale allows), `text` (the whole request), `images` (a list of PIL images),
`source`, `edit`, `mask`, `references` and `repeat`. It returns one answer for each question; each
is an answer on the scale, or `{"answer": ..., "explanation": ...}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from creval.core.images import decode_image
from creval.core.plugins import create
from creval.judges.base import Judge, JudgeOptions, JudgeRequest, JudgeResponse
from creval.providers.call_errors import CallError
from creval.providers.openai_wire import Completion
from creval.providers.user_functions import FunctionCaller, accepted_arguments, import_callable


def open_python_judge(spec: str, where: str, options: JudgeOptions) -> Judge:
    """Open the judge that a class or function in a module is."""
    found = import_callable(where)
    if isinstance(found, type):
        return create(Judge, found, spec, where, options)  # type: ignore[type-abstract]
    return FunctionJudge(spec, where, options, found)


class FunctionJudge(Judge):
    """A function that answers, in a thread."""

    counts_tokens = False
    seconds_per_call = 0.1

    def __init__(self, name: str, model: str, options: JudgeOptions, function: Callable[..., Any]) -> None:
        self.name, self.model, self.notes = name, model, []
        self.price = options.price
        self._function = function
        self._caller: FunctionCaller[Any] = FunctionCaller(function, lambda made: made, options.timeout)

    async def open(self) -> None:
        self._caller.open()

    async def close(self) -> None:
        self._caller.close()

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        answers = []
        for repeat in request.repeats:
            made = await self._caller.call(lambda repeat=repeat: ((), self._build_arguments(request, repeat)))  # type: ignore[misc]
            answers.append(Completion(_format_reply(made, request)))
        return JudgeResponse(tuple(answers), 0, 0, 0.0)

    def _build_arguments(self, request: JudgeRequest, repeat: int) -> dict[str, Any]:
        images = [decode_image(image.content) for image in request.images]
        by_role = list(zip(request.image_roles, images, strict=False))
        first = {role: next((image for own, image in by_role if own == role), None) for role in _ROLES}
        given = {
            **first,
            "references": [image for role, image in by_role if role == "references"],
            "images": images,
            "questions": list(request.questions),
            "choices": list(request.scale.choices) if request.scale else [],
            "text": request.text,
            "repeat": repeat,
        }
        return accepted_arguments(self._function, given)


_ROLES = ("source", "edit", "mask")


def _format_reply(made: Any, request: JudgeRequest) -> str:
    """Return what a function gave as the text of a reply."""
    if request.scale is None:
        return str(made)
    several = list(made) if isinstance(made, Sequence) and not isinstance(made, str) else [made]
    if len(several) != len(request.labels):
        wrong = f"{len(several)} answers to {len(request.labels)} questions"
        raise CallError("the function failed", f"it returned {wrong}", retryable=False)
    entries = [one if isinstance(one, Mapping) else {"answer": one, "explanation": ""} for one in several]
    if not request.is_structured:
        return str(entries[0].get("answer", ""))
    return json.dumps(dict(zip(request.labels, map(dict, entries), strict=True)), default=str)
