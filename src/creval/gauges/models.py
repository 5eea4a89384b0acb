"""Models of the transformers library, for gauges: loaded once, used by one thread at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from creval.core.errors import CrevalError
from creval.core.models import Missing, load_model


class Model:
    """A model and its processor, from the hub or from a folder, loaded when first used.

    `kind` is the transformers class that loads it (`AutoModel`), `method` one it must have. One
    that nobody has `chosen` is `Missing` where it cannot be had.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        method: str = "forward",
        *,
        chosen: bool = True,
        processor: str = "AutoProcessor",
    ) -> None:
        self.name = name
        self._kind, self._method, self._chosen, self._processor = kind, method, chosen, processor
        self._lock = Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._missing = ""

    @contextmanager
    def in_use(self) -> Iterator[tuple[Any, Any]]:
        """The processor and the model, for one thread at a time."""
        with self._lock:
            if self._missing:
                raise Missing(self._missing)
            if self._loaded is None:
                self._loaded = self._load()
            try:
                with import_module("torch").inference_mode():
                    yield self._loaded
            except ImportError as error:
                # Some processors look for their libraries only when called: OWLv2's for SciPy.
                reason = " ".join(str(error).split())
                raise CrevalError(f"{self.name} lacks a library: {reason}") from error

    def _load(self) -> tuple[Any, Any]:
        try:
            # Pictures come as float32, whatever the weights were saved as.
            processor, model = load_model(
                self.name, self._kind, dtype="float32", processor=self._processor
            )
        except CrevalError as error:
            if self._chosen and not isinstance(error, Missing):
                raise
            self._missing = str(error)
            raise Missing(self._missing) from error
        if not hasattr(model, self._method):
            found = type(model).__name__
            raise CrevalError(f"{self.name} is a {found}, which has no {self._method}.")
        return processor, model


def identity(name: str) -> str:
    """A model's name, with the state of its files where it lies in a folder or a file."""
    path = Path(name)
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        return name
    state = hashlib.blake2b(digest_size=8)
    for file in files:
        status = file.stat()
        state.update(f"{file.name}\x1f{status.st_size}\x1f{status.st_mtime_ns}\x1e".encode())
    return f"{path.resolve()}#{state.hexdigest()}"


def text_length(processor: Any, model: Any) -> int:
    """How many tokens of a text the model can read."""
    positions = model.config.text_config.max_position_embeddings
    return int(min(positions, processor.tokenizer.model_max_length))
