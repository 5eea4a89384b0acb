"""What models make of pictures and texts: made in batches, once, and kept."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.metrics.inputs import NoNumber, Picture, Unmeasured
from creval.metrics.model_loading import Late
from creval.providers.huggingface import Missing

Vector = NDArray[Any]
Thing = Picture | str
"""What a model looks at, or reads."""


class Embedder(ABC):
    """A model that makes an array of each picture or text.

    `name` stands for all that its arrays depend on, so that those that are kept can be taken again.
    All are kept: they are to be small. `batch` is how many it takes at a time. The model is made
    when it is first used.
    """

    name: str
    batch = 16
    _model: Late[Any]

    def load(self) -> None:
        """Load its model now, which is else done when it is first used."""
        self._model.get()

    @abstractmethod
    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        """An array for each; one thread calls it at a time."""


class Wish(NamedTuple):
    """That an embedder look at something."""

    embedder: Embedder
    thing: Thing

    @property
    def key(self) -> str:
        """The name of what is looked at, by its content."""
        if isinstance(self.thing, Picture):
            return self.thing.digest
        return "text:" + hashlib.sha256(self.thing.encode("utf-8", "surrogatepass")).hexdigest()


class Keeper(Protocol):
    """Keeps arrays by model and key."""

    def get(self, model: str, keys: Sequence[str]) -> dict[str, Vector]: ...

    def put(self, model: str, made: Mapping[str, Vector]) -> None: ...


class Embeddings:
    """All that models made: the last few thousand in memory, and every one with the keeper.

    Several threads may share it; what two of them wish for is made once.
    """

    def __init__(self, keeper: Keeper | None = None, most: int = 4096) -> None:
        self._keeper, self._most = keeper, most
        self._held: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()
        self._stopped = False

    def stop(self) -> None:
        """Make nothing more after the batches that models are at: who wishes for more is refused.
        What was made is kept."""
        self._stopped = True

    def grant(self, wishes: Iterable[Wish]) -> dict[tuple[str, str], Vector | Exception]:
        """What was made of each wish, by its embedder's name and its key; or why it was not.

        A model that was chosen and cannot be had raises its error.
        """
        found: dict[tuple[str, str], Vector | Exception] = {}
        open_: dict[Embedder, dict[str, Thing]] = {}
        for wish in wishes:
            open_.setdefault(wish.embedder, {})[wish.key] = wish.thing
        for embedder, things in open_.items():
            for key, made in self._grant(embedder, things).items():
                found[embedder.name, key] = made
        return found

    def _grant(
        self, embedder: Embedder, things: Mapping[str, Thing]
    ) -> dict[str, Vector | Exception]:
        found: dict[str, Vector | Exception] = {**self._known(embedder, things)}
        for key, thing in things.items():
            try:
                if key not in found and isinstance(thing, Picture):
                    thing.image  # noqa: B018 (decoded here, where other threads need not wait)
            except (Unmeasured, ImageError, OSError) as error:
                found[key] = error
        with self._lock:
            lock = self._locks.setdefault(embedder.name, Lock())
        with lock:
            # Another thread may have made some meanwhile.
            left = [key for key in things if key not in found]
            found.update(self._in_memory(embedder, left))
            left = [key for key in left if key not in found]
            for start in range(0, len(left), embedder.batch):
                if self._stopped:
                    raise CrevalError("stopped.")
                keys = left[start : start + embedder.batch]
                made = _made(embedder, [things[key] for key in keys])
                found.update(zip(keys, made, strict=True))
                self._keep(embedder, dict(zip(keys, made, strict=True)))
        return found

    def _known(self, embedder: Embedder, things: Mapping[str, Thing]) -> dict[str, Vector]:
        found = self._in_memory(embedder, things)
        left = [key for key in things if key not in found]
        if left and self._keeper is not None:
            kept = self._keeper.get(embedder.name, left)
            kept = {key: vector for key, vector in kept.items() if _finite(vector)}
            self._remember(embedder, kept)
            found |= kept
        return found

    def _in_memory(self, embedder: Embedder, keys: Iterable[str]) -> dict[str, Vector]:
        with self._lock:
            return {
                k: self._held[embedder.name, k] for k in keys if (embedder.name, k) in self._held
            }

    def _keep(self, embedder: Embedder, made: Mapping[str, Vector | Exception]) -> None:
        good = {key: one for key, one in made.items() if not isinstance(one, Exception)}
        if not good:
            return
        self._remember(embedder, good)
        if self._keeper is not None:
            self._keeper.put(embedder.name, good)

    def _remember(self, embedder: Embedder, made: Mapping[str, Vector]) -> None:
        with self._lock:
            for key, vector in made.items():
                self._held[embedder.name, key] = vector
                self._held.move_to_end((embedder.name, key))
            while len(self._held) > self._most:
                self._held.popitem(last=False)


def _made(embedder: Embedder, things: Sequence[Thing]) -> list[Vector | Exception]:
    """What a model makes of each; where it fails at several, each is tried alone."""
    try:
        return [made if _finite(made) else NoNumber() for made in embedder.embed(things)]
    except Missing as error:
        return [error] * len(things)
    except (ImageError, OSError) as error:
        if len(things) == 1:
            return [error]
    except CrevalError:
        raise  # it is not about these pictures
    except Exception as error:  # somebody else's model
        if len(things) == 1:
            return [error]
    return [made for thing in things for made in _made(embedder, [thing])]


def _finite(vector: Vector) -> bool:
    return bool(np.isfinite(vector).all())


def units(vectors: Vector) -> list[Vector]:
    """Vectors, one a row, each made 1 long; what has no length has no numbers then."""
    found = vectors.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return list((found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32))


def cosine(a: Vector, b: Vector) -> float:
    """The cosine of the angle between two vectors; raises `NoNumber` where one has no length."""
    one, other = a.astype(np.float64), b.astype(np.float64)
    length = np.linalg.norm(one) * np.linalg.norm(other)
    if not length:
        raise NoNumber("the model gave a vector without a direction")
    return float(np.clip(one @ other / length, -1.0, 1.0))
