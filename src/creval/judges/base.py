"""What a judge is to the engine: it takes pictures and a text, and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from creval.core.images import EncodedImage
from creval.core.scales import AnswerScale
from creval.core.verdict import VerdictStatus
from creval.providers.openai_wire import Completion
from creval.providers.pricing import Price
from creval.providers.vision import UNKNOWN_VISION, VisionSpec


class JudgeRequest(NamedTuple):
    """Pictures, then a text whose questions under `labels` are to be answered on one scale; or,
    without either, a text that asks for words (the form `free`), or for JSON of this `schema`.

    `repeats` are the numbers of the independent answers that are wanted; `form` is how they are
    given, as in `Question`; `questions` are the questions' words alone, in the labels' order, and
    `image_roles` what each picture is.
    """

    images: Sequence[EncodedImage]
    text: str
    scale: AnswerScale | None
    labels: Sequence[str]
    repeats: Sequence[int] = (0,)
    form: str = "explained"
    questions: Sequence[str] = ()
    image_roles: Sequence[str] = ("source", "edit")
    schema: Mapping[str, Any] | None = None

    @property
    def completion_count(self) -> int:
        """How many independent answers are wanted."""
        return len(self.repeats)

    @property
    def is_structured(self) -> bool:
        """Whether answers come as JSON."""
        return self.schema is not None or self.form not in ("bare", "free")


class JudgeResponse(NamedTuple):
    """What one paid call brought: its choices, tokens as the server counts them, and money."""

    completions: tuple[Completion, ...]
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class Judge(ABC):
    """A model that answers. `name` is the judge's in a run; `model` the model's own.

    `supports_n` says whether one request can bring several choices. `notes` collects what the judge
    turned out not to take, in words. A judge that is not `counts_tokens` uses no tokens; `seconds_per_call` is how
    many seconds a call takes, as a guess before one was made.
    """

    name: str
    model: str
    vision: VisionSpec = UNKNOWN_VISION
    price: Price | None = None
    supports_n: bool = False
    counts_tokens: bool = True
    seconds_per_call: float = 5.0
    notes: list[str]

    def prepare_image(self, image: EncodedImage) -> EncodedImage:
        """A picture in the form in which this judge sends it; called in a thread, once each."""
        return image

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        """What a run's manifest keeps about the judge."""
        return {"model": self.model, "vision": self.vision.name}

    async def open(self) -> None:  # noqa: B027
        """Get ready, in the event loop in which the asking happens."""

    async def close(self) -> None:  # noqa: B027
        """Let go of connections."""

    @abstractmethod
    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Answer; otherwise `CallError`, or `ProviderUnusable` where going on makes no sense."""


def estimate_tokens(judge: Judge, request: JudgeRequest) -> tuple[float, float]:
    """Tokens in and out of a request, before it is made."""
    if not judge.counts_tokens:
        return 0.0, 0.0
    seen = judge.vision
    images = 0
    for image in request.images:
        size = (image.width, image.height)
        images += seen.count_tokens(*(seen.resize(*size) if seen.resize else size))
    out = ESTIMATED_TOKENS_OUT[request.form] * max(1, len(request.labels)) * request.completion_count
    return images + len(request.text) / 4, out


def completion_status(choice: Completion) -> VerdictStatus:
    """How a reply as a whole ended."""
    if choice.finish_reason == "refusal":
        return VerdictStatus.REFUSED
    return VerdictStatus.ANSWERED if choice.text.strip() else VerdictStatus.MISSING


ESTIMATED_TOKENS_OUT = {"explained": 45, "reasoned": 200, "bare": 2, "free": 700}


@dataclass(frozen=True)
class JudgeOptions:
    """How judges are asked. `parameters` go into every request as they are.

    A temperature of none is 0, or 1 where repeats are wanted. `key_env` names the environment variable
    that holds the key, if not the usual one; `key_optional` does without, where nothing is asked.
    `flag` is the option that names them.
    """

    temperature: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    logprobs: bool = False
    repeat: int = 1
    timeout: float = 300.0
    concurrency: int = 16
    price: Price | None = None
    key_env: str | None = None
    key_optional: bool = False
    option_name: str = "judge"


def sampling_parameters(options: JudgeOptions) -> dict[str, Any]:
    """The parameters of each request, with the temperature: 0, or 1 if repeats are wanted."""
    temperature = options.temperature
    if temperature is None:
        temperature = 0.0 if options.repeat == 1 else 1.0
    return {"temperature": temperature, **options.parameters}
