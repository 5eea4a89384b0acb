"""`python:module:name`: a user's class or function as a judge.

A class must be a subclass of `Judge`. A function gets those of the following arguments that its signature names:
`questions` (a list), `choices` (the answers that the scale allows), `text` (the whole request), `images` (a list of PIL
images), `source`, `edit`, `mask`, `references` and `repeat`. It returns one answer for each question: an answer on the
scale, or `{"answer": ..., "explanation": ...}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from creval.core.images import decode_image
from creval.core.plugins import create
from creval.judges.base import Judge, JudgeOptions, JudgeRequest, JudgeResponse
from creval.providers.call_errors import FUNCTION_FAILED, CallError
from creval.providers.function_process import ProcessRunner
from creval.providers.openai_wire import Completion
from creval.providers.user_functions import (
    FunctionCaller,
    FunctionRunner,
    FunctionSignature,
    ThreadRunner,
    UserCall,
    import_callable,
)

_ROLES = ("source", "edit", "mask")


def open_python_judge(spec: str, where: str, options: JudgeOptions) -> Judge:
    """Create a judge from a class or function in a module."""
    runner = ProcessRunner(where)
    if not runner.is_class:
        return FunctionJudge(spec, where, options, runner)
    runner.abandon()
    judge = create(Judge, import_callable(where), spec, where, options)  # type: ignore[type-abstract]
    judge.code_digests = runner.digests
    return judge


class FunctionJudge(Judge):
    """A user's function as a judge.

    A function given by name runs in a separate process, a function object in a thread.
    """

    counts_tokens = False
    seconds_per_call = 0.1

    def __init__(
        self, name: str, model: str, options: JudgeOptions, function: Callable[..., Any] | ProcessRunner
    ) -> None:
        self.name, self.model, self.notes = name, model, []
        self.price = options.price
        runner: FunctionRunner = function if isinstance(function, ProcessRunner) else ThreadRunner(function)
        self._signature, self.code_digests = runner.signature, runner.digests
        self._caller = FunctionCaller[str](runner, options.timeout)

    async def open(self) -> None:
        self._caller.open()

    async def close(self) -> None:
        self._caller.close()

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        answers = []
        read = partial(_format_reply, list(request.labels), request.scale is None, request.is_structured)
        for repeat in request.repeats:
            call = UserCall(partial(_build_arguments, _plain_facts(request, repeat), self._signature), read)
            answers.append(Completion(await self._caller.call(call)))
        return JudgeResponse(tuple(answers), 0, 0, 0.0)


def _plain_facts(request: JudgeRequest, repeat: int) -> dict[str, Any]:
    """Return the data from which the arguments of a function are built. Images are still encoded."""
    return {
        "images": [image.content for image in request.images],
        "image_roles": list(request.image_roles),
        "questions": list(request.questions),
        "choices": list(request.scale.choices) if request.scale else [],
        "text": request.text,
        "repeat": repeat,
    }


def _build_arguments(facts: Mapping[str, Any], signature: FunctionSignature) -> tuple[tuple[()], dict[str, Any]]:
    images = [decode_image(content) for content in facts["images"]]
    by_role = list(zip(facts["image_roles"], images, strict=False))
    first = {role: next((image for own, image in by_role if own == role), None) for role in _ROLES}
    references = [image for role, image in by_role if role == "references"]
    return (), signature.select({**facts, **first, "references": references, "images": images})


def _format_reply(labels: Sequence[str], is_free: bool, is_structured: bool, made: Any) -> str:
    """Format the return value of a function as the text of a reply."""
    if is_free:
        return str(made)
    several = list(made) if isinstance(made, Sequence) and not isinstance(made, str) else [made]
    if len(several) != len(labels):
        wrong = f"{len(several)} answers to {len(labels)} questions"
        raise CallError(FUNCTION_FAILED, f"it returned {wrong}", retryable=False)
    entries = [one if isinstance(one, Mapping) else {"answer": one, "explanation": ""} for one in several]
    if not is_structured:
        return str(entries[0].get("answer", ""))
    return json.dumps(dict(zip(labels, map(dict, entries), strict=True)), default=str)
