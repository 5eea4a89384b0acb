"""Loading of optional libraries and models at first use."""

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
    """A model that a metric uses.

    `slot` is its key in `--metric-model clip=MODEL`. `default` is used if no other is chosen. `origin` is one of:

    - `hub`: downloaded from the Hugging Face hub; `file` is one of its files.
    - `library`: downloaded by its library, to `file` below the user's home if that is known.
    - `shipped`: included in its library.
    - `given`: the user must download it and choose its file.
    - `optional`: only used if the user chooses one. The metric also works without it.
    """

    slot: str
    default: str
    megabytes: int
    licence: str
    home: str
    origin: str = "hub"
    file: str = "config.json"


class Lazy(Generic[T]):
    """A value that `load` creates at first use.

    If loading fails, the error is raised if the user chose the model (`explicit`). Otherwise `DependencyMissing` is
    raised, also at each later use.
    """

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
    """Import a module. If that fails, raise `DependencyMissing` with the extra to install."""
    try:
        return import_module(module)
    except Exception as error:  # a broken installation can raise any error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DependencyMissing(
            f"{purpose} needs {module.partition('.')[0]}: pip install 'creval[{extra}]' ({reason})"
        ) from error


_DIGEST_LENGTH = 8  # characters of the digest in a label


def model_identity(name: str) -> str:
    """Return the digest of a local model's files, or the given name if the model is not local."""
    return files_digest(name) or name


def model_label(name: str) -> str:
    """Return a readable name of a model. A local model is named by its file name and a digest, not by its path."""
    found = files_digest(name)
    return f"{Path(name).resolve().name}#{found[:_DIGEST_LENGTH]}" if found else name


def files_digest(name: str) -> str:
    """Return a digest of a local model's files, based on samples of their content. Empty if the model is not local."""
    path = Path(name)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        return ""
    return digest_files((file.name, file) for file in files if file.is_file() and not file.name.startswith("."))


def check_processor_shapes(processor: Any, images: Iterable[Image.Image]) -> None:
    """Raise `NotMeasurable` if a processor that scales by the shorter side would make an image too large."""
    size = getattr(getattr(processor, "image_processor", processor), "size", None)
    sides = size if isinstance(size, Mapping) else getattr(size, "__dict__", {})
    if sides.get("shortest_edge") and not sides.get("longest_edge"):
        for image in images:
            check_shape(image, sides["shortest_edge"])


def check_shape(image: Image.Image, side: int) -> None:
    """Raise `NotMeasurable` if an image exceeds the pixel limit when its shorter side is scaled to this length."""
    short, long = sorted(image.size)
    if side * side * long > MAX_PIXELS * short:
        raise NotMeasurable(
            f"extreme aspect ratio: {image.width} x {image.height} exceeds the pixel limit when scaled for the model"
        )


def max_text_tokens(processor: Any, model: Any) -> int:
    """Return the maximum number of text tokens that the model accepts."""
    positions = model.config.text_config.max_position_embeddings
    return int(min(positions, processor.tokenizer.model_max_length))
