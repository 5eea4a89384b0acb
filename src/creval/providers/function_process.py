"""Runs a user's function in its own process, which lives until its runner is deleted.

The function can exit, change the working directory, crash, print or leak memory without affecting creval. Requests and
replies are pickled and sent over the process's standard input and output.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from queue import SimpleQueue
from typing import IO, Any, NamedTuple

from creval.core.errors import CrevalError
from creval.providers.call_errors import FUNCTION_FAILED, CallError
from creval.providers.source_digests import module_digests
from creval.providers.user_functions import FunctionSignature, UserCall, import_callable, read_signature, split_place

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from creval.providers.function_process import serve; serve(sys.argv.pop(1))"
)
_Reply = tuple[int, Any, tuple[str, str, bool] | None]
"""The number of a call, its result, and kind, reason and `retryable` of the error if it failed."""
_EXIT_SECONDS = 2.0  # seconds that a process has to exit after SIGTERM


class _Loaded(NamedTuple):
    """The description of a function, which the function's process sends after importing it."""

    signature: FunctionSignature
    digests: dict[str, str]
    is_class: bool


class ProcessRunner:
    """Runs the function `module:name` in a process. The process is started now, and restarted if it has ended."""

    def __init__(self, where: str) -> None:
        split_place(where)
        self._where, self._folder = where, os.getcwd()  # noqa: PTH109 (a path that no function can change)
        self._paths = [os.path.join(self._folder, path) for path in sys.path]  # noqa: PTH118 ('' is the folder)
        self._lock, self._call_lock = threading.Lock(), threading.Lock()
        self._process = _FunctionProcess(where, self._folder, self._paths)
        self._finalizer = weakref.finalize(self, _FunctionProcess.end, self._process)
        self.signature, self.digests, self.is_class = self._process.loaded

    @property
    def is_running(self) -> bool:
        return not self._process.has_ended

    def start(self) -> None:
        with self._lock:
            if self.is_running:
                return
            self._process = _FunctionProcess(self._where, self._folder, self._paths)
            self._finalizer.detach()
            self._finalizer = weakref.finalize(self, _FunctionProcess.end, self._process)

    def submit(self, call: UserCall) -> asyncio.Future[Any]:
        return asyncio.wrap_future(self._process.submit(call))

    def call(self, call: UserCall, timeout: float) -> Any:
        """Make a call from a thread and return its result. Calls run one after another. Raises `CallError`."""
        with self._call_lock:
            self.start()
            future = self._process.submit(call)
            try:
                return future.result(timeout)
            except FutureTimeoutError:
                future.cancel()
                self.abandon()
                raise CallError("timeout", f"it took more than {timeout:g} s") from None

    def abandon(self) -> None:
        self._process.end(busy=True)

    def close(self) -> None:
        """Do nothing: the process keeps its loaded model, and ends when this object is deleted."""


class _FunctionProcess:
    """The process of a user's function: starts it, sends requests to it, and reads its replies."""

    def __init__(self, where: str, folder: str, paths: list[str]) -> None:
        self.has_ended = False
        self._is_loading = True
        self._pending: dict[int, Future[Any]] = {}
        self._numbers, self._lock = itertools.count(), threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 (the function that the user names)
            [sys.executable, "-c", _BOOT, json.dumps(paths), where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 (pipes)
        self._requests, self._replies = self._process.stdin, self._process.stdout
        try:
            loaded = pickle.load(self._replies)  # noqa: S301 (from a process that runs the user's own code)
        except (EOFError, pickle.UnpicklingError):
            self._process.wait()
            self.end()
            raise CrevalError(f"python:{where}: its process ended during the import ({self._exit_text()}).") from None
        except BaseException:
            self.end()
            raise
        if not isinstance(loaded, _Loaded):
            self.end()
            raise CrevalError(str(loaded))
        self.loaded, self._is_loading = loaded, False
        self._reader = threading.Thread(target=self._read_replies, name="creval-function-replies", daemon=True)
        self._reader.start()
        self._watcher = threading.Thread(target=self._watch, name="creval-function-exit", daemon=True)
        self._watcher.start()

    def submit(self, call: UserCall) -> Future[Any]:
        number = next(self._numbers)
        try:
            message = pickle.dumps((number, call))
        except Exception as error:  # a setting that cannot be pickled
            raise CallError(FUNCTION_FAILED, f"its settings cannot be pickled: {error}", retryable=False) from error
        future: Future[Any] = Future()
        self._pending[number] = future
        future.add_done_callback(partial(self._forget, number))
        self._send(message)
        if self.has_ended:
            self._fail_pending()
        return future

    def _forget(self, number: int, future: Future[Any]) -> None:
        self._pending.pop(number, None)
        if future.cancelled():
            self._send(pickle.dumps((number, None)))

    def _send(self, message: bytes) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):  # the watcher thread handles an ended process
            self._requests.write(message)
            self._requests.flush()

    def _read_replies(self) -> None:
        while True:
            try:
                number, value, error = pickle.load(self._replies)  # noqa: S301
            except Exception:  # end of file, or the truncated output of a dying process
                return
            future = self._pending.get(number)
            with contextlib.suppress(Exception):  # it was cancelled in the meantime
                if future is not None and error is not None:
                    future.set_exception(CallError(error[0], error[1], retryable=error[2]))
                elif future is not None:
                    future.set_result(value)

    def _watch(self) -> None:
        self._process.wait()
        self._signal_group(signal.SIGKILL)
        self._reader.join(_EXIT_SECONDS)
        self.has_ended = True
        self._fail_pending()
        if not self._reader.is_alive():  # otherwise a child process holds the pipe, and closing would block
            self._close_pipes()

    def _fail_pending(self) -> None:
        for future in list(self._pending.values()):
            with contextlib.suppress(Exception):
                future.set_exception(CallError(FUNCTION_FAILED, f"its process ended ({self._exit_text()})"))

    def _exit_text(self) -> str:
        status = self._process.returncode
        return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"

    def end(self, *, busy: bool = False) -> None:
        """End the process and its children. An idle process exits by itself; a busy one is terminated."""
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        if busy or self._pending or self._is_loading:
            self._signal_group(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_SECONDS)
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        if self._is_loading:
            self._close_pipes()
        else:
            self._watcher.join(2 * _EXIT_SECONDS)

    def _close_pipes(self) -> None:
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError, ValueError):
                pipe.close()

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def serve(where: str) -> None:
    """Import a function, and run its calls until standard input ends."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as devnull:  # noqa: PTH123
        os.dup2(devnull.fileno(), 0)
        silent = os.dup(devnull.fileno())
    # A process that the function forks must neither reply nor keep the pipe open.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(os.dup2, silent, replies.fileno(), inheritable=False))
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        function = import_callable(where)
    except CrevalError as error:
        _send(replies, str(error))
        return
    signature = read_signature(function)
    digests = module_digests(split_place(where)[0])
    _send(replies, _Loaded(signature, digests, isinstance(function, type)))
    if signature.is_coroutine:
        asyncio.run(_serve_coroutine(function, requests, replies))
        return
    inbox: SimpleQueue[tuple[int, UserCall | None] | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, inbox.put), daemon=True).start()
    while (message := inbox.get()) is not None:
        number, call = message
        if call is not None:
            try:
                reply: _Reply = (number, call.run(function), None)
            except CallError as error:
                reply = (number, None, (error.kind, error.reason, error.retryable))
            except Exception as error:
                reply = (number, None, (FUNCTION_FAILED, f"{type(error).__name__}: {error}", True))
            _send(replies, reply)


async def _serve_coroutine(function: Callable[..., Any], requests: IO[bytes], replies: IO[bytes]) -> None:
    inbox: asyncio.Queue[tuple[int, UserCall | None] | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(message: tuple[int, UserCall | None] | None) -> None:
        loop.call_soon_threadsafe(inbox.put_nowait, message)

    threading.Thread(target=_receive, args=(requests, put), daemon=True).start()
    tasks: dict[int, asyncio.Task[None]] = {}

    async def answer(number: int, call: UserCall) -> None:
        try:
            reply: _Reply = (number, await call.run_async(function), None)
        except CallError as error:
            reply = (number, None, (error.kind, error.reason, error.retryable))
        except asyncio.CancelledError:
            reply = (number, None, (FUNCTION_FAILED, "it cancelled itself", True))
        except Exception as error:
            reply = (number, None, (FUNCTION_FAILED, f"{type(error).__name__}: {error}", True))
        _send(replies, reply)
        tasks.pop(number, None)

    while (message := await inbox.get()) is not None:
        number, call = message
        if call is not None:
            tasks[number] = asyncio.create_task(answer(number, call))
        elif number in tasks:
            tasks[number].cancel()


def _receive(requests: IO[bytes], put: Callable[[Any], None]) -> None:
    """Pass requests from creval to `put`.

    When the input ends, the process exits, even if the function is busy.
    """
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            put(pickle.load(requests))  # noqa: S301 (from creval)
    with contextlib.suppress(RuntimeError):  # the loop has ended
        put(None)
    time.sleep(_EXIT_SECONDS)
    os._exit(1)


def _send(replies: IO[bytes], message: object) -> None:
    try:
        content = pickle.dumps(message)
    except Exception as error:  # an instance of a user's class that cannot be pickled
        assert isinstance(message, tuple)  # noqa: S101 (all other messages can be pickled)
        content = pickle.dumps((message[0], None, (FUNCTION_FAILED, f"its result cannot be pickled: {error}", True)))
    try:
        replies.write(content)
        replies.flush()
    except OSError:  # creval has exited
        os._exit(1)
