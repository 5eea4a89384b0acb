"""Base class of judges: a judge takes images and a text, and returns answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from creval.core.images import EncodedImage
from creval.core.scales import AnswerScale
from creval.core.verdict import VerdictStatus
from creval.providers.openai_wire import Completion
from creval.providers.pricing import Price
from creval.providers.vision import UNKNOWN_VISION, VisionSpec


class JudgeRequest(NamedTuple):
    """A request to a judge: images, and a text with questions.

    - `scale`: the scale of all answers. None if the text asks for free text (`form` is `free`) or for JSON of this
      `schema`.
    - `labels`, `questions`: the label and the text of each question, in the same order.
    - `repeats`: the numbers of the requested independent answers.
    - `form`: the form of the answers, as in `Question`.
    - `image_roles`: the role of each image.
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
        """The number of independent answers that are requested."""
        return len(self.repeats)

    @property
    def is_structured(self) -> bool:
        """True if answers are JSON."""
        return self.schema is not None or self.form not in ("bare", "free")


class JudgeResponse(NamedTuple):
    """Result of one call: its completions, the numbers of tokens that the server counted, and the cost."""

    completions: tuple[Completion, ...]
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class Judge(ABC):
    """A model that answers questions about images. `name` identifies the judge in a run, `model` is the model's name.

    - `supports_n`: one request can return several completions.
    - `notes`: messages about features that the judge turned out not to support.
    - `counts_tokens`: False for judges that use no tokens.
    - `seconds_per_call`, `thinking_tokens`: estimates for one call. They are used before the first call.
    - `code_digests`: digests of user code that computes the answers.
    """

    name: str
    model: str
    vision: VisionSpec = UNKNOWN_VISION
    price: Price | None = None
    supports_n: bool = False
    counts_tokens: bool = True
    seconds_per_call: float = 5.0
    code_digests: Mapping[str, str] = MappingProxyType({})
    thinking_tokens: int = 0
    notes: list[str]

    def prepare_image(self, image: EncodedImage) -> EncodedImage:
        """Return an image in the form that this judge sends. Called in a thread, once per image."""
        return image

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        """The judge's entry in a run's manifest."""
        return {"model": self.model, "vision": self.vision.name}

    def cache_key(self, request: JudgeRequest) -> bytes | None:  # noqa: ARG002
        """Return everything that a reply depends on, except the repeat.

        None if replies of this judge are not shared between runs.
        """
        return None

    async def open(self) -> None:  # noqa: B027
        """Acquire resources, in the event loop that makes the calls."""

    async def close(self) -> None:  # noqa: B027
        """Release resources."""

    @abstractmethod
    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        """Answer a request. Raises `CallError`, or `ProviderUnusable` if all further calls would fail."""


def estimate_tokens(judge: Judge, request: JudgeRequest) -> tuple[float, float]:
    """Return the estimated input and output tokens of a request."""
    if not judge.counts_tokens:
        return 0.0, 0.0
    seen = judge.vision
    images = 0
    for image in request.images:
        size = (image.width, image.height)
        images += seen.count_tokens(*(seen.resize(*size) if seen.resize else size))
    out = (ESTIMATED_TOKENS_OUT[request.form] * max(1, len(request.labels)) + judge.thinking_tokens) * (
        request.completion_count
    )
    return images + len(request.text) / 4, out


def completion_status(choice: Completion) -> VerdictStatus:
    """Return the status of a completion: refused, missing if it is empty, or else answered."""
    if choice.finish_reason == "refusal":
        return VerdictStatus.REFUSED
    return VerdictStatus.ANSWERED if choice.text.strip() else VerdictStatus.MISSING


ESTIMATED_TOKENS_OUT = {"explained": 45, "reasoned": 200, "bare": 2, "free": 700}


@dataclass(frozen=True)
class JudgeOptions:
    """Options of judges.

    - `parameters` are sent with every request unchanged.
    - `temperature`: the default is 0, or 1 with repeats.
    - `key_env` is the environment variable with the API key, if it is not the provider's usual one.
    - `key_optional` allows a missing key if no calls will be made.
    - `option_name` is the name of the option that sets the judge. Error messages mention it.
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
    """Return the parameters of each request, including the temperature: by default 0, or 1 with repeats."""
    temperature = options.temperature
    if temperature is None:
        temperature = 0.0 if options.repeat == 1 else 1.0
    return {"temperature": temperature, **options.parameters}
