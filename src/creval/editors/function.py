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

from creval.core.concurrency import stdout_to_stderr
from creval.core.errors import CrevalError
from creval.core.images import ImageError, normalise_image, open_image
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.output_checks import read_image_bytes
from creval.editors.worker_thread import DaemonWorker
from creval.providers.call_errors import CallError

_PNG_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")  # modes that it can hold


class FunctionEditor(Editor):
    """A function in a thread, one call after another unless it is a coroutine."""

    def __init__(self, name: str, where: str, options: EditorOptions) -> None:
        self.name, self.model, self.notes = name, where, []
        self._function = _import_function(where)
        self._settings = dict(options.settings)
        for setting in self._settings:
            if not _accepts_argument(self._function, setting):
                raise CrevalError(f"`settings` {setting}: python:{where} takes no such argument.")
        self.price = options.price
        self._timeout = options.timeout
        self._exit_stack = contextlib.ExitStack()

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "settings": self._settings}

    def accepts(self, extra: str) -> bool:
        return extra == "source" or _accepts_argument(self._function, extra)

    async def open(self) -> None:
        self._worker, self._call_lock = _start_worker(), asyncio.Lock()
        self._exit_stack.enter_context(stdout_to_stderr)

    async def close(self) -> None:
        self._exit_stack.close()
        self._worker.stop()

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        self.note_ignored_inputs(job)
        if inspect.iscoroutinefunction(self._function):
            content = await self._with_timeout(asyncio.ensure_future(self._call_async(job)))
        else:
            async with self._call_lock:  # so that none's time runs out while it waits for others
                content = await self._with_timeout(self._worker.submit(lambda: self._call(job)))
        return EditOutput(content, cost=self.price)

    async def _with_timeout(self, making: asyncio.Future[bytes]) -> bytes:
        """What is made, if it is in time."""
        making.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            done, _ = await asyncio.wait([making], timeout=self._timeout)
        finally:
            making.cancel()
        if not done:
            self._worker.stop()
            self._worker = _start_worker()
            raise CallError("timeout", f"it took more than {self._timeout:g} s")
        try:
            return making.result()
        except asyncio.CancelledError:
            raise CallError("the function failed", "it cancelled itself") from None

    def _call(self, job: EditRequest) -> bytes:
        source, given = self._build_arguments(job)
        with _errors_as_call_errors():
            return _image_bytes(self._function(source, **given))

    async def _call_async(self, job: EditRequest) -> bytes:
        source, given = await asyncio.to_thread(self._build_arguments, job)
        with _errors_as_call_errors():
            return await asyncio.to_thread(_image_bytes, await self._function(source, **given))

    def _build_arguments(self, job: EditRequest) -> tuple[Image.Image | None, dict[str, Any]]:
        """The source, and what else the function takes."""
        given: dict[str, Any] = {"instruction": job.instruction, "seed": job.seed}
        try:
            source = None if job.source is None else open_image(job.source)
            if job.mask is not None and _accepts_argument(self._function, "mask"):
                given["mask"] = open_image(job.mask)
            if job.references and _accepts_argument(self._function, "references"):
                given["references"] = [open_image(path) for path in job.references]
        except ImageError as error:
            raise CallError("unreadable source", str(error), retryable=False) from None
        given |= self._settings
        return source, {n: value for n, value in given.items() if _accepts_argument(self._function, n)}


def _start_worker() -> DaemonWorker[bytes]:
    return DaemonWorker("creval-editor")


@contextlib.contextmanager
def _errors_as_call_errors() -> Iterator[None]:
    """Whatever a function raises is a fault of this call alone; a wish to exit, too."""
    try:
        yield
    except (CallError, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise CallError("the function failed", f"{type(error).__name__}: {error}") from error


def _import_function(where: str) -> Callable[..., Any]:
    module, colon, name = where.rpartition(":")
    if not colon or not module or not name:
        raise CrevalError(f"python:{where or '(nothing)'}: give python:MODULE:FUNCTION.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with stdout_to_stderr:
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


def _accepts_argument(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _image_bytes(made: Any) -> bytes:
    """A picture as a file's content."""
    if isinstance(made, bytes | bytearray | memoryview):
        return bytes(made)
    if isinstance(made, str | Path):
        return read_image_bytes(Path(made))
    if isinstance(made, Image.Image):
        sent = io.BytesIO()
        (made if made.mode in _PNG_MODES else normalise_image(made)).save(sent, "PNG")
        return sent.getvalue()
    raise CallError("no picture", f"the function returned {type(made).__name__}", retryable=False)
