"""Functions of the user's: imported by name, and called in a thread or in a process of their own."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from creval.core.concurrency import stdout_to_stderr
from creval.core.errors import CrevalError
from creval.providers.call_errors import FUNCTION_FAILED, CallError, Refused
from creval.providers.source_digests import function_digest

T = TypeVar("T")


def split_place(where: str) -> tuple[str, str]:
    """Return the module and the name in `module:name`; `CrevalError` if one of them is missing."""
    module, _, name = where.rpartition(":")
    if not module or not name:
        raise CrevalError(f"python:{where or '(nothing)'}: give python:MODULE:FUNCTION.")
    return module, name


def import_callable(where: str) -> Callable[..., Any]:
    """Import `module:name`, also from the working folder. `CrevalError` if that is no callable."""
    module, name = split_place(where)
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


class FunctionSignature(NamedTuple):
    """What a function takes: arguments of these `names`, or of any name."""

    names: frozenset[str]
    takes_any: bool
    is_coroutine: bool

    def accepts(self, name: str) -> bool:
        """Return whether the function can be given an argument of this name."""
        return self.takes_any or name in self.names

    def select(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return those arguments that the function takes."""
        return {name: value for name, value in given.items() if self.accepts(name)}


def read_signature(function: Callable[..., Any]) -> FunctionSignature:
    """Return what a function takes."""
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return FunctionSignature(frozenset(p.name for p in parameters), takes_any, inspect.iscoroutinefunction(function))


class UserCall(NamedTuple):
    """A call of a function: `prepare` returns its arguments, `read` makes a result of what it returns."""

    prepare: Callable[[], tuple[tuple[Any, ...], Mapping[str, Any]]]
    read: Callable[[Any], Any]

    def run(self, function: Callable[..., Any]) -> Any:
        """Return the result; a failure of the function is a `CallError`."""
        positional, named = self.prepare()
        with _errors_as_call_errors():
            return self.read(function(*positional, **named))

    async def run_async(self, function: Callable[..., Any]) -> Any:
        """Return the result of a coroutine function."""
        positional, named = await asyncio.to_thread(self.prepare)
        with _errors_as_call_errors():
            return await asyncio.to_thread(self.read, await function(*positional, **named))


@contextlib.contextmanager
def _errors_as_call_errors() -> Iterator[None]:
    """Whatever a function raises is a fault of this call alone; a wish to exit, too."""
    try:
        yield
    except (CallError, asyncio.CancelledError, GeneratorExit):
        raise
    except Refused as error:
        raise CallError("refused", str(error), retryable=False) from error
    except BaseException as error:
        raise CallError(FUNCTION_FAILED, f"{type(error).__name__}: {error}") from error


class FunctionRunner(Protocol):
    """Where a function runs. `digests` identify its source."""

    @property
    def signature(self) -> FunctionSignature: ...

    @property
    def digests(self) -> Mapping[str, str]: ...

    @property
    def is_running(self) -> bool:
        """Whether calls can be submitted."""

    def start(self) -> None:
        """Make calls possible, also after a call was abandoned; this may take minutes."""

    def submit(self, call: UserCall) -> asyncio.Future[Any]:
        """Begin a call, in the running event loop."""

    def abandon(self) -> None:
        """Leave a call behind that hangs."""

    def close(self) -> None:
        """Make no further calls, until `start`."""


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


class ThreadRunner:
    """A function that is given as an object, in a thread of this process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.signature, self.digests = read_signature(function), function_digest(function)
        self._worker: DaemonWorker[Any] | None = None

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    def start(self) -> None:
        self._worker = DaemonWorker("creval-function")

    def submit(self, call: UserCall) -> asyncio.Future[Any]:
        if self.signature.is_coroutine:
            return asyncio.ensure_future(call.run_async(self._function))
        if self._worker is None:
            raise RuntimeError("start the function first")
        return self._worker.submit(partial(call.run, self._function))

    def abandon(self) -> None:
        self.close()

    def close(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        self._worker = None


class FunctionCaller(Generic[T]):
    """Calls of one function, in turn unless it is a coroutine."""

    def __init__(self, runner: FunctionRunner, timeout: float) -> None:
        self._runner, self._timeout = runner, timeout
        self._exit_stack = contextlib.ExitStack()

    def open(self) -> None:
        """Get ready, in the event loop in which calls are made."""
        self._call_lock = asyncio.Lock()
        self._exit_stack.enter_context(stdout_to_stderr)

    def close(self) -> None:
        """Make no further calls."""
        self._exit_stack.close()
        self._runner.close()

    async def call(self, call: UserCall) -> T:
        """Return a call's result. Arguments are prepared where the function runs; failures are `CallError`."""
        return (await self.timed_call(call))[0]

    async def timed_call(self, call: UserCall) -> tuple[T, float]:
        """Return a call's result and its seconds, without those that it waited for other calls."""
        if self._runner.signature.is_coroutine:
            return await self._with_timeout(call)
        async with self._call_lock:  # so that none's time runs out while it waits for others
            return await self._with_timeout(call)

    async def _with_timeout(self, call: UserCall) -> tuple[T, float]:
        if not self._runner.is_running:
            await asyncio.to_thread(self._runner.start)
        began = time.monotonic()
        making: asyncio.Future[T] = self._runner.submit(call)
        making.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            done, _ = await asyncio.wait([making], timeout=self._timeout)
        finally:
            making.cancel()
        if not done:
            if not self._runner.signature.is_coroutine:
                await asyncio.to_thread(self._runner.abandon)
            raise CallError("timeout", f"it took more than {self._timeout:g} s")
        try:
            return making.result(), time.monotonic() - began
        except asyncio.CancelledError:
            raise CallError(FUNCTION_FAILED, "it cancelled itself") from None
