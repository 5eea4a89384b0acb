"""Model outputs (features) for images and texts, computed in batches and cached."""

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
"""The input of an extractor: an image or a text."""


class FeatureExtractor(ABC):
    """A model that computes an array for each image or text.

    `name` is part of the cache key: it must identify the model and its settings. All arrays are cached, so they should
    be small. `batch_size` is the number of inputs per call. The model is loaded at first use.
    """

    name: str
    batch_size = 16
    _model: Lazy[Any]

    def load(self) -> None:
        """Load the model now instead of at first use."""
        self._model.get()

    @abstractmethod
    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        """Return an array for each item. Calls are never concurrent."""


class ModelExtractor(FeatureExtractor):
    """An extractor whose model can be chosen.

    Its name consists of `kind` and a digest of the model's files, or the model's name if it is not local.
    """

    info: ClassVar[ModelInfo]
    kind: str

    def __init__(self, model: str | None = None) -> None:
        self.model, self._explicit = model or self.info.default, model is not None
        self.name = f"{self.kind}:{model_identity(self.model)}"
        self._model = Lazy(self._load, explicit=self._explicit)

    @abstractmethod
    def _load(self) -> Any:
        """Return the loaded model for `extract`. Raises `CrevalError` if it cannot be loaded."""


class TransformersExtractor(ModelExtractor):
    """A transformers model with its processor, loaded by `model_class`. The model must have `required_method`."""

    model_class = "AutoModel"
    required_method = "forward"
    processor_class = "AutoImageProcessor"

    def __init__(self, model: str | None = None) -> None:
        super().__init__(model)
        self._use_lock = Lock()

    @contextmanager
    def session(self) -> Iterator[tuple[Any, Any]]:
        """Provide the processor and the model to one thread at a time."""
        with self._use_lock:
            loaded = self._model.get()
            try:
                with import_module("torch").inference_mode():
                    yield loaded
            except ImportError as error:
                # Some processors import their libraries only when called: OWLv2's imports SciPy.
                reason = " ".join(str(error).split())
                kind = CrevalError if self._explicit else DependencyMissing
                raise kind(f"{self.model} lacks a library: {reason}") from error

    def _load(self) -> tuple[Any, Any]:
        # Images are float32, so the weights are converted from the type they were saved in.
        processor, model = load_model(self.model, self.model_class, dtype="float32", processor=self.processor_class)
        if not hasattr(model, self.required_method):
            found = type(model).__name__
            raise CrevalError(f"{self.model} cannot be used: its class {found} has no {self.required_method}.")
        return processor, model


def images_of(items: Sequence[ExtractorInput]) -> list[Image.Image]:
    """Return the decoded images of these inputs. Inputs that are texts are skipped."""
    return [item.image for item in items if isinstance(item, LazyImage)]


class FeatureRequest(NamedTuple):
    """A request for an extractor's output for an image or text."""

    extractor: FeatureExtractor
    item: ExtractorInput

    @property
    def key(self) -> str:
        """The cache key of the item: a digest of its content."""
        if isinstance(self.item, LazyImage):
            return self.item.digest
        return "text:" + hashlib.sha256(self.item.encode("utf-8", "surrogatepass")).hexdigest()


class FeatureStore(Protocol):
    """Persistent storage of arrays by extractor name and key."""

    def get(self, model: str, keys: Sequence[str]) -> dict[str, FeatureArray]: ...

    def put(self, model: str, features: Mapping[str, FeatureArray]) -> None: ...


class FeatureCache:
    """Cache of extractor outputs, shared by all threads.

    The most recent outputs are in memory. All outputs are written to the store, if there is one.
    """

    def __init__(self, store: FeatureStore | None = None, max_entries: int = 4096) -> None:
        self._store, self._max_entries = store, max_entries
        self._memory: OrderedDict[tuple[str, str], FeatureArray] = OrderedDict()
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()
        self._stopped = False

    def stop(self) -> None:
        """Stop after the batches in progress. Later requests raise `CrevalError`; computed features stay cached."""
        self._stopped = True

    def compute(self, requests: Iterable[FeatureRequest]) -> dict[tuple[str, str], FeatureArray | Exception]:
        """Return the features of each request by extractor name and key, or the error that prevented them.

        Raises `CrevalError` if a model that the user chose cannot be loaded.
        """
        by_extractor: dict[FeatureExtractor, dict[str, ExtractorInput]] = {}
        for request in requests:
            by_extractor.setdefault(request.extractor, {})[request.key] = request.item
        return {
            (extractor.name, key): result
            for extractor, items in by_extractor.items()
            for key, result in self._compute_for(extractor, items).items()
        }

    def _compute_for(
        self, extractor: FeatureExtractor, items: Mapping[str, ExtractorInput]
    ) -> dict[str, FeatureArray | Exception]:
        found: dict[str, FeatureArray | Exception] = {**self._find_cached(extractor, items)}
        for key, item in items.items():
            try:
                if key not in found and isinstance(item, LazyImage):
                    item.image  # noqa: B018 (decode before taking the lock, so that other threads need not wait)
            except (NotMeasurable, ImageError, OSError) as error:
                found[key] = error
        with self._lock:
            lock = self._locks.setdefault(extractor.name, Lock())
        with lock:
            # Another thread may have computed some in the meantime.
            missing = [key for key in items if key not in found]
            found.update(self._in_memory(extractor, missing))
            missing = [key for key in missing if key not in found]
            for start in range(0, len(missing), extractor.batch_size):
                if self._stopped:
                    raise CrevalError("stopped.")
                keys = missing[start : start + extractor.batch_size]
                results = _extract_each(extractor, [items[key] for key in keys])
                found.update(zip(keys, results, strict=True))
                good = {key: one for key, one in zip(keys, results, strict=True) if not isinstance(one, Exception)}
                self._put_in_memory(extractor, good)
                if good and self._store is not None:
                    self._store.put(extractor.name, good)
        return found

    def _find_cached(self, extractor: FeatureExtractor, items: Mapping[str, ExtractorInput]) -> dict[str, FeatureArray]:
        found = self._in_memory(extractor, items)
        missing = [key for key in items if key not in found]
        if missing and self._store is not None:
            stored = self._store.get(extractor.name, missing)
            stored = {key: vector for key, vector in stored.items() if _is_finite(vector)}
            self._put_in_memory(extractor, stored)
            found |= stored
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
    """Return the output for each item, or its error. If a batch fails, retry its items one by one."""
    try:
        return [vector if _is_finite(vector) else NonFiniteResult() for vector in extractor.extract(items)]
    except DependencyMissing as error:
        return [error] * len(items)
    except Exception as error:  # a third-party model can raise any error
        if isinstance(error, CrevalError) and not isinstance(error, ImageError):
            raise  # not caused by these images
        if len(items) == 1:
            return [error]
    return [result for item in items for result in _extract_each(extractor, [item])]


def _is_finite(vector: FeatureArray) -> bool:
    return bool(np.isfinite(vector).all())


def unit_vectors(vectors: FeatureArray) -> list[FeatureArray]:
    """Return the rows scaled to length 1. A row of length 0 becomes NaN."""
    found = vectors.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return list((found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32))


def cosine_similarity(a: FeatureArray, b: FeatureArray) -> float:
    """Return the cosine of the angle between two vectors. Raises `NonFiniteResult` if one has length 0."""
    one, other = a.astype(np.float64), b.astype(np.float64)
    length = np.linalg.norm(one) * np.linalg.norm(other)
    if not length:
        raise NonFiniteResult("the model returned a vector of length 0")
    return float(np.clip(one @ other / length, -1.0, 1.0))
