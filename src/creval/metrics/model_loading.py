"""Libraries and models that not everybody has, loaded when they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from PIL import Image

from creval.core.concurrency import stdout_to_stderr
from creval.core.errors import CrevalError
from creval.core.file_digest import digest_files
from creval.core.images import MAX_PIXELS
from creval.metrics.metric_inputs import NotMeasurable
from creval.providers.huggingface import DependencyMissing

T = TypeVar("T")


@dataclass(frozen=True)
class ModelInfo:
    """A model that a metric measures with.

    `slot` is the word by which another is chosen (`--metric-model clip=MODEL`), `default` the one that is
    taken otherwise. `origin` tells from where: the `hub` (where `file` is one of its files), its
    `library`, which downloads it (to `file`, below the user's home, if that is known) or is
    `shipped` with it; or from nobody: it must be `given`, or can be (`optional`).
    """

    slot: str
    default: str
    megabytes: int
    licence: str
    home: str
    origin: str = "hub"
    file: str = "config.json"


class Lazy(Generic[T]):
    """What `load` makes at first use. A failure is an error if the model is `explicit`, else `DependencyMissing`."""

    def __init__(self, load: Callable[[], T], *, explicit: bool = False) -> None:
        self._load, self._explicit = load, explicit
        self._value: T | None = None
        self._missing_reason = ""
        self._lock = Lock()

    def get(self) -> T:
        with self._lock:
            if self._missing_reason:
                raise DependencyMissing(self._missing_reason)
            if self._value is None:
                try:
                    with stdout_to_stderr:
                        self._value = self._load()
                except CrevalError as error:
                    if self._explicit and not isinstance(error, DependencyMissing):
                        raise
                    self._missing_reason = str(error)
                    raise DependencyMissing(self._missing_reason) from error
            return self._value


def import_library(module: str, extra: str, purpose: str) -> Any:
    """A module; where it cannot be imported, the sentence that says what to install."""
    try:
        return import_module(module)
    except Exception as error:  # one that is there but broken raises almost anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DependencyMissing(
            f"{purpose} needs {module.partition('.')[0]}: pip install 'creval[{extra}]' ({reason})"
        ) from error


_DIGEST_LENGTH = 8  # characters of the state of a model's files


def model_identity(name: str) -> str:
    """A model's name or, where it lies in a folder or a file, the state of its files."""
    return files_digest(name) or name


def model_label(name: str) -> str:
    """A model's name to be read: files are known by what is in them, wherever they lie."""
    found = files_digest(name)
    return f"{Path(name).resolve().name}#{found[:_DIGEST_LENGTH]}" if found else name


def files_digest(name: str) -> str:
    """A digest of a model's files, by samples of what is in them; empty for one from elsewhere."""
    path = Path(name)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        return ""
    return digest_files((file.name, file) for file in files if file.is_file() and not file.name.startswith("."))


def check_processor_shapes(processor: Any, images: Iterable[Image.Image]) -> None:
    """Refuse pictures so long that a processor, which scales by the shorter side, would make them too large."""
    size = getattr(getattr(processor, "image_processor", processor), "size", None)
    sides = size if isinstance(size, Mapping) else getattr(size, "__dict__", {})
    if sides.get("shortest_edge") and not sides.get("longest_edge"):
        for image in images:
            check_shape(image, sides["shortest_edge"])


def check_shape(image: Image.Image, side: int) -> None:
    """Refuse a picture that would be too large, scaled until its shorter side is this long."""
    short, long = sorted(image.size)
    if side * side * long > MAX_PIXELS * short:
        raise NotMeasurable(f"a picture of {image.width} x {image.height} is too long to be seen")


def max_text_tokens(processor: Any, model: Any) -> int:
    """How many tokens of a text the model can read."""
    positions = model.config.text_config.max_position_embeddings
    return int(min(positions, processor.tokenizer.model_max_length))
