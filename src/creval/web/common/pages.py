"""Helpers of all pages: escaping templates, static files, links, errors, pagination."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from creval.core.errors import CrevalError
from creval.core.formatting import escape_control, pluralise
from creval.reporting.html.template import COLOURS, make_environment
from creval.reporting.output import as_table_cell
from creval.web.common.access_key import AccessKey
from creval.web.common.guard import RequestGuard, allowed_hosts, is_loopback

_STATIC_FOLDER = Path(__file__).parents[1] / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_STATIC = {"colours.css": COLOURS} | {path.name: path for path in sorted(_STATIC_FOLDER.iterdir())}
_LINES = re.compile(r"\r\n?|\n")


def escape_value(value: object) -> object:
    """Make control characters visible if the value is text. Newlines remain; other values are unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return "\n".join(escape_control(line) for line in _LINES.split(value))
    return value


def load_templates() -> Environment:
    """Load the templates of all pages."""
    made = make_environment(PackageLoader("creval.web"), escape_value)
    made.globals |= {"link": link, "many": pluralise, "spot": as_table_cell}
    for name in made.list_templates():  # compile now, not for the first request
        made.get_template(name)
    return made


def link(path: str, **parameters: object) -> str:
    """Return a URL path on this server with parameters. Empty parameters are left out."""
    given = {name: str(value) for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


def to_utf8(text: str) -> str:
    """Replace characters that cannot be encoded as UTF-8. File names may have such characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def query_params(request: Request) -> dict[str, str]:
    """Return the query parameters of a request. The last value of a repeated parameter is used."""
    return dict(request.query_params)


def serve_static(request: Request) -> Response:
    """Serve a static file of the pages."""
    path = _STATIC.get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix])


def describe_error(error: Exception) -> tuple[str, int]:
    """Return the message and the HTTP status with which a page reports an error."""
    if isinstance(error, OSError):
        return f"A file cannot be read at the moment: {error.strerror or error}. Try again.", 503
    if not isinstance(error, HTTPException):
        sentence = str(error)
        return sentence[:1].upper() + sentence[1:], 404
    phrase = HTTPStatus(error.status_code).phrase
    own = error.detail not in ("", phrase)
    return error.detail if own else f"{phrase}: this page does not exist.", error.status_code


def guarded_app(
    routes: Sequence[BaseRoute],
    handlers: Mapping[Any, Any],
    host: str,
    names: tuple[str, ...],
    *,
    token: str = "",
    writes: bool = False,
) -> Starlette:
    """Build an application of routes and static files, with guards for a server that listens on `host`.

    With `token`, the pages can only be opened with it.
    """
    own, addresses = allowed_hosts(host, names), not is_loopback(host)
    guard = Middleware(RequestGuard, hosts=own, addresses=addresses, writes=writes)
    static = Route("/static/{name}", serve_static)
    access = [Middleware(AccessKey, token=token)] if token else []
    return Starlette(routes=[*routes, static], middleware=[guard, *access], exception_handlers=handlers)


class SelectOption(NamedTuple):
    """An option of a select or radio field."""

    value: str
    label: str
    selected: bool


PAGE_SIZE = 25
"""Rows on a page of a list."""


class Pagination(NamedTuple):
    """The rows of a list that are shown, and links to the previous and next page."""

    number: int
    last: int
    total: int
    previous: str
    next: str

    @property
    def first_line(self) -> int:
        return (self.number - 1) * PAGE_SIZE + 1

    @property
    def last_line(self) -> int:
        return min(self.number * PAGE_SIZE, self.total)


def paginate(page: str, count: int, path: str, params: Mapping[str, str]) -> Pagination:
    """Return the page with a given number, or the last page if the number is too high."""
    last = max(1, math.ceil(count / PAGE_SIZE))
    if page and not (page.isascii() and page.isdigit()):
        raise CrevalError(f"the page must be a number, not {page!r}.")
    at = min(max(1, int(page[:9] or 1)), last)

    def to(page: int) -> str:
        return link(path, **params, page=page if page > 1 else "") if 1 <= page <= last else ""

    return Pagination(at, last, count, to(at - 1), to(at + 1))
