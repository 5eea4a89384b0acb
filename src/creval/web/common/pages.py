"""What all pages share: templates in which every text is escaped, their files, addresses."""

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
    """Whatever a template puts out: in text, control characters are shown and not obeyed; lines stay lines."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return "\n".join(escape_control(line) for line in _LINES.split(value))
    return value


def load_templates() -> Environment:
    """The templates of all pages."""
    made = make_environment(PackageLoader("creval.web"), escape_value)
    made.globals |= {"link": link, "many": pluralise, "spot": as_table_cell}
    for name in made.list_templates():  # so that the first page need not
        made.get_template(name)
    return made


def link(path: str, **parameters: object) -> str:
    """An address on this server; parameters that are empty are left out."""
    given = {name: str(value) for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


def to_utf8(text: str) -> str:
    """A text as a page or an address can hold it: file names need not be characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def query_params(request: Request) -> dict[str, str]:
    """What an address asks for; of a parameter that is there twice, the last."""
    return dict(request.query_params)


def serve_static(request: Request) -> Response:
    """A file that goes with the pages."""
    path = _STATIC.get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix])


def describe_error(error: Exception) -> tuple[str, int]:
    """What a page says of an error, and its status: an address that names nothing, or what starlette refused."""
    if isinstance(error, OSError):
        return f"That cannot be read at the moment: {error.strerror or error}. Try again.", 503
    if not isinstance(error, HTTPException):
        sentence = str(error)
        return sentence[:1].upper() + sentence[1:], 404
    phrase = HTTPStatus(error.status_code).phrase
    own = error.detail not in ("", phrase)
    return error.detail if own else f"{phrase}: there is no such page here.", error.status_code


def guarded_app(
    routes: Sequence[BaseRoute],
    handlers: Mapping[Any, Any],
    host: str,
    names: tuple[str, ...],
    *,
    token: str = "",
    writes: bool = False,
) -> Starlette:
    """An application of these routes and the pages' files, for a server that listens at `host`; `token` is what
    its pages need, if anything."""
    own, addresses = allowed_hosts(host, names), not is_loopback(host)
    guard = Middleware(RequestGuard, hosts=own, addresses=addresses, writes=writes)
    static = Route("/static/{name}", serve_static)
    access = [Middleware(AccessKey, token=token)] if token else []
    return Starlette(routes=[*routes, static], middleware=[guard, *access], exception_handlers=handlers)


class SelectOption(NamedTuple):
    """An option of a form's field."""

    value: str
    label: str
    selected: bool


PAGE_SIZE = 25
"""Lines of a list."""


class Pagination(NamedTuple):
    """Which lines of a list are shown, and where the others are."""

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
    """The page of this number, or the last one there is."""
    last = max(1, math.ceil(count / PAGE_SIZE))
    if page and not (page.isascii() and page.isdigit()):
        raise CrevalError(f"a page is a number, not {page!r}.")
    at = min(max(1, int(page[:9] or 1)), last)

    def to(page: int) -> str:
        return link(path, **params, page=page if page > 1 else "") if 1 <= page <= last else ""

    return Pagination(at, last, count, to(at - 1), to(at + 1))
