"""Judges for touchstone's images.

`truth` knows the truth, `noisy` errs at known rates, and `pixel` recognises scenes from pixels.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from creval.core.concurrency import spawn_process_pool, usable_cpu_count
from creval.core.errors import CrevalError, require_known
from creval.core.images import EncodedImage, decode_image, read_image_size
from creval.judges.base import Judge, JudgeOptions, JudgeRequest, JudgeResponse
from creval.providers.call_errors import ProviderUnusable
from creval.providers.openai_wire import Completion
from creval.providers.vision import VisionSpec
from creval.touchstone.files import read_scene
from creval.touchstone.scene import Scene
from creval.touchstone.scene_questions import Check, parse_check

_NO_ANSWER = "not applicable"
_MAX_RECOGNISED_PIXELS = 16_000_000  # bounds the memory of a process; touchstone's images have 0.6 million


def open_touchstone_judge(spec: str, rest: str, options: JudgeOptions) -> Judge:
    """Open the judge `pixel`, `truth` or `noisy:SENSITIVITY,SPECIFICITY`."""
    kind, colon, _ = spec.partition(":")
    field, parameters = options.option_name, options.parameters
    if kind == "noisy":
        return NoisyJudge(spec, *_parse_rates(rest, field), seed=_parse_seed(parameters))
    if colon:
        raise CrevalError(f"`{field}` {spec}: {kind} takes no arguments after its name.")
    for name in parameters:
        raise CrevalError(f"`parameters` {name}: {kind} has no parameters.")
    return TruthJudge(spec) if kind == "truth" else PixelJudge(spec)


def _parse_rates(given: str, field: str) -> tuple[float, float]:
    try:
        sensitivity, specificity = map(float, given.split(","))
    except ValueError:
        sensitivity = specificity = -1.0
    if not (0 <= sensitivity <= 1 and 0 <= specificity <= 1):
        raise CrevalError(
            f"`{field}` noisy:{given}: give sensitivity and specificity, each from 0 to 1, such as noisy:0.9,0.8."
        )
    return sensitivity, specificity


def _parse_seed(parameters: Mapping[str, Any]) -> int:
    for name in parameters:
        require_known("parameter of this judge", name, ("seed",))
    seed = parameters.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise CrevalError(f"`parameters` seed={seed}: give a whole number.")
    return seed


class _SceneJudge(Judge):
    """Base class of judges that answer touchstone's questions from scenes.

    `unknown_image_reason` is the explanation of a missing answer if an image's scene is unknown.
    """

    unknown_image_reason = "one of these images was not drawn by touchstone"

    vision = VisionSpec("touchstone", None, lambda _width, _height: 0)
    supports_n = True
    counts_tokens = False
    seconds_per_call = 0.05

    def __init__(self, name: str) -> None:
        self.name = self.model = name
        self.notes = []

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        if request.scale is None or request.scale.name != "yes/no" or not request.is_structured:
            raise ProviderUnusable(f"{self.name} answers only yes/no questions with explanations.")
        if sorted(request.image_roles) != ["edit", "source"]:
            raise ProviderUnusable(f"{self.name} needs exactly two images: a source and its edit.")
        seen = dict(zip(request.image_roles, request.images, strict=True))
        scenes = await self._scenes(seen["source"], seen["edit"])
        checks = [parse_check(question) for question in request.questions]
        choices = []
        for repeat in request.repeats:
            found = {
                label: self._entry(check, scenes, request, repeat)
                for label, check in zip(request.labels, checks, strict=True)
            }
            choices.append(Completion(json.dumps(found)))
        return JudgeResponse(tuple(choices), 0, 0, 0.0)

    @abstractmethod
    async def _scenes(self, source: EncodedImage, edit: EncodedImage) -> tuple[Scene, Scene] | None:
        """Return the scenes of both images. Returns None if one of them is unknown."""

    def _entry(
        self, check: Check | None, scenes: tuple[Scene, Scene] | None, request: JudgeRequest, repeat: int
    ) -> dict[str, str]:
        if check is None:
            return {"explanation": "this is not one of touchstone's questions", "answer": _NO_ANSWER}
        if scenes is None:
            return {"explanation": self.unknown_image_reason, "answer": _NO_ANSWER}
        answer = self._answer(check, *scenes, request, repeat)
        return {"explanation": f"It shows {scenes[1]}.", "answer": "Yes" if answer else "No"}

    def _answer(
        self,
        check: Check,
        source: Scene,
        edit: Scene,
        request: JudgeRequest,  # noqa: ARG002
        repeat: int,  # noqa: ARG002
    ) -> bool:
        return check.answer(source, edit)


class TruthJudge(_SceneJudge):
    """Judge that reads the scenes stored in the image files."""

    unknown_image_reason = "one of these files has no stored scene; note that `image_fit` removes it"

    async def _scenes(self, source: EncodedImage, edit: EncodedImage) -> tuple[Scene, Scene] | None:
        before, after = read_scene(source.content), read_scene(edit.content)
        return None if before is None or after is None else (before, after)


class NoisyJudge(TruthJudge):
    """Judge with known error rates.

    It affirms true statements at the rate `sensitivity`, and denies false ones at the rate `specificity`.
    """

    def __init__(self, name: str, sensitivity: float, specificity: float, *, seed: int = 0) -> None:
        super().__init__(name)
        self.sensitivity, self.specificity, self.seed = sensitivity, specificity, seed

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "parameters": {"seed": self.seed}}

    def _answer(self, check: Check, source: Scene, edit: Scene, request: JudgeRequest, repeat: int) -> bool:
        truth = super()._answer(check, source, edit, request, repeat)
        images = " ".join(image.digest for image in request.images)
        # The seed depends on the question and images only, so that the answer is reproducible.
        chance = random.Random(f"{self.seed} {repeat} {images} {check}")  # noqa: S311
        right = chance.random() < (self.sensitivity if truth else self.specificity)
        return truth == right


class PixelJudge(_SceneJudge):
    """Judge that recognises scenes from pixels, in its own processes. Each image is recognised once.

    A source and its edits go to the same process, because they are similar and share cached drawings.
    """

    seconds_per_call = 1.0

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._pools: list[Executor] = []
        self._pending: dict[int, int] = {}
        self._pool_by_source: dict[str, int] = {}
        self._scenes_by_digest: dict[str, asyncio.Future[Scene | None]] = {}

    async def open(self) -> None:
        self._pools = [spawn_process_pool(1) for _ in range(usable_cpu_count())]
        self._pending = dict.fromkeys(range(len(self._pools)), 0)

    async def close(self) -> None:
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._pools = []

    async def _scenes(self, source: EncodedImage, edit: EncodedImage) -> tuple[Scene, Scene] | None:
        try:
            # Use the process that has the source, or the least busy one.
            at = self._pool_by_source.setdefault(source.digest, min(self._pending, key=lambda n: self._pending[n]))
            before, after = await asyncio.gather(self._recognise_image(source, at), self._recognise_image(edit, at))
        except BrokenProcessPool as error:
            raise ProviderUnusable(
                "a process that recognises images has died, perhaps for lack of memory. Repeat the command to continue."
            ) from error
        return None if before is None or after is None else (before, after)

    def _recognise_image(self, image: EncodedImage, at: int) -> asyncio.Future[Scene | None]:
        if image.digest not in self._scenes_by_digest:
            loop = asyncio.get_running_loop()
            seen = loop.run_in_executor(self._pools[at], _recognise, image.content)
            self._pending[at] += 1
            seen.add_done_callback(lambda _: self._pending.update({at: self._pending[at] - 1}))
            self._scenes_by_digest[image.digest] = seen
        return self._scenes_by_digest[image.digest]


def _recognise(content: bytes) -> Scene | None:
    from creval.touchstone.recognition import recognise_scene

    if math.prod(read_image_size("the image", content)) > _MAX_RECOGNISED_PIXELS:
        return None
    seen = recognise_scene(decode_image(content))
    return seen.scene if seen.is_recognised else None
