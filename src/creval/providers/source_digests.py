"""Digests of a user's code, to detect changes between starts of a run."""

from __future__ import annotations

import ast
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
    """Return the digests of an imported module's file and of all local files that it imports, directly or not.

    Local files are those in its package, or in the project folder that contains the module or package. Imports
    with computed names and files elsewhere are not included.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str):
        return {}
    start = Path(file).resolve()
    base = start.parent
    for _ in range(module.count(".") + (start.name == "__init__.py")):
        base = base.parent
    inside = base
    if base.name in _INSTALLED or base == Path(sysconfig.get_path("stdlib")).resolve():
        if "." not in module and start.name != "__init__.py":
            return digest_by_name([(start.name, start)])
        inside = base / module.partition(".")[0]
    found, waiting = {start}, [start]
    while waiting:
        for other in _imported_files(waiting.pop(), base):
            if other not in found and other.is_relative_to(inside):
                found.add(other)
                waiting.append(other)
    return digest_by_name((path.relative_to(base).as_posix(), path) for path in found)


def _imported_files(file: Path, base: Path) -> Iterator[Path]:
    """Yield the files that a Python file imports, including imports inside functions.

    Absolute imports are looked up in the folder `base`, relative ones from the file's own folder.
    """
    try:
        tree = ast.parse(file.read_bytes()) if file.suffix == ".py" else ast.Module([], [])
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(base, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = file.parents[node.level - 1] if 0 < node.level <= len(file.parents) else base
            names = [(folder, ".".join(filter(None, (node.module, alias.name)))) for alias in node.names]
        else:
            continue
        for folder, name in names:
            current = folder
            for part in name.split("."):
                current = current / part
                for path in (current.with_name(f"{part}.py"), current / "__init__.py"):
                    if path.is_file():
                        yield path.resolve()


def function_digest(function: Callable[..., Any]) -> dict[str, str]:
    """Return the digest of a function's source, by the function's name. For an object: that of its class.

    Empty if the source is not available.
    """
    code = function if inspect.isroutine(function) or isinstance(function, type) else type(function)
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError):
        return {}
    name = getattr(code, "__name__", "function")
    return {name: hashlib.blake2b(source.encode("utf-8", "replace"), digest_size=8).hexdigest()}


def command_digests(words: Iterable[str]) -> dict[str, str]:
    """Return the digests of a command's program and of the files among its arguments, including `--weights=FILE`."""
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
    """Return the digest of each of the named files that exists, by name."""
    found = {}
    for name, file in sorted(files):
        try:
            if file.is_file():
                found[name] = sampled_digest(file).hex()[:16]
        except OSError:  # the name is invalid, or the file is not readable
            continue
    return found
