"""Registries of named objects. Objects are built in, come from installed packages, or are registered at run time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Generic, TypeVar, cast

from creval.core.errors import CrevalError, require_known

T = TypeVar("T")
V = TypeVar("V")
THIS_SESSION = "this session"
"""Origin of an object that was registered at run time."""


class Registry(Generic[T]):
    """Named objects of one kind, imported on first use.

    `builtins` gives the location of each built-in object as `module:attribute`, or as the path of a text file. Other
    packages add objects through the entry-point group `creval.<kind>s`, and notebooks by calling `register`.

    >>> colours = Registry[int]("colour", {})
    >>> colours.register("red", 0xFF0000)
    16711680
    >>> colours.get("red")
    16711680
    """

    def __init__(self, kind: str, builtins: Mapping[str, str | Path]) -> None:
        self.kind, self.group = kind, f"creval.{kind.rpartition(' ')[2]}s"
        self._builtins = dict(builtins)
        self._registered: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        return {found.name: found for found in entry_points(group=self.group)}

    def names(self) -> list[str]:
        """Return all names: built-in, then installed, then registered ones."""
        return list(dict.fromkeys([*self._builtins, *self._entry_points, *self._registered]))

    def __contains__(self, name: str) -> bool:
        return name in self._registered or name in self._builtins or name in self._entry_points

    def origin(self, name: str) -> str:
        """Return the package of an object.

        It is `this session` if the object was registered at run time, and "" if it is part of creval.
        """
        if name in self._registered:
            return THIS_SESSION
        if name in self._builtins:
            return ""
        package = self._entry_points[name].dist
        return package.name if package is not None else self._entry_points[name].value

    def label(self, name: str) -> str:
        """Return the name, followed by the origin if the object is not part of creval."""
        origin = self.origin(name)
        return f"{name} ({origin})" if origin else name

    def get(self, name: str) -> T:
        """Return the object of this name; raises `CrevalError` with a suggestion if the name is unknown."""
        if name in self._registered:
            return self._registered[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> T:
        if name in self._builtins:
            place = self._builtins[name]
            if isinstance(place, Path):
                return cast(T, place.read_text(encoding="utf-8"))
            module, _, attribute = place.partition(":")
            return cast(T, getattr(import_module(module), attribute))
        entry = self._entry_points[require_known(self.kind, name, self.names())]
        try:
            return cast(T, entry.load())
        except Exception as error:  # code of another package
            raise CrevalError(f"{self.kind} {name!r} ({entry.value}) fails: {error!r}.") from error

    def register(self, name: str, value: T) -> T:
        """Register an object under a name, replacing one that was registered before."""
        if name in self._builtins:
            raise CrevalError(f"creval already has a built-in {self.kind} {name!r}. Choose another name.")
        self._registered[name] = value
        return value

    def decorator(self, name: str) -> Callable[[V], V]:
        """Return a decorator that registers the decorated object."""

        def register(value: V) -> V:
            self.register(name, cast(T, value))
            return value

        return register


def create(base: type[T], factory: Callable[..., object], name: str, *arguments: object) -> T:
    """Create a judge or an editor with the factory of another package.

    The factory is called with the name and the arguments, or without arguments if it does not accept these.
    """
    try:
        given = (name, *arguments)
        try:
            inspect.signature(factory).bind(*given)
        except TypeError:
            given = ()
        made = factory(*given)
    except CrevalError:
        raise
    except Exception as error:  # code of another package
        raise CrevalError(f"{name} fails: {error!r}.") from error
    return adopt(base, made, name)


def adopt(base: type[T], made: object, name: str) -> T:
    """Check that an object is an instance of `base`, and set `name`, `model` and `notes` if they are missing."""
    if not isinstance(made, base):
        raise CrevalError(f"{name} is not a creval {base.__name__}.")
    for attribute, value in (("name", name), ("model", name), ("notes", [])):
        if not hasattr(made, attribute):
            setattr(made, attribute, value)
    return made
