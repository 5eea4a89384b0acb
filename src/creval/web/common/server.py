"""Serving pages until somebody interrupts it."""

from __future__ import annotations

import asyncio
import html
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from creval.core.errors import CrevalError
from creval.web.common.access_key import TOKEN_PARAMETER
from creval.web.common.connections import LimitedProtocol, is_lack_of_files
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
    make_app: Callable[[str, tuple[str, ...], str], Starlette],
    note: Callable[[str], None],
    activity: str,
    exposed_warning: str,
    open_browser: bool,
    token: bool = False,
) -> None:
    """Serve until Ctrl-C what `make_app` gives for a host, this machine's other names, and a token.

    `note` says `activity` is done where, and what it means that others reach it (`exposed_warning`). The pages need
    a `token` if others reach them, or if that is asked for.
    """
    listening = open_socket(host, port)
    url, key = server_url(listening), ""
    if token or not is_loopback(host):
        key = secrets.token_urlsafe(32)
        url += f"?{TOKEN_PARAMETER}={key}"
    app = make_app(host, (socket.gethostname(),), key)
    if not is_loopback(host):
        note(exposed_warning)
    with tempfile.TemporaryDirectory(prefix="creval-") as folder:

        def ready() -> None:
            note(f"{activity} at {url} (Ctrl-C ends it)")
            if open_browser:
                webbrowser.open(_hide_from_others(url, Path(folder)) if key else url)

        run_server(app, listening, ready)


def _hide_from_others(url: str, folder: Path) -> str:
    """Return the address of a file that leads to another: users of a machine see how programs are called."""
    page = folder / "open.html"
    page.touch(0o600)
    lead_on = f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">'
    page.write_text(f'<!doctype html><link rel="icon" href="data:,">{lead_on}', encoding="utf-8")
    return page.as_uri()


class PageServer(uvicorn.Server):
    """A server of pages, which says nothing; it calls `on_ready` once it can be asked."""

    def __init__(self, app: Starlette, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=LimitedProtocol,
                log_level="error",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                backlog=64,  # also how often a loop tries in vain where there are no more files
                timeout_graceful_shutdown=1,
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle_loop_error)
        await super().startup(sockets)
        self._on_ready()

    def _handle_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # At its end, the loop may still want to accept connections for which there were no files before.
        if not self.should_exit and not is_lack_of_files(context.get("exception")):
            loop.default_exception_handler(context)


def run_server(app: Starlette, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, which ends it without a word; call `on_ready` once it can be asked."""
    with listening, suppress(KeyboardInterrupt):
        PageServer(app, on_ready).run(sockets=[listening])
