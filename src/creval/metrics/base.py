"""What a gauge measures, as data: its numbers, what it needs, its models and their licences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from creval import registry
from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.embeddings import Embedder, Vector, Wish
from creval.metrics.inputs import Exhibit
from creval.metrics.model_loading import Late, short_name


@dataclass(frozen=True)
class ModelCard:
    """A model that a gauge measures with.

    `use` is the word by which another is chosen (`--gauge clip=MODEL`), `default` the one that is
    taken otherwise. `comes` tells from where: the `hub` (where `file` is one of its files), its
    `library`, which downloads it (to `file`, below the user's home, if that is known) or is
    `shipped` with it; or from nobody: it must be `given`, or can be (`optional`).
    """

    use: str
    default: str
    megabytes: int
    licence: str
    home: str
    comes: str = "hub"
    file: str = "config.json"


@dataclass(frozen=True)
class GaugeCard:
    """A gauge: what it is called, its values with their ranges, what it needs, and what it takes.

    It `needs` a source, a control (a source that shows lines, depth, a pose or grey), a reference,
    captions or texts; a mask is used where there is one. `extra` is what `pip install
    'creval[EXTRA]'` brings for it, `packages` are the modules behind that and `licence` theirs,
    where it is not one for any use.
    """

    name: str
    title: str
    values: tuple[Metric, ...]
    unit: str
    needs: tuple[str, ...] = ()
    models: tuple[ModelCard, ...] = ()
    extra: str = ""
    packages: tuple[str, ...] = ()
    licence: str = ""
    paper: str = ""


T = TypeVar("T")


class Gauge(ABC):
    """Measures edits, in several threads at once; one look gives the values of several metrics.

    `name` tells it apart in a run, with the models that it measures with, if any, and the state of
    their files, if they are here: `clip@MODEL#1f3a5b7c`.
    """

    card: ClassVar[GaugeCard]

    def __init__(self, tools: Tools) -> None:
        models = "+".join(map(short_name, tools.models_of(self.card)))
        self.name = f"{self.card.name}@{models}" if models else self.card.name

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:  # noqa: ARG002
        """What models are to make of pictures and texts first; raises `Unmeasured`."""
        return ()

    def load(self) -> None:
        """Load its models now, which is else done when they are first used."""
        for part in vars(self).values():
            if isinstance(part, Late):
                part.get()
            elif isinstance(part, Embedder):
                part.load()

    @abstractmethod
    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> Mapping[str, float]:
        """The values by name, from what was made of each wish; raises `Unmeasured`, or
        `ImageError` for a picture."""


class Tools:
    """The models to measure with, by what they are for; each is opened once, whoever uses it."""

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        self._models = dict(models or {})
        self._shared: dict[tuple[object, ...], Any] = {}

    def chosen(self, use: str) -> str | None:
        """The model that was chosen for a use, if one was."""
        return self._models.get(use)

    def models_of(self, card: GaugeCard) -> Iterator[str]:
        """The models that a gauge measures with, as far as they can be chosen."""
        for model in card.models:
            if model.use in self._models:
                yield self._models[model.use]
            elif model.comes in ("hub", "library"):
                yield model.default

    def share(self, kind: Callable[..., T], *arguments: object) -> T:
        """The one thing of a kind that these arguments make."""
        key = (kind, *arguments)
        if key not in self._shared:
            self._shared[key] = kind(*arguments)
        shared: T = self._shared[key]
        return shared


def gauge_names() -> tuple[str, ...]:
    """The names of all gauges."""
    return tuple(registry.metrics.names())


def gauge_kind(name: str) -> type[Gauge]:
    """The kind of gauge that is called so, to see its card."""
    return registry.metrics.get(name)


def open_gauges(names: Iterable[str], models: Mapping[str, str]) -> dict[str, Gauge]:
    """Gauges by their names, which share their models: those given, by what they are for."""
    tools = Tools(models)
    return {name: gauge_kind(name)(tools) for name in names}


MODELS = (
    "aesthetic", "boxes", "clip", "depth", "face", "imaging", "pose", "siglip", "style", "subject",
)  # fmt: skip
"""What gauges take models for, where one can be chosen."""


def unused(models: Iterable[str], gauges: Iterable[str]) -> list[str]:
    """The uses of models that none of these gauges has, by their names."""
    cards = [model for name in gauges for model in gauge_kind(name).card.models]
    used = {model.use for model in cards if model.comes != "shipped"}
    return [use for use in models if use not in used]


def check_uses(models: Iterable[str], gauges: Iterable[str]) -> None:
    """Refuse a model for which no gauge has a use."""
    for use in unused(models, gauges):
        raise CrevalError(f"--gauge {use}: nothing is measured with it here.")
