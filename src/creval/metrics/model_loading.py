"""Libraries and models that not everybody has, loaded when they are used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from PIL import Image

from creval.core.concurrency import aside
from creval.core.errors import CrevalError
from creval.core.images import MOST_PIXELS
from creval.metrics.inputs import Unmeasured
from creval.providers.huggingface import Missing, load_model

T = TypeVar("T")


class Late(Generic[T]):
    """What `load` makes, when it is first asked for; what was missing then stays missing.

    What somebody has `chosen` and cannot be had is an error; anything else is `Missing`.
    """

    def __init__(self, load: Callable[[], T], *, chosen: bool = False) -> None:
        self._load, self._chosen = load, chosen
        self._made: T | None = None
        self._missing = ""
        self._lock = Lock()

    def get(self) -> T:
        with self._lock:
            if self._missing:
                raise Missing(self._missing)
            if self._made is None:
                try:
                    with aside:
                        self._made = self._load()
                except CrevalError as error:
                    if self._chosen and not isinstance(error, Missing):
                        raise
                    self._missing = str(error)
                    raise Missing(self._missing) from error
            return self._made


def library(module: str, extra: str, what: str) -> Any:
    """A module; where it cannot be imported, the sentence that says what to install."""
    try:
        return import_module(module)
    except Exception as error:  # one that is there but broken raises almost anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise Missing(
            f"{what} needs {module.partition('.')[0]}: pip install 'creval[{extra}]' ({reason})"
        ) from error


_EVERY, _SAMPLE, _END = 1 << 18, 1 << 12, 1 << 26  # bytes of a file of weights
_SHOWN = 8  # characters of the state of a model's files


class Model(Late[tuple[Any, Any]]):
    """A processor and its model, from the hub or from a folder, loaded when first used.

    `kind` is the transformers class that loads it (`AutoModel`), `method` one it must have.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        method: str = "forward",
        *,
        chosen: bool,
        processor: str = "AutoProcessor",
    ) -> None:
        super().__init__(self._loaded, chosen=chosen)
        self.name = name
        self._kind, self._method, self._processor = kind, method, processor
        self._use = Lock()

    @contextmanager
    def in_use(self) -> Iterator[tuple[Any, Any]]:
        """The processor and the model, for one thread at a time."""
        with self._use:
            loaded = self.get()
            try:
                with import_module("torch").inference_mode():
                    yield loaded
            except ImportError as error:
                # Some processors look for their libraries only when called: OWLv2's for SciPy.
                reason = " ".join(str(error).split())
                kind = CrevalError if self._chosen else Missing
                raise kind(f"{self.name} lacks a library: {reason}") from error

    def _loaded(self) -> tuple[Any, Any]:
        # Pictures come as float32, whatever the weights were saved as.
        processor, model = load_model(
            self.name, self._kind, dtype="float32", processor=self._processor
        )
        if not hasattr(model, self._method):
            found = type(model).__name__
            raise CrevalError(f"{self.name} is a {found}, which has no {self._method}.")
        return processor, model


def identity(name: str) -> str:
    """A model's name or, where it lies in a folder or a file, the state of its files."""
    return state(name) or name


def short_name(name: str) -> str:
    """A model's name to be read: files are known by what is in them, wherever they lie."""
    found = state(name)
    return f"{Path(name).resolve().name}#{found[:_SHOWN]}" if found else name


def state(name: str) -> str:
    """A digest of a model's files, by samples of what is in them; empty for one from elsewhere."""
    path = Path(name)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        return ""
    found = hashlib.blake2b(digest_size=8)
    for file in (file for file in files if file.is_file() and not file.name.startswith(".")):
        there = file.stat()
        found.update(f"{file.name}\x1f{there.st_size}\x1e".encode())
        found.update(_sampled(file.resolve(), there.st_size, there.st_mtime_ns))
    return found.hexdigest()


@lru_cache(maxsize=1024)
def _sampled(file: Path, size: int, changed: int) -> bytes:  # noqa: ARG001 (tells files apart)
    """A digest of some bytes in every stretch that a layer could be, and of the whole end, where
    the last layers are and PyTorch's files hold checksums; a small file is all end."""
    found = hashlib.blake2b(digest_size=16)
    with file.open("rb", buffering=0) as content:
        for at in range(0, size - _END, _EVERY):
            content.seek(at)
            found.update(content.read(_SAMPLE))
        content.seek(max(0, size - _END))
        found.update(content.read(_END))
    return found.digest()


def check_shapes(processor: Any, pictures: Iterable[Image.Image]) -> None:
    """Refuse pictures so long that a processor, which scales by the shorter side, would make them
    too large."""
    size = getattr(getattr(processor, "image_processor", processor), "size", None)
    sides = size if isinstance(size, Mapping) else getattr(size, "__dict__", {})
    if sides.get("shortest_edge") and not sides.get("longest_edge"):
        for picture in pictures:
            check_shape(picture, sides["shortest_edge"])


def check_shape(picture: Image.Image, side: int) -> None:
    """Refuse a picture that would be too large, scaled until its shorter side is this long."""
    short, long = sorted(picture.size)
    if side * side * long > MOST_PIXELS * short:
        raise Unmeasured(f"a picture of {picture.width} x {picture.height} is too long to be seen")


def text_length(processor: Any, model: Any) -> int:
    """How many tokens of a text the model can read."""
    positions = model.config.text_config.max_position_embeddings
    return int(min(positions, processor.tokenizer.model_max_length))
