"""Digests of a user's code, by which a run knows that it has changed."""

from __future__ import annotations

import hashlib
import inspect
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from creval.core.file_digest import sampled_digest

_INSTALLED = ("site-packages", "dist-packages")


def module_digests(module: str) -> dict[str, str]:
    """Return the digests of an imported module's file, and of those that are imported from its package or folder."""
    file = _module_file(module)
    if file is None:
        return {}
    package = file.parent
    for _ in range(module.count(".") - ("." in module and file.name != "__init__.py")):
        package = package.parent
    files = {file.relative_to(package).as_posix(): file}
    library = Path(sysconfig.get_path("stdlib")).resolve()
    if package.name not in _INSTALLED and package != library:
        for other in list(sys.modules):
            found = _module_file(other) if other.partition(".")[0] != "creval" else None
            if found is None or not found.is_relative_to(package) or found.is_relative_to(library):
                continue
            inside = found.relative_to(package)
            if not set(_INSTALLED) & set(inside.parts):
                files[inside.as_posix()] = found
    return digest_by_name(files.items())


def function_digest(function: Callable[..., Any]) -> dict[str, str]:
    """Return the digest of the source of a function or of an object's class; nothing if there is no source."""
    code = function if inspect.isroutine(function) or isinstance(function, type) else type(function)
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError):
        return {}
    name = getattr(code, "__name__", "function")
    return {name: hashlib.blake2b(source.encode("utf-8", "replace"), digest_size=8).hexdigest()}


def command_digests(words: Iterable[str]) -> dict[str, str]:
    """Return the digests of the program and of the files among a command's words, also as in `--weights=FILE`."""
    return digest_by_name(_command_files(words))


def _command_files(words: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for position, word in enumerate(words):
        if position == 0:
            if program := shutil.which(word):
                yield word, Path(program)
            continue
        for text in (word, word.partition("=")[2]):
            if text and "\0" not in text and len(text) < 4096:
                yield text, Path(text)


def digest_by_name(files: Iterable[tuple[str, Path]]) -> dict[str, str]:
    """Return the digest of each of these files that is there."""
    found = {}
    for name, file in sorted(files):
        try:
            if file.is_file():
                found[name] = sampled_digest(file).hex()[:16]
        except OSError:  # it has a name that none can have, or may not be read
            continue
    return found


def _module_file(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None
