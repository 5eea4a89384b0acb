"""Checks of every request (host, method, origin), and security headers of every response."""

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
# Pages that write need more: their script sends requests, and their forms send `Origin`, which browsers
# replace by "null" under the policy `no-referrer`.
_WRITE_HEADERS = _HEADERS | {
    "Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; connect-src 'self'",
    "Referrer-Policy": "same-origin",
}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Return whether a server that listens on `host` can be reached from this machine only."""
    return host in _LOOPBACK


def allowed_hosts(host: str, aliases: Iterable[str] = ()) -> frozenset[str]:
    """Return the host names under which a server on `host` accepts requests.

    This prevents DNS rebinding: a foreign page can only point names of its own domain to this server.
    """
    return _LOOPBACK | {host.casefold(), *(name.casefold() for name in aliases)} - {""}


class RequestGuard:
    """Middleware that refuses unknown hosts and methods that write, and sets security headers.

    With `addresses`, any numeric IP address is accepted as a host; DNS rebinding needs a name.
    With `writes`, POST is accepted if it comes from one of the server's own pages.
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
            return PlainTextResponse("This host name is not accepted. Open the address that creval printed.\n", 403)
        if scope["method"] not in self._methods:
            allowed = ", ".join(self._methods)
            refusal = f"Method not allowed. Allowed are {allowed}.\n"
            return PlainTextResponse(refusal, 405, {"Allow": allowed})
        if scope["method"] == "POST" and not _is_same_origin(headers):
            return PlainTextResponse("Changes are accepted only from creval's own pages.\n", 403)
        return None

    def _is_allowed_host(self, header: str) -> bool:
        host = parse_host(header)
        return host in self._hosts or (self._addresses and _is_address(host))


def _is_same_origin(headers: Headers) -> bool:
    """Return whether a request comes from a page of this server. Browsers send `Origin` with every POST."""
    origins, site = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    if len(origins) != 1 or (site and site != ["same-origin"]):
        return False
    scheme, _, place = origins[0].partition("://")
    return scheme in ("http", "https") and place.casefold() == headers["host"].casefold()


_HOST = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^\[\]:@/\s]+))(?::[0-9]{1,5})?")


def parse_host(header: str) -> str:
    """Return the host name in a Host header without its port, or "" if the header is malformed."""
    match = _HOST.fullmatch(header)
    return (match[1] or match[2]).casefold() if match else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
