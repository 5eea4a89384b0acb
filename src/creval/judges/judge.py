"""What a judge is to the engine: it takes pictures and a text, and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from creval.core.contract import Contract
from creval.core.errors import CrevalError
from creval.core.images import Encoded
from creval.judges.vision import Vision


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


class Request(NamedTuple):
    """Pictures, then a text whose questions under `labels` are to be answered on one scale; or,
    without either, a text that asks for words (the form `free`).

    `repeats` are the numbers of the independent answers that are wanted; `form` is how they are
    given, as in `Question`; `questions` are the questions' words alone, in the labels' order, and
    `shows` what each picture is.
    """

    pictures: Sequence[Encoded]
    text: str
    contract: Contract | None
    labels: Sequence[str]
    repeats: Sequence[int] = (0,)
    form: str = "explained"
    questions: Sequence[str] = ()
    shows: Sequence[str] = ("source", "edit")

    @property
    def choices(self) -> int:
        """How many independent answers are wanted."""
        return len(self.repeats)

    @property
    def structured(self) -> bool:
        """Whether answers come as JSON."""
        return self.form not in ("bare", "free")


class Position(NamedTuple):
    """A token of a reply, and what could have stood in its place, with log-probabilities."""

    token: str
    options: tuple[tuple[str, float], ...]


class Choice(NamedTuple):
    """One answer: its text, why it ended (stop, length, refusal), and its tokens if asked for."""

    text: str
    ended: str = "stop"
    positions: tuple[Position, ...] = ()


class Answer(NamedTuple):
    """What one paid call brought: its choices, tokens as the server counts them, and money."""

    choices: tuple[Choice, ...]
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class Fault(Exception):  # noqa: N818
    """A call that brought no answer. `kind` is what is counted; `wait` what the server asks for.

    `again` says whether the same call can succeed later; `crowded` that there were too many; `paid`
    that the judge may have done its work. `wasted` is what such attempts may have cost.
    """

    wasted = 0.0

    def __init__(
        self,
        kind: str,
        reason: str,
        *,
        again: bool = True,
        crowded: bool = False,
        paid: bool = False,
        wait: float | None = None,
    ) -> None:
        super().__init__(f"{kind}: {reason}" if reason else kind)
        self.kind, self.again, self.crowded, self.wait = kind, again, crowded, wait
        self.paid = paid


class Unusable(CrevalError):  # noqa: N818
    """A judge that will answer nothing until somebody mends something: key, model, credit."""


class Judge(ABC):
    """A model that answers. `name` is the judge's in a run; `model` the model's own.

    `several` says whether one request can bring several choices. `learned` collects what the judge
    turned out not to take, in words. A judge that is not `metered` uses no tokens; `pace` is how
    many seconds a call takes, as a guess before one was made.
    """

    name: str
    model: str
    vision: Vision
    price: Price | None = None
    several: bool = False
    metered: bool = True
    pace: float = 5.0
    learned: list[str]

    def prepare(self, picture: Encoded) -> Encoded:
        """A picture in the form in which this judge sends it; called in a thread, once each."""
        return picture

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a run's manifest keeps about the judge."""
        return {"model": self.model, "vision": self.vision.name}

    async def open(self) -> None:  # noqa: B027
        """Get ready, in the event loop in which the asking happens."""

    async def close(self) -> None:  # noqa: B027
        """Let go of connections."""

    @abstractmethod
    async def ask(self, request: Request) -> Answer:
        """Answer; otherwise `Fault`, or `Unusable` where going on makes no sense."""
