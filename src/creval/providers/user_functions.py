"""User functions: importing them by name, and calling them in a thread or in their own process."""

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
from creval.core.redaction import hide_in_message, is_secret_name
from creval.providers.call_errors import FUNCTION_FAILED, CallError, Refused
from creval.providers.source_digests import function_digest

T = TypeVar("T")


def split_place(where: str) -> tuple[str, str]:
    """Split `module:name` into the module and the name. Raises `CrevalError` if one of them is missing."""
    module, _, name = where.rpartition(":")
    if not module or not name:
        raise CrevalError(f"python:{where or '(nothing)'}: give python:MODULE:FUNCTION.")
    return module, name


def import_callable(where: str) -> Callable[..., Any]:
    """Import `module:name`, also from the working directory. Raises `CrevalError` if it is not callable."""
    module, name = split_place(where)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        with stdout_to_stderr:
            found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = "it exits the process" if isinstance(error, SystemExit) else error
        raise CrevalError(hide_in_message(f"python:{where}: {module} cannot be imported: {reason}.")) from error
    function = getattr(found, name, None)
    if not callable(function):
        raise CrevalError(f"python:{where}: {module} has no function {name!r}.")
    try:
        inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise CrevalError(f"python:{where}: the parameters of {name} cannot be determined.") from error
    checked: Callable[..., Any] = function
    return checked


class FunctionSignature(NamedTuple):
    """The parameters of a function: their `names`. With `takes_any` (`**kwargs`) it accepts every name."""

    names: frozenset[str]
    takes_any: bool
    is_coroutine: bool

    def accepts(self, name: str) -> bool:
        """Return True if the function accepts an argument of this name."""
        return self.takes_any or name in self.names

    def select(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the given arguments that the function accepts."""
        return {name: value for name, value in given.items() if self.accepts(name)}


def read_signature(function: Callable[..., Any]) -> FunctionSignature:
    """Return the parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return FunctionSignature(frozenset(p.name for p in parameters), takes_any, inspect.iscoroutinefunction(function))


class UserCall(NamedTuple):
    """A call of a function. `prepare` returns its arguments; `read` converts its return value to the result."""

    prepare: Callable[[], tuple[tuple[Any, ...], Mapping[str, Any]]]
    read: Callable[[Any], Any]

    def run(self, function: Callable[..., Any]) -> Any:
        """Call the function and return the result. Raises `CallError` if the function fails."""
        positional, named = self.prepare()
        with _errors_as_call_errors(named):
            return self.read(function(*positional, **named))

    async def run_async(self, function: Callable[..., Any]) -> Any:
        """Await a coroutine function and return the result. Raises `CallError` if the function fails."""
        positional, named = await asyncio.to_thread(self.prepare)
        with _errors_as_call_errors(named):
            return await asyncio.to_thread(self.read, await function(*positional, **named))


@contextlib.contextmanager
def _errors_as_call_errors(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Convert all exceptions of a function, including `SystemExit`, to a `CallError` without secrets."""
    secrets = [value for name, value in arguments.items() if is_secret_name(name) and isinstance(value, str)]
    try:
        yield
    except (CallError, asyncio.CancelledError, GeneratorExit):
        raise
    except Refused as error:
        raise CallError("refused", hide_in_message(str(error), secrets), retryable=False) from error
    except BaseException as error:
        message = hide_in_message(f"{type(error).__name__}: {error}", secrets)
        raise CallError(FUNCTION_FAILED, message) from error


class FunctionRunner(Protocol):
    """Runs a function in a thread or process. `digests` identify its source."""

    @property
    def signature(self) -> FunctionSignature: ...

    @property
    def digests(self) -> Mapping[str, str]: ...

    @property
    def is_running(self) -> bool:
        """True if calls can be submitted."""

    def start(self) -> None:
        """Start the runner, which may take minutes. After a call was abandoned, it can be started again."""

    def submit(self, call: UserCall) -> asyncio.Future[Any]:
        """Start a call in the running event loop."""

    def abandon(self) -> None:
        """Abandon a call that hangs."""

    def close(self) -> None:
        """Accept no further calls until `start`."""


class DaemonWorker(Generic[T]):
    """A daemon thread that runs calls one after another. A call that hangs does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], T], Future[T]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Queue a call and return a future of its result."""
        future: Future[T] = Future()
        self._calls.put((call, future))
        return asyncio.wrap_future(future)

    def stop(self) -> None:
        """Stop the thread after the queued calls."""
        self._calls.put(None)

    def _run(self) -> None:
        while (taken := self._calls.get()) is not None:
            call, future = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # passed on to the caller
                future.set_exception(error)


class ThreadRunner:
    """Runs a function object in a thread of this process."""

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
    """Calls one function with a timeout. Calls run one after another, except those of a coroutine function."""

    def __init__(self, runner: FunctionRunner, timeout: float) -> None:
        self._runner, self._timeout = runner, timeout
        self._exit_stack = contextlib.ExitStack()

    def open(self) -> None:
        """Prepare for calls in the running event loop."""
        self._call_lock = asyncio.Lock()
        self._exit_stack.enter_context(stdout_to_stderr)

    def close(self) -> None:
        """Close the runner."""
        self._exit_stack.close()
        self._runner.close()

    async def call(self, call: UserCall) -> T:
        """Call the function and return the result. Raises `CallError` if it fails.

        Arguments are prepared in the thread or process of the function.
        """
        return (await self.timed_call(call))[0]

    async def timed_call(self, call: UserCall) -> tuple[T, float]:
        """Return the result of a call and its duration in seconds, without the time spent waiting for other calls."""
        if self._runner.signature.is_coroutine:
            return await self._with_timeout(call)
        async with self._call_lock:  # waiting for other calls does not count towards the timeout
            return await self._with_timeout(call)

    async def _with_timeout(self, call: UserCall) -> tuple[T, float]:
        if not self._runner.is_running:
            await asyncio.to_thread(self._runner.start)
        began = time.monotonic()
        future: asyncio.Future[T] = self._runner.submit(call)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            done, _ = await asyncio.wait([future], timeout=self._timeout)
        finally:
            future.cancel()
        if not done:
            if not self._runner.signature.is_coroutine:
                await asyncio.to_thread(self._runner.abandon)
            raise CallError("timeout", f"it took more than {self._timeout:g} s")
        try:
            return future.result(), time.monotonic() - began
        except asyncio.CancelledError:
            raise CallError(FUNCTION_FAILED, "it cancelled itself") from None
