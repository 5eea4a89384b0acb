"""The viewer: pages over one run, for reading only."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.report.page.template import COLOURS
from creval.report.text import visible
from creval.store.closeup import CloseUp
from creval.web import closer, lists, results, scores
from creval.web.choice import known, link, read_choice
from creval.web.current import Current
from creval.web.guard import Guard, named_hosts
from creval.web.near import described
from creval.web.pictures import SIDES, Pictures, path_of, state_of_file

_OWN = Path(__file__).parent / "static"
_STATIC = {
    "colours.css": (COLOURS, "text/css"),
    "view.css": (_OWN / "view.css", "text/css"),
    "view.js": (_OWN / "view.js", "text/javascript"),
    "icon.svg": (_OWN / "icon.svg", "image/svg+xml"),
}
_LINES = re.compile(r"\r\n?|\n")
_MANY = {"sample": "samples", "question": "questions", "model": "models"}


def shown(value: object) -> object:
    """Whatever a template puts out: in text, control characters are shown and not obeyed; lines
    stay lines."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return "\n".join(visible(line) for line in _LINES.split(value))
    return value


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("creval.web"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"link": link, "many": many}
    for name in templates.list_templates():  # so that the first page need not
        templates.get_template(name)
    return templates


def many(count: int, what: str) -> str:
    """`1 sample`, `2,712 samples`."""
    return f"{count:,} {what if count == 1 else _MANY.get(what, what + 's')}"


class _UnreadError(CrevalError):
    """The run is gone, or being made anew."""


class Viewer:
    """The pages of one run."""

    def __init__(self, current: Current) -> None:
        self._current, self._pictures, self._templates = current, Pictures(), _templates()

    def app(self, host: str = "127.0.0.1", names: tuple[str, ...] = ()) -> Starlette:
        """The application, for a server that listens at `host`."""
        own = named_hosts(host, names)
        addresses = host not in ("127.0.0.1", "localhost", "::1")
        routes = [
            Route("/", self.start),
            Route("/model", self.model),
            Route("/samples", self.samples),
            Route("/questions", self.questions),
            Route("/sample", self.sample),
            Route("/question", self.question),
            Route("/reply", self.reply),
            Route("/search", self.search),
            Route("/picture", self.picture),
            Route("/static/{name}", self.static),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Guard, hosts=own, addresses=addresses)],
            exception_handlers={
                HTTPException: self._refused,
                CrevalError: self._unknown,
                _UnreadError: self._unread,
                sqlite3.Error: self._unread,
            },
        )

    def start(self, request: Request) -> Response:
        at = self._current.get()
        return self._page(request, "start", scores.start(at, _given(request).get("column", "")))

    def model(self, request: Request) -> Response:
        at = self._current.get()
        name = known("model", _given(request).get("name", ""), at.systems)
        if not name:
            raise CrevalError("say which model: name=MODEL.")
        return self._page(request, "model", scores.model(at, name))

    def samples(self, request: Request) -> Response:
        at, given = self._current.get(), _given(request)
        choice = read_choice(given, at)
        with self._run() as run:
            found = lists.samples(at, run, choice, given.get("page", ""))
        found |= {"words": described(at, choice)}
        return self._page(request, "samples", found | {"choice": choice})

    def questions(self, request: Request) -> Response:
        at, given = self._current.get(), _given(request)
        choice = read_choice(given, at)
        with self._run() as run:
            found = lists.questions(at, run, choice, given.get("page", ""))
        found |= {"words": described(at, choice)}
        return self._page(request, "questions", found | {"choice": choice})

    def sample(self, request: Request) -> Response:
        return self._closer(request, "sample", closer.sample)

    def question(self, request: Request) -> Response:
        return self._closer(request, "question", closer.question)

    def _closer(self, request: Request, name: str, look: Callable[..., dict[str, Any]]) -> Response:
        at, given = self._current.get(), _given(request)
        choice = read_choice(given, at)
        with self._run() as run:
            found = look(at, run, choice, given)
        return self._page(request, name, found | {"choice": choice})

    def reply(self, request: Request) -> Response:
        at = self._current.get()
        with self._run() as run:
            found = closer.reply(at, run, _given(request).get("id", ""))
        return self._page(request, "reply", found)

    def search(self, request: Request) -> Response:
        at, given = self._current.get(), _given(request)
        with self._run() as run:
            found = results.search(
                at, run, self._current.index, given.get("q", ""), given.get("page", "")
            )
        return self._page(request, "search", found)

    def picture(self, request: Request) -> Response:
        """One of the run's own pictures, by what it shows."""
        at, given = self._current.get(0), _given(request)
        sample, size = at.samples.get(given.get("sample", "")), given.get("size", "")
        path = None
        if sample is not None and (not size or size in SIDES):
            with self._run() as run:
                path = path_of(run, sample, given.get("name", ""))
        if path is None:
            return PlainTextResponse("There is no such picture in this run.\n", 404)
        tag = state_of_file(path)
        if tag and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        try:
            served = self._pictures.get(path, size)
        except (ImageError, OSError) as error:
            return PlainTextResponse(f"{visible(str(error))}\n", 404)
        return Response(served.content, media_type=served.media, headers={"ETag": served.tag})

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        path, media = _STATIC[name]
        return Response(path.read_bytes(), media_type=media)

    def _run(self) -> CloseUp:
        try:
            return CloseUp(self._current.folder)
        except CrevalError as error:
            raise _UnreadError(str(error)) from error

    def _page(
        self, request: Request, name: str, found: dict[str, Any], status: int = 200
    ) -> HTMLResponse:
        at = self._current.get(0)
        common = {
            "at": at,
            "here": name,
            "q": _given(request).get("q", ""),
            "problem": self._current.problem,
            "outcomes": scores.outcome_words(at),
        }
        page = self._templates.get_template(f"{name}.html")
        return HTMLResponse(page.render(common | found), status)

    def _refused(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        sentence = HTTPStatus(status).phrase + ": there is no such page here."
        return self._page(request, "error", {"sentence": sentence}, status)

    def _unknown(self, request: Request, error: Exception) -> Response:
        """Something in the address that the run does not know."""
        sentence = str(error)
        return self._page(request, "error", {"sentence": sentence[:1].upper() + sentence[1:]}, 404)

    def _unread(self, request: Request, error: Exception) -> Response:
        sentence = f"The run cannot be read at the moment: {str(error).rstrip('.')}. Try again."
        return self._page(request, "error", {"sentence": sentence}, 503)


def _given(request: Request) -> dict[str, str]:
    """What an address asks for; of a parameter that is there twice, the last."""
    return dict(request.query_params)
