"""The viewer application: read-only pages of one run."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from creval.core.errors import CrevalError
from creval.store.lookup import RunLookup
from creval.web.common.browser_images import THUMBNAIL_SIDES, BrowserImages, find_image_path
from creval.web.common.pages import describe_error, guarded_app, load_templates, query_params
from creval.web.viewer import detail_pages, list_pages, score_pages, search_results
from creval.web.viewer.filters import outcome_labels, parse_filters, require_name
from creval.web.viewer.live_snapshot import LiveSnapshot

_FILTERED_PAGES: dict[str, Callable[..., dict[str, Any]]] = {
    "samples": list_pages.samples_page,
    "questions": list_pages.questions_page,
    "sample": detail_pages.sample_page,
    "question": detail_pages.question_page,
}


class _UnreadableRunError(CrevalError):
    """Raised if the run was deleted or is being replaced."""


class Viewer:
    """The pages of one run."""

    def __init__(self, live: LiveSnapshot) -> None:
        self._live, self._images, self._templates = live, BrowserImages(), load_templates()
        self._routes = [
            Route("/", self.start),
            Route("/model", self.model),
            *(Route(f"/{name}", partial(self._filtered_page, name, build)) for name, build in _FILTERED_PAGES.items()),
            Route("/reply", self.reply),
            Route("/search", self.search),
            Route("/image", self.image),
        ]
        self._handlers = dict.fromkeys((HTTPException, CrevalError, sqlite3.Error, OSError), self._error)
        self.pages = Starlette(routes=self._routes, exception_handlers=self._handlers)
        """The pages without guards, for an application that adds its own."""

    def app(self, host: str = "127.0.0.1", names: tuple[str, ...] = (), token: str = "") -> Starlette:
        """Return the application, for a server that listens on `host`. With `token`, its pages require it."""
        return guarded_app(self._routes, self._handlers, host, names, token=token)

    def close(self) -> None:
        self._live.close()

    def start(self, request: Request) -> Response:
        at = self._live.get()
        return self._page(request, "start", score_pages.start_page(at, query_params(request).get("column", "")))

    def model(self, request: Request) -> Response:
        at = self._live.get()
        name = require_name("model", query_params(request).get("name", ""), at.models, "name=MODEL")
        return self._page(request, "model", score_pages.model_page(at, name))

    def _filtered_page(self, name: str, build_page: Callable[..., dict[str, Any]], request: Request) -> Response:
        at, asked = self._live.get(), query_params(request)
        choice = parse_filters(asked, at)
        with self._run() as run:
            found = build_page(at, run, choice, asked)
        return self._page(request, name, found | {"choice": choice})

    def reply(self, request: Request) -> Response:
        at = self._live.get()
        with self._run() as run:
            found = detail_pages.reply_page(at, run, query_params(request).get("id", ""))
        return self._page(request, "reply", found)

    def search(self, request: Request) -> Response:
        at, asked = self._live.get(), query_params(request)
        with self._run() as run:
            found = search_results.search_page(at, run, self._live.index, asked.get("q", ""), asked.get("page", ""))
        return self._page(request, "search", found)

    def image(self, request: Request) -> Response:
        """Return an image of a sample. The request selects it by the image's name in the run."""
        at, asked = self._live.get(0), query_params(request)
        sample, size = at.samples.get(asked.get("sample", "")), asked.get("size", "")
        path = None
        if sample is not None and (not size or size in THUMBNAIL_SIDES):
            with self._run() as run:
                path = find_image_path(run, sample, asked.get("name", ""))
        if path is None:
            return PlainTextResponse("This run has no such image.\n", 404)
        return self._images.respond(request, path, size)

    def _run(self) -> RunLookup:
        try:
            return RunLookup(self._live.folder, labels=True)
        except CrevalError as error:
            raise _UnreadableRunError(str(error)) from error

    def _page(self, request: Request, name: str, found: dict[str, Any], status: int = 200) -> HTMLResponse:
        at = self._live.get(0)
        common = {
            "at": at,
            "here": name,
            "q": query_params(request).get("q", ""),
            "problem": self._live.problem,
            "outcomes": outcome_labels(at),
            "listed": bool(request.scope.get("root_path")),
        }
        page = self._templates.get_template(f"{name}.html").render(common | found)
        return HTMLResponse(_below_root(page, request.scope.get("root_path", "")), status)

    def _error(self, request: Request, error: Exception) -> Response:
        sentence, status = describe_error(error)
        if isinstance(error, _UnreadableRunError | sqlite3.Error):
            sentence, status = f"The run cannot be read at the moment: {str(error).rstrip('.')}. Try again.", 503
        return self._page(request, "error", {"sentence": sentence}, status)


def _below_root(page: str, root: str) -> str:
    """Prefix the links of a page with `root`, its path in a list of runs.

    Links are recognised by their quotation marks. Texts never match, because quotation marks in them are escaped.
    """
    return re.sub(r'="/(?!static/)', lambda _: f'="{quote(root)}/', page) if root else page
