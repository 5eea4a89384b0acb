"""Libraries and models that not everybody has, loaded when they are used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Any, Generic, TypeVar

from creval.core.contexts import aside
from creval.core.errors import CrevalError
from creval.core.models import Missing

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
