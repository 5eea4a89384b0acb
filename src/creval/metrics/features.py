"""What models make of images and texts: made in batches, once, and cached."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.metrics.metric_inputs import LazyImage, NonFiniteResult, NotMeasurable
from creval.metrics.model_loading import Lazy, ModelInfo, model_identity
from creval.providers.huggingface import DependencyMissing, load_model

FeatureArray = NDArray[Any]
ExtractorInput = LazyImage | str
"""What a model looks at, or reads."""


class FeatureExtractor(ABC):
    """A model that makes an array of each picture or text.

    `name` stands for all that its arrays depend on, so that those that are kept can be taken again. All are kept:
    they are to be small. `batch_size` is how many it takes at a time. The model is made when it is first used.
    """

    name: str
    batch_size = 16
    _model: Lazy[Any]

    def load(self) -> None:
        """Load its model now, which is else done when it is first used."""
        self._model.get()

    @abstractmethod
    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        """An array for each; one thread calls it at a time."""


class ModelExtractor(FeatureExtractor):
    """An extractor whose model can be chosen; `kind` and the state of the model's files make its name."""

    info: ClassVar[ModelInfo]
    kind: str

    def __init__(self, model: str | None = None) -> None:
        self.model, self._explicit = model or self.info.default, model is not None
        self.name = f"{self.kind}:{model_identity(self.model)}"
        self._model = Lazy(self._load, explicit=self._explicit)

    @abstractmethod
    def _load(self) -> Any:
        """Return what `extract` works with; `CrevalError` where that cannot be had."""


class TransformersExtractor(ModelExtractor):
    """A transformers model with its processor, loaded by `model_class`; it must have `required_method`."""

    model_class = "AutoModel"
    required_method = "forward"
    processor_class = "AutoImageProcessor"

    def __init__(self, model: str | None = None) -> None:
        super().__init__(model)
        self._use_lock = Lock()

    @contextmanager
    def session(self) -> Iterator[tuple[Any, Any]]:
        """The processor and the model, for one thread at a time."""
        with self._use_lock:
            loaded = self._model.get()
            try:
                with import_module("torch").inference_mode():
                    yield loaded
            except ImportError as error:
                # Some processors look for their libraries only when called: OWLv2's for SciPy.
                reason = " ".join(str(error).split())
                kind = CrevalError if self._explicit else DependencyMissing
                raise kind(f"{self.model} lacks a library: {reason}") from error

    def _load(self) -> tuple[Any, Any]:
        # Images come as float32, whatever the weights were saved as.
        processor, model = load_model(self.model, self.model_class, dtype="float32", processor=self.processor_class)
        if not hasattr(model, self.required_method):
            found = type(model).__name__
            raise CrevalError(f"{self.model} is a {found}, which has no {self.required_method}.")
        return processor, model


def images_of(items: Sequence[ExtractorInput]) -> list[Image.Image]:
    """Return the decoded images among some inputs."""
    return [item.image for item in items if isinstance(item, LazyImage)]


class FeatureRequest(NamedTuple):
    """A request that an extractor look at something."""

    extractor: FeatureExtractor
    item: ExtractorInput

    @property
    def key(self) -> str:
        """Return the name of what is looked at, by its content."""
        if isinstance(self.item, LazyImage):
            return self.item.digest
        return "text:" + hashlib.sha256(self.item.encode("utf-8", "surrogatepass")).hexdigest()


class FeatureStore(Protocol):
    """A store of arrays by model and key."""

    def get(self, model: str, keys: Sequence[str]) -> dict[str, FeatureArray]: ...

    def put(self, model: str, features: Mapping[str, FeatureArray]) -> None: ...


class FeatureCache:
    """What models made, once for all threads: the last few thousand in memory, and every one in the store."""

    def __init__(self, store: FeatureStore | None = None, max_entries: int = 4096) -> None:
        self._store, self._max_entries = store, max_entries
        self._memory: OrderedDict[tuple[str, str], FeatureArray] = OrderedDict()
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()
        self._stopped = False

    def stop(self) -> None:
        """Make nothing more after the batches in progress: later requests are refused, and what was made is kept."""
        self._stopped = True

    def compute(self, requests: Iterable[FeatureRequest]) -> dict[tuple[str, str], FeatureArray | Exception]:
        """Return what was made of each request, by extractor and key, or why not; a chosen model may raise."""
        by_extractor: dict[FeatureExtractor, dict[str, ExtractorInput]] = {}
        for request in requests:
            by_extractor.setdefault(request.extractor, {})[request.key] = request.item
        return {
            (extractor.name, key): made
            for extractor, items in by_extractor.items()
            for key, made in self._compute_for(extractor, items).items()
        }

    def _compute_for(
        self, extractor: FeatureExtractor, items: Mapping[str, ExtractorInput]
    ) -> dict[str, FeatureArray | Exception]:
        found: dict[str, FeatureArray | Exception] = {**self._find_cached(extractor, items)}
        for key, thing in items.items():
            try:
                if key not in found and isinstance(thing, LazyImage):
                    thing.image  # noqa: B018 (decoded here, where other threads need not wait)
            except (NotMeasurable, ImageError, OSError) as error:
                found[key] = error
        with self._lock:
            lock = self._locks.setdefault(extractor.name, Lock())
        with lock:
            # Another thread may have made some meanwhile.
            left = [key for key in items if key not in found]
            found.update(self._in_memory(extractor, left))
            left = [key for key in left if key not in found]
            for start in range(0, len(left), extractor.batch_size):
                if self._stopped:
                    raise CrevalError("stopped.")
                keys = left[start : start + extractor.batch_size]
                made = _extract_each(extractor, [items[key] for key in keys])
                found.update(zip(keys, made, strict=True))
                good = {key: one for key, one in zip(keys, made, strict=True) if not isinstance(one, Exception)}
                self._put_in_memory(extractor, good)
                if good and self._store is not None:
                    self._store.put(extractor.name, good)
        return found

    def _find_cached(self, extractor: FeatureExtractor, items: Mapping[str, ExtractorInput]) -> dict[str, FeatureArray]:
        found = self._in_memory(extractor, items)
        left = [key for key in items if key not in found]
        if left and self._store is not None:
            kept = self._store.get(extractor.name, left)
            kept = {key: vector for key, vector in kept.items() if _is_finite(vector)}
            self._put_in_memory(extractor, kept)
            found |= kept
        return found

    def _in_memory(self, extractor: FeatureExtractor, keys: Iterable[str]) -> dict[str, FeatureArray]:
        with self._lock:
            return {k: self._memory[extractor.name, k] for k in keys if (extractor.name, k) in self._memory}

    def _put_in_memory(self, extractor: FeatureExtractor, features: Mapping[str, FeatureArray]) -> None:
        with self._lock:
            for key, vector in features.items():
                self._memory[extractor.name, key] = vector
                self._memory.move_to_end((extractor.name, key))
            while len(self._memory) > self._max_entries:
                self._memory.popitem(last=False)


def _extract_each(extractor: FeatureExtractor, items: Sequence[ExtractorInput]) -> list[FeatureArray | Exception]:
    """Return what a model makes of each; where it fails at several, each is tried alone."""
    try:
        return [made if _is_finite(made) else NonFiniteResult() for made in extractor.extract(items)]
    except DependencyMissing as error:
        return [error] * len(items)
    except Exception as error:  # somebody else's model
        if isinstance(error, CrevalError) and not isinstance(error, ImageError):
            raise  # it is not about these images
        if len(items) == 1:
            return [error]
    return [made for thing in items for made in _extract_each(extractor, [thing])]


def _is_finite(vector: FeatureArray) -> bool:
    return bool(np.isfinite(vector).all())


def unit_vectors(vectors: FeatureArray) -> list[FeatureArray]:
    """Vectors, one a row, each made 1 long; what has no length has no numbers then."""
    found = vectors.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return list((found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32))


def cosine_similarity(a: FeatureArray, b: FeatureArray) -> float:
    """The cosine of the angle between two vectors; raises `NonFiniteResult` where one has no length."""
    one, other = a.astype(np.float64), b.astype(np.float64)
    length = np.linalg.norm(one) * np.linalg.norm(other)
    if not length:
        raise NonFiniteResult("the model gave a vector without a direction")
    return float(np.clip(one @ other / length, -1.0, 1.0))
