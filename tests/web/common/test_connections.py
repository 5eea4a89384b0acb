"""Incomplete, slow and too many connections; and a lock held by another process."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from creval.web.common import connections, forms
from creval.web.common.server import PageServer, open_socket
from creval.web.review.app import ReviewApp
from creval.web.review.cards import item_version
from tests.web.made import write_run
from tests.web.review.reviewed import Kept, group

pytestmark = pytest.mark.attack

GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
Address = tuple[str, int]


@contextmanager
def served(app: Starlette) -> Iterator[Address]:
    """Serve an application on loopback, as the commands do."""
    ready, listening = threading.Event(), open_socket("127.0.0.1", 0)
    server = PageServer(app, ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


def ask(address: Address, request: bytes = GET, timeout: float = 5) -> bytes:
    """Return the beginning of the response."""
    with socket.create_connection(address, timeout) as line:
        line.sendall(request)
        return line.recv(4000)


def seconds_until_closed(address: Address, request: bytes, *, every: float = 0.0) -> float:
    """Return how long an incomplete request stays connected. With `every`, it sends a byte at this interval."""
    began = time.monotonic()
    with socket.create_connection(address, 5) as line, suppress(OSError):
        line.sendall(request)
        line.settimeout(every or 5)
        while time.monotonic() - began < 5:
            try:
                if not line.recv(4000):
                    break
            except TimeoutError:
                line.sendall(b"x")
    return time.monotonic() - began


@pytest.fixture
def review() -> Kept:
    return Kept([group("g")])


def test_half_requests_are_closed_after_seconds(review: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(forms, "BODY_SECONDS", 0.3)
    post = b"POST /decide?group=g&item=i HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
    post += b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    with served(ReviewApp(review).app()) as address:
        for request in (b"", b"GET", b"GET / HTTP/1.1\r\nX: ", GET, post):
            assert 0.2 < seconds_until_closed(address, request) < 2
        assert seconds_until_closed(address, b"GET / HTTP/1.1\r\nX: ", every=0.05) < 2
        assert seconds_until_closed(address, post, every=0.05) < 2
        assert ask(address).startswith(b"HTTP/1.1 200")


def test_there_are_never_more_connections_than_files_for_them(review: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "max_connections", lambda: 3)
    with served(ReviewApp(review).app()) as address:
        held = [socket.create_connection(address) for _ in range(3)]
        time.sleep(0.1)
        with pytest.raises((AssertionError, OSError)):
            assert ask(address).startswith(b"HTTP")
        for line in held:
            line.close()
        time.sleep(0.1)
        assert ask(address).startswith(b"HTTP/1.1 200")


def test_files_leave_room_for_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, most in ((1024, 512), (256, 156), (64, 8), (resource.RLIM_INFINITY, 512)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert connections.max_connections() == most


def test_running_out_of_files_neither_floods_nor_stops_the_server(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    script = "import resource as r, sys; r.setrlimit(r.RLIMIT_NOFILE, (48, 48)); "
    script += "from creval.web.common import connections as c; c.max_connections = lambda: 999; "
    script += "from creval.cli import main; main()"
    command = [sys.executable, "-c", script, "view", str(run)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert process.stderr is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert found is not None
        address = ("127.0.0.1", int(found[1]))
        held = [socket.create_connection(address, 2) for _ in range(60)]
        time.sleep(1.5)
        for line in held:
            line.close()
        time.sleep(1.2)
        assert ask(address).startswith(b"HTTP/1.1 200")
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert (process.returncode, said) == (0, "")


def test_pages_are_served_while_a_decision_waits_for_the_lock(review: Kept) -> None:
    """The folder's lock is held by another process."""
    waiting, released = threading.Event(), threading.Event()
    decide = review.decide

    def wait(group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        waiting.set()
        assert released.wait(10)
        decide(group, item, verdict, fields)

    review.decide = wait  # type: ignore[method-assign]
    app = ReviewApp(review)
    item = review.kept["g"].items[0]
    sent = {"act": "drop", "token": app._token, "version": item_version(item)}
    body = urlencode({**sent, **{field.name: field.text for field in item.fields}})
    head = f"POST /decide?group=g&item={item.id} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
    head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    answers = list[bytes]()
    with served(app.app()) as address:
        sender = threading.Thread(target=lambda: answers.append(ask(address, head.encode(), 10)))
        sender.start()
        assert waiting.wait(5)
        assert ask(address).startswith(b"HTTP/1.1 200"), "pages are served in the meantime"
        assert not answers
        released.set()
        sender.join(10)
    assert answers[0].startswith(b"HTTP/1.1 303")
    assert review.decided[0][2] == "dropped"
