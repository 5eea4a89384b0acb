"""Serving pages until somebody interrupts it."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.applications import Starlette

from creval.core.errors import CrevalError
from creval.web.common.guard import is_loopback


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; 0 takes a free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CrevalError(f"{host}, port {port}, cannot be listened at: {reason}.") from error


def server_url(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104
        host = socket.gethostname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve_app(
    host: str,
    port: int,
    make_app: Callable[[str, tuple[str, ...]], Starlette],
    note: Callable[[str], None],
    activity: str,
    exposed_warning: str,
    open_browser: bool,
) -> None:
    """Serve until Ctrl-C what `make_app` gives for a host and this machine's other names.

    `note` says `activity` is done where, and what it means that others reach it (`exposed_warning`).
    """
    listening = open_socket(host, port)
    url = server_url(listening)
    app = make_app(host, (socket.gethostname(),))
    if not is_loopback(host):
        note(exposed_warning)

    def ready() -> None:
        note(f"{activity} at {url} (Ctrl-C ends it)")
        if open_browser:
            webbrowser.open(url)

    run_server(app, listening, ready)


def run_server(app: Starlette, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, which ends it without a word; call `on_ready` once it can be asked."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_ready()

    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    with listening, suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])
