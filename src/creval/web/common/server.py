"""The web server, which runs until it is interrupted."""

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
    """Return a listening socket. Port 0 selects a free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CrevalError(f"cannot listen on {host}, port {port}: {reason}.") from error


def server_url(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
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
    """Serve an application until Ctrl-C.

    `make_app` builds it from the host, other names of this machine, and an access token. The pages require a token if
    other machines can reach them, or if `token` is set. `note` prints messages: `activity` with the URL and, if other
    machines can reach the pages, `exposed_warning`.
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
            note(f"{activity} at {url} (Ctrl-C to stop)")
            if open_browser:
                webbrowser.open(_write_redirect(url, Path(folder)) if key else url)

        run_server(app, listening, ready)


def _write_redirect(url: str, folder: Path) -> str:
    """Write a private page that redirects to `url`, and return its URL.

    Other users of this machine can see the arguments of the browser's process, which must not contain the token.
    """
    page = folder / "open.html"
    page.touch(0o600)
    redirect = f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">'
    page.write_text(f'<!doctype html><link rel="icon" href="data:,">{redirect}', encoding="utf-8")
    return page.as_uri()


class PageServer(uvicorn.Server):
    """Server without log output. It calls `on_ready` once it accepts requests."""

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
                backlog=64,  # also the number of failed accepts in a row if no file descriptor is left
                timeout_graceful_shutdown=1,
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle_loop_error)
        await super().startup(sockets)
        self._on_ready()

    def _handle_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # During shutdown, the loop may still try to accept connections that failed for lack of file descriptors.
        if not self.should_exit and not is_lack_of_files(context.get("exception")):
            loop.default_exception_handler(context)


def run_server(app: Starlette, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, which stops the server without a message. Calls `on_ready` once it accepts requests."""
    with listening, suppress(KeyboardInterrupt):
        PageServer(app, on_ready).run(sockets=[listening])
