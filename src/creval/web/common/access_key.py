"""Access by a secret link: the token in its URL is exchanged for a cookie, which every request must carry."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_PARAMETER = "token"  # noqa: S105 (a name)


class AccessKey:
    """Middleware that accepts requests with the cookie, and sets the cookie on requests with the token.

    A redirect removes the token from the URL, so that it is not in bookmarks, the history or screenshots.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token
        # Cookies are shared by all ports of a host, so each server needs its own name.
        self._cookie = f"creval-{secrets.token_hex(8)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reply = self._intercept(scope)
        await (reply or self._app)(scope, receive, send)

    def _intercept(self, scope: Scope) -> Response | None:
        """Return the response to send instead of a page, or None if the request may pass."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == TOKEN_PARAMETER]
        if given and scope["method"] in ("GET", "HEAD"):
            if not all(map(self._is_token, given)):
                return PlainTextResponse(_WRONG, 403)
            rest = urlencode([pair for pair in query if pair[0] != TOKEN_PARAMETER])
            # Two slashes would lead to another host.
            path = "/" + scope["raw_path"].decode("latin-1").partition("?")[0].lstrip("/\\")
            redirect = RedirectResponse(f"{path}?{rest}" if rest else path, 303, {"Cache-Control": "no-store"})
            redirect.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return redirect
        headers = Headers(scope=scope)
        cookies = cookie_parser("; ".join(headers.getlist("cookie")))
        if self._is_token(cookies.get(self._cookie, "")):
            return None
        if headers.get("sec-fetch-site") == "cross-site" and scope["method"] == "GET":
            # After a link from another site, the browser leaves out the strict cookie. A reload from here sends it.
            return HTMLResponse(_RELOAD_PAGE)
        return PlainTextResponse(_MISSING, 403)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


_RELOAD_PAGE = '<!doctype html><link rel="icon" href="/static/icon.svg"><meta http-equiv="refresh" content="0">'
_MISSING = "Open the complete link that creval printed, including its token.\n"
_WRONG = "This token is not valid for this server. Open the link that creval printed when it was started.\n"
