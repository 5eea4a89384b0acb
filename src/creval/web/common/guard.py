"""What stands before every page: who may ask for what, and what a browser may do with it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_READ_METHODS, _WRITE_METHODS = ("GET", "HEAD"), ("GET", "HEAD", "POST")
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}
# What writes needs more: a page's own script may ask, and a form says where it comes from, which
# browsers leave out where they are told to send no referrer.
_WRITE_HEADERS = _HEADERS | {
    "Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; connect-src 'self'",
    "Referrer-Policy": "same-origin",
}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens at `host`."""
    return host in _LOOPBACK


def allowed_hosts(host: str, aliases: Iterable[str] = ()) -> frozenset[str]:
    """The names under which a server at `host` may be asked: a stranger's page can let only other names lead here."""
    return _LOOPBACK | {host.casefold(), *(name.casefold() for name in aliases)} - {""}


class RequestGuard:
    """Refuses foreign hosts and whatever would write, and sets the headers of every response.

    Where `addresses` is set, any numeric address is a good name: no stranger's name leads there.
    Where `writes` is set, POST is good too, if it comes from one of the server's own pages.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], addresses: bool = False, writes: bool = False) -> None:
        self._app, self._hosts, self._addresses = app, hosts, addresses
        self._methods = _WRITE_METHODS if writes else _READ_METHODS
        self._headers = _WRITE_HEADERS if writes else _HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        named = headers.getlist("host")
        if len(named) != 1 or not self._is_allowed_host(named[0]):
            return PlainTextResponse("creval answers only under its own address, as it printed it.\n", 403)
        if scope["method"] not in self._methods:
            allowed = ", ".join(self._methods)
            refusal = f"Here {allowed} are known, and nothing else.\n"
            return PlainTextResponse(refusal, 405, {"Allow": allowed})
        if scope["method"] == "POST" and not _is_same_origin(headers):
            return PlainTextResponse("Only creval's own pages can write here.\n", 403)
        return None

    def _is_allowed_host(self, header: str) -> bool:
        host = parse_host(header)
        return host in self._hosts or (self._addresses and _is_address(host))


def _is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this server: `Origin` is in every POST of a browser."""
    origins, site = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    if len(origins) != 1 or (site and site != ["same-origin"]):
        return False
    scheme, _, place = origins[0].partition("://")
    return scheme in ("http", "https") and place.casefold() == headers["host"].casefold()


_HOST = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^\[\]:@/\s]+))(?::[0-9]{1,5})?")


def parse_host(header: str) -> str:
    """A Host header's name, without its port; empty where it is none."""
    match = _HOST.fullmatch(header)
    return (match[1] or match[2]).casefold() if match else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
