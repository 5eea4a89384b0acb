"""`python:module:function`: a function of the user's edits.

It is called with the source as a PIL image (or none), the instruction and the seed, and returns a
PIL image, or a file's path or content. Where it takes `mask` or `references`, it gets these too,
and what `--set` gives.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from creval.core.concurrency import aside
from creval.core.errors import CrevalError
from creval.core.images import ImageError, open_image, plain
from creval.editors.base import Editor, EditorOptions, Job, Produced, Ticket
from creval.editors.output_checks import read_picture
from creval.editors.worker_thread import Thread
from creval.providers.errors import Fault

_IN_PNG = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")  # modes that it can hold


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
        self._open = contextlib.ExitStack()

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "settings": self._settings}

    def takes(self, extra: str) -> bool:
        return extra == "source" or _takes(self._function, extra)

    async def open(self) -> None:
        self._thread, self._turn = _thread(), asyncio.Lock()
        self._open.enter_context(aside)

    async def close(self) -> None:
        self._open.close()
        self._thread.end()

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        del ticket
        self.leave_out(job)
        if inspect.iscoroutinefunction(self._function):
            content = await self._within(asyncio.ensure_future(self._awaited(job)))
        else:
            async with self._turn:  # so that none's time runs out while it waits for others
                content = await self._within(self._thread.do(lambda: self._called(job)))
        return Produced(content, cost=self.price)

    async def _within(self, making: asyncio.Future[bytes]) -> bytes:
        """What is made, if it is in time."""
        making.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            done, _ = await asyncio.wait([making], timeout=self._timeout)
        finally:
            making.cancel()
        if not done:
            self._thread.end()
            self._thread = _thread()
            raise Fault("timeout", f"it took more than {self._timeout:g} s")
        try:
            return making.result()
        except asyncio.CancelledError:
            raise Fault("the function failed", "it cancelled itself") from None

    def _called(self, job: Job) -> bytes:
        source, given = self._given(job)
        with _faults():
            return _content(self._function(source, **given))

    async def _awaited(self, job: Job) -> bytes:
        source, given = await asyncio.to_thread(self._given, job)
        with _faults():
            return await asyncio.to_thread(_content, await self._function(source, **given))

    def _given(self, job: Job) -> tuple[Image.Image | None, dict[str, Any]]:
        """The source, and what else the function takes."""
        given: dict[str, Any] = {"instruction": job.instruction, "seed": job.seed}
        try:
            source = None if job.source is None else open_image(job.source)
            if job.mask is not None and _takes(self._function, "mask"):
                given["mask"] = open_image(job.mask)
            if job.references and _takes(self._function, "references"):
                given["references"] = [open_image(path) for path in job.references]
        except ImageError as error:
            raise Fault("unreadable source", str(error), again=False) from None
        given |= self._settings
        return source, {n: value for n, value in given.items() if _takes(self._function, n)}


def _thread() -> Thread[bytes]:
    return Thread("creval-editor")


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    """Whatever a function raises is a fault of this call alone; a wish to exit, too."""
    try:
        yield
    except (Fault, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise Fault("the function failed", f"{type(error).__name__}: {error}") from error


def _found(where: str) -> Callable[..., Any]:
    module, colon, name = where.rpartition(":")
    if not colon or not module or not name:
        raise CrevalError(f"python:{where or '(nothing)'}: give python:MODULE:FUNCTION.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with aside:
            found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = "it exits" if isinstance(error, SystemExit) else error
        raise CrevalError(f"python:{where}: {module} cannot be imported: {reason}.") from error
    function = getattr(found, name, None)
    if not callable(function):
        raise CrevalError(f"python:{where}: {module} has no function {name!r}.")
    try:
        inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise CrevalError(f"python:{where}: {name} does not say what it takes.") from error
    made: Callable[..., Any] = function
    return made


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _content(made: Any) -> bytes:
    """A picture as a file's content."""
    if isinstance(made, bytes | bytearray | memoryview):
        return bytes(made)
    if isinstance(made, str | Path):
        return read_picture(Path(made))
    if isinstance(made, Image.Image):
        sent = io.BytesIO()
        (made if made.mode in _IN_PNG else plain(made)).save(sent, "PNG")
        return sent.getvalue()
    raise Fault("no picture", f"the function returned {type(made).__name__}", again=False)
