"""Libraries and models that not everybody has, loaded when they are used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

from creval.core.aside import Aside
from creval.core.models import Missing

T = TypeVar("T")


class Late(Generic[T]):
    """What `load` makes, when it is first asked for; what was missing then stays missing."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._made: T | None = None
        self._missing = ""

    def get(self) -> T:
        if self._missing:
            raise Missing(self._missing)
        if self._made is None:
            try:
                with Aside():
                    self._made = self._load()
            except Missing as error:
                self._missing = str(error)
                raise
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
