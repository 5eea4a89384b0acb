"""Functions and classes of the user's: `python:module:name` is imported, and calls run in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from creval.core.concurrency import stdout_to_stderr
from creval.core.errors import CrevalError
from creval.providers.call_errors import CallError

T = TypeVar("T")


def import_callable(where: str) -> Callable[..., Any]:
    """Import `module:name`, also from the working folder. `CrevalError` if that is no callable."""
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


def accepts_argument(function: Callable[..., Any], name: str) -> bool:
    """Whether a function can be given an argument of this name."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def accepted_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those arguments that a function takes."""
    return {name: value for name, value in given.items() if accepts_argument(function, name)}


class DaemonWorker(Generic[T]):
    """Does one thing after another. One that hangs is left behind: it ends with the process."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], T], Future[T]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """What a call is going to bring."""
        future: Future[T] = Future()
        self._calls.put((call, future))
        return asyncio.wrap_future(future)

    def stop(self) -> None:
        """Do nothing further."""
        self._calls.put(None)

    def _run(self) -> None:
        while (taken := self._calls.get()) is not None:
            call, future = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # whoever waits must hear of it
                future.set_exception(error)


class FunctionCaller(Generic[T]):
    """Calls of one function in a thread, in turn unless it is a coroutine; `read` turns its value into a result."""

    def __init__(self, function: Callable[..., Any], read: Callable[[Any], T], timeout: float) -> None:
        self._function, self._read, self._timeout = function, read, timeout
        self._exit_stack = contextlib.ExitStack()

    def open(self) -> None:
        """Start the thread, in the event loop in which calls are made."""
        self._worker, self._call_lock = DaemonWorker[T]("creval-function"), asyncio.Lock()
        self._exit_stack.enter_context(stdout_to_stderr)

    def close(self) -> None:
        """Stop the thread."""
        self._exit_stack.close()
        self._worker.stop()

    async def call(self, arguments: Callable[[], tuple[tuple[Any, ...], Mapping[str, Any]]]) -> T:
        """Return the function's result. Arguments are prepared in a thread; failures are `CallError`."""
        if inspect.iscoroutinefunction(self._function):
            return await self._with_timeout(asyncio.ensure_future(self._call_async(arguments)))
        async with self._call_lock:  # so that none's time runs out while it waits for others
            return await self._with_timeout(self._worker.submit(lambda: self._call(arguments)))

    async def _with_timeout(self, making: asyncio.Future[T]) -> T:
        making.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            done, _ = await asyncio.wait([making], timeout=self._timeout)
        finally:
            making.cancel()
        if not done:
            self._worker.stop()
            self._worker = DaemonWorker("creval-function")
            raise CallError("timeout", f"it took more than {self._timeout:g} s")
        try:
            return making.result()
        except asyncio.CancelledError:
            raise CallError("the function failed", "it cancelled itself") from None

    def _call(self, arguments: Callable[[], tuple[tuple[Any, ...], Mapping[str, Any]]]) -> T:
        positional, named = arguments()
        with _errors_as_call_errors():
            return self._read(self._function(*positional, **named))

    async def _call_async(self, arguments: Callable[[], tuple[tuple[Any, ...], Mapping[str, Any]]]) -> T:
        positional, named = await asyncio.to_thread(arguments)
        with _errors_as_call_errors():
            return await asyncio.to_thread(self._read, await self._function(*positional, **named))


@contextlib.contextmanager
def _errors_as_call_errors() -> Iterator[None]:
    """Whatever a function raises is a fault of this call alone; a wish to exit, too."""
    try:
        yield
    except (CallError, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise CallError("the function failed", f"{type(error).__name__}: {error}") from error
