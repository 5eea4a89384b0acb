"""Judges for touchstone's pictures: one that knows the truth, one that is wrong at known rates, and
one that looks at the pixels."""

from __future__ import annotations

import asyncio
import json
import random
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from creval.core.concurrency import cores, process_pool
from creval.core.errors import CrevalError, known_name
from creval.core.images import Encoded, decode
from creval.judges.base import Answer, Judge, JudgeOptions, Request
from creval.providers.errors import Unusable
from creval.providers.openai_wire import Choice
from creval.providers.vision import Vision
from creval.touchstone.files import scene_in
from creval.touchstone.questions import Check, read_check
from creval.touchstone.scene import Scene

_UNSURE = "not applicable"


def open_touchstone(spec: str, rest: str, options: JudgeOptions) -> Judge:
    """Open the judge `pixel`, `truth` or `noisy:SENSITIVITY,SPECIFICITY`."""
    kind, colon, _ = spec.partition(":")
    flag, parameters = options.flag, options.parameters
    if kind == "noisy":
        return Noisy(spec, *_rates(rest, flag), seed=_seed(parameters))
    if colon:
        raise CrevalError(f"{flag} {spec}: {kind} takes nothing behind its name.")
    for name in parameters:
        raise CrevalError(f"--set {name}: {kind} has nothing to set.")
    return Truth(spec) if kind == "truth" else Pixel(spec)


def _rates(given: str, flag: str) -> tuple[float, float]:
    try:
        sensitivity, specificity = map(float, given.split(","))
    except ValueError:
        sensitivity = specificity = -1.0
    if not (0 <= sensitivity <= 1 and 0 <= specificity <= 1):
        raise CrevalError(
            f"{flag} noisy:{given}: give its sensitivity and its specificity, each from 0 to 1, "
            "such as noisy:0.9,0.8."
        )
    return sensitivity, specificity


def _seed(parameters: Mapping[str, Any]) -> int:
    for name in parameters:
        known_name("parameter of this judge", name, ("seed",))
    seed = parameters.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise CrevalError(f"--set seed={seed}: give a whole number.")
    return seed


class _Knowing(Judge):
    """A judge that answers touchstone's questions, one by one. What it says where it does not know
    the pictures is `stranger`."""

    stranger = "one of these pictures is not of touchstone's drawing"

    vision = Vision("touchstone", None, lambda _width, _height: 0)
    several = True
    metered = False
    pace = 0.05

    def __init__(self, name: str) -> None:
        self.name = self.model = name
        self.learned = []

    async def ask(self, request: Request) -> Answer:
        if request.contract is None or request.contract.name != "yes/no" or not request.structured:
            raise Unusable(f"{self.name} answers yes/no questions, with a word of explanation.")
        if sorted(request.shows) != ["edit", "source"]:
            raise Unusable(f"{self.name} looks at a source and its edit, and nothing else.")
        seen = dict(zip(request.shows, request.pictures, strict=True))
        scenes = await self._scenes(seen["source"], seen["edit"])
        checks = [read_check(question) for question in request.questions]
        choices = []
        for repeat in request.repeats:
            found = {
                label: self._entry(check, scenes, request, repeat)
                for label, check in zip(request.labels, checks, strict=True)
            }
            choices.append(Choice(json.dumps(found)))
        return Answer(tuple(choices), 0, 0, 0.0)

    @abstractmethod
    async def _scenes(self, source: Encoded, edit: Encoded) -> tuple[Scene, Scene] | None:
        """What both pictures show; none where that is not known."""

    def _entry(
        self, check: Check | None, scenes: tuple[Scene, Scene] | None, request: Request, repeat: int
    ) -> dict[str, str]:
        if check is None:
            return {"explanation": "this is none of touchstone's questions", "answer": _UNSURE}
        if scenes is None:
            return {"explanation": self.stranger, "answer": _UNSURE}
        answer = self._answer(check, *scenes, request, repeat)
        return {"explanation": f"It shows {scenes[1]}.", "answer": "Yes" if answer else "No"}

    def _answer(
        self,
        check: Check,
        source: Scene,
        edit: Scene,
        request: Request,  # noqa: ARG002
        repeat: int,  # noqa: ARG002
    ) -> bool:
        return check.answer(source, edit)


class Truth(_Knowing):
    """Reads what the pictures show in the files that they come in."""

    stranger = "one of these files does not say what it shows; --image-fit would take that away"

    async def _scenes(self, source: Encoded, edit: Encoded) -> tuple[Scene, Scene] | None:
        before, after = scene_in(source.content), scene_in(edit.content)
        return None if before is None or after is None else (before, after)


class Noisy(Truth):
    """The truth, wrong at known rates: of what is so it denies some, of what is not it affirms
    some."""

    def __init__(self, name: str, sensitivity: float, specificity: float, *, seed: int = 0) -> None:
        super().__init__(name)
        self.sensitivity, self.specificity, self.seed = sensitivity, specificity, seed

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "parameters": {"seed": self.seed}}

    def _answer(
        self, check: Check, source: Scene, edit: Scene, request: Request, repeat: int
    ) -> bool:
        truth = super()._answer(check, source, edit, request, repeat)
        pictures = " ".join(picture.digest for picture in request.pictures)
        # The same question about the same pictures is answered alike, whenever it is asked.
        chance = random.Random(f"{self.seed} {repeat} {pictures} {check}")  # noqa: S311
        right = chance.random() < (self.sensitivity if truth else self.specificity)
        return truth == right


class Pixel(_Knowing):
    """Looks at the pixels, in processes of its own, at each picture once.

    A source and its edits go to the same process: they show much that is alike, and what is drawn
    to compare with one serves the next.
    """

    pace = 1.0

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._pools: list[Executor] = []
        self._busy: dict[int, int] = {}
        self._at: dict[str, int] = {}
        self._seen: dict[str, asyncio.Future[Scene | None]] = {}

    async def open(self) -> None:
        self._pools = [process_pool(1) for _ in range(cores())]
        self._busy = dict.fromkeys(range(len(self._pools)), 0)

    async def close(self) -> None:
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._pools = []

    async def _scenes(self, source: Encoded, edit: Encoded) -> tuple[Scene, Scene] | None:
        try:
            # To the process that has the source already, or to that with the least to do.
            at = self._at.setdefault(source.digest, min(self._busy, key=lambda n: self._busy[n]))
            before, after = await asyncio.gather(self._look(source, at), self._look(edit, at))
        except BrokenProcessPool as error:
            raise Unusable(
                "a process that looks at pictures has ended; perhaps there was too little memory. "
                "Repeat the command to go on."
            ) from error
        return None if before is None or after is None else (before, after)

    def _look(self, picture: Encoded, at: int) -> asyncio.Future[Scene | None]:
        if picture.digest not in self._seen:
            loop = asyncio.get_running_loop()
            seen = loop.run_in_executor(self._pools[at], _see, picture.content)
            self._busy[at] += 1
            seen.add_done_callback(lambda _: self._busy.update({at: self._busy[at] - 1}))
            self._seen[picture.digest] = seen
        return self._seen[picture.digest]


def _see(content: bytes) -> Scene | None:
    from creval.touchstone.recognition import see

    seen = see(decode(content))
    return seen.scene if seen.known else None
