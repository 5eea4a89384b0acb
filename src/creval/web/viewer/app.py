"""The viewer: pages over one run, for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from creval.core.errors import CrevalError
from creval.store.lookup import CloseUp
from creval.web.common.guard import Guard, is_loopback, named_hosts
from creval.web.common.images import SIDES, Pictures, path_of
from creval.web.common.pages import given, static, templates
from creval.web.viewer import detail_pages, lists, score_pages, search_results
from creval.web.viewer.filters import known, read_choice
from creval.web.viewer.live_snapshot import Current
from creval.web.viewer.neighbours import described


class _UnreadError(CrevalError):
    """The run is gone, or being made anew."""


class Viewer:
    """The pages of one run."""

    def __init__(self, current: Current) -> None:
        self._current, self._pictures, self._templates = current, Pictures(), templates()

    def app(self, host: str = "127.0.0.1", names: tuple[str, ...] = ()) -> Starlette:
        """The application, for a server that listens at `host`."""
        own = named_hosts(host, names)
        addresses = not is_loopback(host)
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
            Route("/static/{name}", static),
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
        return self._page(request, "start", score_pages.start(at, given(request).get("column", "")))

    def model(self, request: Request) -> Response:
        at = self._current.get()
        name = known("model", given(request).get("name", ""), at.systems)
        if not name:
            raise CrevalError("say which model: name=MODEL.")
        return self._page(request, "model", score_pages.model(at, name))

    def samples(self, request: Request) -> Response:
        at, asked = self._current.get(), given(request)
        choice = read_choice(asked, at)
        with self._run() as run:
            found = lists.samples(at, run, choice, asked.get("page", ""))
        found |= {"words": described(at, choice)}
        return self._page(request, "samples", found | {"choice": choice})

    def questions(self, request: Request) -> Response:
        at, asked = self._current.get(), given(request)
        choice = read_choice(asked, at)
        with self._run() as run:
            found = lists.questions(at, run, choice, asked.get("page", ""))
        found |= {"words": described(at, choice)}
        return self._page(request, "questions", found | {"choice": choice})

    def sample(self, request: Request) -> Response:
        return self._closer(request, "sample", detail_pages.sample)

    def question(self, request: Request) -> Response:
        return self._closer(request, "question", detail_pages.question)

    def _closer(self, request: Request, name: str, look: Callable[..., dict[str, Any]]) -> Response:
        at, asked = self._current.get(), given(request)
        choice = read_choice(asked, at)
        with self._run() as run:
            found = look(at, run, choice, asked)
        return self._page(request, name, found | {"choice": choice})

    def reply(self, request: Request) -> Response:
        at = self._current.get()
        with self._run() as run:
            found = detail_pages.reply(at, run, given(request).get("id", ""))
        return self._page(request, "reply", found)

    def search(self, request: Request) -> Response:
        at, asked = self._current.get(), given(request)
        with self._run() as run:
            found = search_results.search(
                at, run, self._current.index, asked.get("q", ""), asked.get("page", "")
            )
        return self._page(request, "search", found)

    def picture(self, request: Request) -> Response:
        """One of the run's own pictures, by what it shows."""
        at, asked = self._current.get(0), given(request)
        sample, size = at.samples.get(asked.get("sample", "")), asked.get("size", "")
        path = None
        if sample is not None and (not size or size in SIDES):
            with self._run() as run:
                path = path_of(run, sample, asked.get("name", ""))
        if path is None:
            return PlainTextResponse("There is no such picture in this run.\n", 404)
        return self._pictures.answer(request, path, size)

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
            "q": given(request).get("q", ""),
            "problem": self._current.problem,
            "outcomes": score_pages.outcome_words(at),
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
