"""`python:module:function`: a function of the user's edits.

It is called with the source as a PIL image (or none), the instruction and the seed, and returns a
PIL image, or a file's path or content. Where it takes `mask` or `references`, it gets these too,
and what `--set` gives.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import open_image
from creval.editors.editor import Editor, EditorOptions, Job, Produced, Ticket
from creval.judges.judge import Fault


class Function(Editor):
    """A function in a thread, one call after another unless it is a coroutine."""

    def __init__(self, name: str, where: str, options: EditorOptions) -> None:
        self.name, self.model, self.learned = name, where, []
        self._function = _found(where)
        self._settings = dict(options.settings)
        for setting in self._settings:
            if not _takes(self._function, setting):
                raise CrevalError(f"--set {setting}: python:{where} takes no such argument.")
        self.price = options.price
        self._timeout = options.timeout

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "settings": self._settings}

    async def open(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-editor")

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        del ticket
        given: dict[str, Any] = {"instruction": job.instruction, "seed": job.seed}
        given |= {"mask": _opened(job.mask)} if job.mask is not None else {}
        references = [open_image(path) for path in job.references]
        given |= {"references": references} if references else {}
        named = (n for n in ("mask", "references") if not _takes(self._function, n))
        self.without(job, *named)
        taken = {n: v for n, v in (given | self._settings).items() if _takes(self._function, n)}
        try:
            if inspect.iscoroutinefunction(self._function):
                made = await asyncio.wait_for(
                    self._function(_opened(job.source), **taken), self._timeout
                )
            else:
                loop = asyncio.get_running_loop()
                made = await asyncio.wait_for(
                    loop.run_in_executor(self._thread, lambda: self._call(job, taken)),
                    self._timeout,
                )
        except asyncio.TimeoutError as error:
            raise Fault("timeout", f"it took more than {self._timeout:g} s") from error
        except Exception as error:
            raise Fault("the function failed", f"{type(error).__name__}: {error}") from error
        return Produced(_content(made), cost=self.price)

    def _call(self, job: Job, taken: dict[str, Any]) -> Any:
        return self._function(_opened(job.source), **taken)


def _found(where: str) -> Callable[..., Any]:
    module, colon, name = where.rpartition(":")
    if not colon or not module or not name:
        raise CrevalError(f"python:{where or '(nothing)'}: give python:MODULE:FUNCTION.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except Exception as error:
        raise CrevalError(f"python:{where}: {module} cannot be imported: {error}.") from error
    function = getattr(found, name, None)
    if not callable(function):
        raise CrevalError(f"python:{where}: {module} has no function {name!r}.")
    made: Callable[..., Any] = function
    return made


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _opened(path: Path | None) -> Image.Image | None:
    return None if path is None else open_image(path)


def _content(made: Any) -> bytes:
    """A picture as a file's content."""
    if isinstance(made, bytes):
        return made
    if isinstance(made, str | Path):
        return Path(made).read_bytes()
    if isinstance(made, Image.Image):
        sent = io.BytesIO()
        made.save(sent, "PNG")
        return sent.getvalue()
    raise Fault("no picture", f"the function returned {type(made).__name__}", again=False)
