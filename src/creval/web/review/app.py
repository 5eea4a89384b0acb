"""Web pages to review the items of a built benchmark: accept, edit or drop them.

Everything works with links and forms; a script adds keyboard shortcuts. Each change needs a token from one of these
pages.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from creval.building.review.base import Review, ReviewGroup
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control, pluralise
from creval.web.common.browser_images import THUMBNAIL_SIDES, BrowserImages
from creval.web.common.forms import is_json_request, read_form
from creval.web.common.pages import describe_error, guarded_app, link, load_templates, paginate, query_params, to_utf8
from creval.web.review.cards import (
    ReviewCard,
    build_card,
    build_cards,
    build_new_item_form,
    group_version,
    submitted_fields,
)
from creval.web.review.decisions import TAKE_THEIRS, DecisionResult, accept_all_open, apply_decision, item_index
from creval.web.review.progress import (
    LIST_FILTERS,
    ReviewProgress,
    UnreadableGroupError,
    require_list_filter,
    summarise_group,
)
from creval.web.viewer.sample_images import sample_image

_MAX_QUERY_CHARS = 200
_STALE_FORM = "This page was opened before creval was restarted. Your text is still here: save it again."


class ReviewApp:
    """The pages of one review. Changes are made one at a time, in a thread that waits for the folder's lock."""

    def __init__(self, review: Review) -> None:
        self._review, self._progress = review, ReviewProgress(review)
        self._images, self._templates = BrowserImages(), load_templates()
        self._token = secrets.token_urlsafe(32)
        self._writing = asyncio.Lock()

    def app(self, host: str = "127.0.0.1", names: tuple[str, ...] = (), token: str = "") -> Starlette:
        """Return the application, for a server that listens on `host`. With `token`, its pages require it."""
        routes = [
            Route("/", self.start),
            Route("/group", self.group),
            Route("/next", self.next_group),
            Route("/decide", self.decide, methods=["POST"]),
            Route("/accept", self.accept, methods=["POST"]),
            Route("/add", self.add, methods=["POST"]),
            Route("/image", self.image),
        ]
        handlers = dict.fromkeys((HTTPException, CrevalError, OSError), self._error)
        return guarded_app(routes, handlers, host, names, token=token, writes=True)

    async def start(self, request: Request) -> Response:
        asked = query_params(request)
        show, query = require_list_filter(asked.get("show", "")), asked.get("q", "")[:_MAX_QUERY_CHARS]
        chosen = self._progress.listed_groups(show, query)
        page = paginate(asked.get("page", ""), len(chosen), "/", {"show": show, "q": query})
        lines = [
            (one, _group_url(one.id, show), link("/image", group=to_utf8(one.id), size="small") if one.images else "")
            for one in chosen[page.first_line - 1 : page.last_line]
        ]
        counts = self._progress.counts()
        tabs = [(name, link("/", show=name, q=query), counts[name]) for name in LIST_FILTERS]
        left = self._progress.next_undecided(None, show) is not None
        onward = _next_group_url(show if left else "")
        found = {"lines": lines, "page": page, "tabs": tabs, "show": show, "onward": onward, "q": query}
        return self._page("review", found)

    async def group(self, request: Request) -> Response:
        asked = query_params(request)
        show = require_list_filter(asked.get("show", ""))
        group = self._progress.read(self._progress.resolve_group(asked.get("id", "")))
        cards = [
            card._replace(message="Saved." if to_utf8(card.item.id) == asked.get("saved") else "")
            for card in build_cards(group, show)
        ]
        return self._group_page(group, show, cards)

    async def next_group(self, request: Request) -> Response:
        """Redirect to the next group with undecided items, or to the list if there is none."""
        asked = query_params(request)
        show, after = require_list_filter(asked.get("show", "")), asked.get("after")
        here = None if after is None else self._progress.resolve_group(after)
        there = self._progress.next_undecided(here, show)
        to = link("/", show=show) if there is None else _group_url(there, show)
        return RedirectResponse(to, 303)

    async def image(self, request: Request) -> Response:
        """Return an image of a group: the one with the given name, or the first."""
        asked = query_params(request)
        there = self._progress.cached_group(self._progress.resolve_group(asked.get("group", ""))).images
        named = {to_utf8(name): path for name, path in there.items()}
        path = named.get(asked.get("name", next(iter(named), "")))
        size = asked.get("size", "")
        if path is None or (size and size not in THUMBNAIL_SIDES):
            return PlainTextResponse("This review has no such image.\n", 404)
        return await run_in_threadpool(self._images.respond, request, path, size)

    async def decide(self, request: Request) -> Response:
        """Save the decision about an item."""
        name, show, sent = await self._read_post(request)
        named = query_params(request).get("item", "")

        def work() -> tuple[DecisionResult, str]:
            group = self._progress.read(name)
            place = item_index(group, named)
            saved = "" if sent.get("act") == TAKE_THEIRS else to_utf8(group.items[place].id)
            if self._has_valid_token(sent):
                return apply_decision(self._progress, group, place, show, sent), saved
            card = build_card(group, place, show, sent)._replace(error=_STALE_FORM)
            return DecisionResult(403, _STALE_FORM, group, [card]), saved

        async with self._writing:
            outcome, saved = await run_in_threadpool(work)
        back = link("/group", id=to_utf8(name), show=show, saved=saved)
        return self._respond(request, outcome, show, f"{back}#{outcome.cards[0].anchor}")

    async def accept(self, request: Request) -> Response:
        """Accept all undecided items of a group, if they are still as they were shown."""
        name, show, sent = await self._read_post(request)

        def work() -> DecisionResult:
            group = self._progress.read(name)
            if self._has_valid_token(sent):
                return accept_all_open(self._progress, group, show, sent)
            return DecisionResult(403, _STALE_FORM, group, build_cards(group, show))

        async with self._writing:
            outcome = await run_in_threadpool(work)
        return self._respond(request, outcome, show, _next_group_url(show, name))

    async def add(self, request: Request) -> Response:
        """Add an item to a group from the form on its page."""
        name, show, sent = await self._read_post(request)

        def work() -> Response:
            group = self._progress.read(name)
            wrong, status = _STALE_FORM, 403
            if self._has_valid_token(sent):
                try:
                    added = self._progress.add(group.id, submitted_fields(group.new_item, sent))
                except CrevalError as error:
                    wrong, status = f"Not added: {error}", 422
                else:
                    group = self._progress.read(group.id)
                    card = build_card(group, item_index(group, to_utf8(added)), show)
                    back = link("/group", id=to_utf8(group.id), show=show, saved=to_utf8(added))
                    return RedirectResponse(f"{back}#{card.anchor}", 303)
            return self._group_page(group, show, build_cards(group, show), wrong, status, sent)

        async with self._writing:
            return await run_in_threadpool(work)

    async def _read_post(self, request: Request) -> tuple[str, str, Mapping[str, str]]:
        """Return the group and the list filter in the URL of a POST request, and the submitted fields."""
        sent, asked = await read_form(request), query_params(request)
        name = self._progress.resolve_group(asked.get("group", ""))
        return name, require_list_filter(asked.get("show", "")), sent

    def _has_valid_token(self, sent: Mapping[str, str]) -> bool:
        token = sent.get("token", "").encode("utf-8", "replace")
        return secrets.compare_digest(token, self._token.encode())

    def _respond(self, request: Request, outcome: DecisionResult, show: str, to: str) -> Response:
        """Return the response to a change.

        A script gets the changed cards as JSON. A form gets a page.
        """
        good = outcome.status == 200
        if not is_json_request(request):
            if good:
                return RedirectResponse(to, 303)
            changed = {card.anchor: card for card in outcome.cards}
            cards = [changed.get(card.anchor, card) for card in build_cards(outcome.group, show)]
            return self._group_page(outcome.group, show, cards, outcome.message, outcome.status)
        card, total = self._templates.get_template("review_card.html"), self._progress.total()
        found = {
            "ok": good,
            "said": to_utf8(escape_control(outcome.message)),
            "cards": {one.anchor: to_utf8(card.render(card=one, token=self._token)) for one in outcome.cards},
            "decided": _format_decided(outcome.group),
            "total": f"{total.decided:,} of {total.total:,} decided",
            "version": group_version(outcome.group),
            "token": self._token,
            "instruction": to_utf8(escape_control(outcome.group.instruction)),
            "onward": _next_group_url(show, outcome.group.id),
        }
        return JSONResponse(found, outcome.status)

    def _group_page(
        self,
        group: ReviewGroup,
        show: str,
        cards: Sequence[ReviewCard],
        wrong: str = "",
        status: int = 200,
        new: Mapping[str, str] | None = None,
    ) -> Response:
        before, behind = self._progress.neighbours(group.id, show)
        listed = [one.id for one in self._progress.listed_groups(show)]
        found = {
            "group": group,
            "cards": cards,
            "images": [
                sample_image("", name, path, group=to_utf8(group.id), name=to_utf8(name))
                for name, path in group.images.items()
            ],
            "decided": _format_decided(group),
            "version": group_version(group),
            "accept": link("/accept", group=to_utf8(group.id), show=show),
            "add": link("/add", group=to_utf8(group.id), show=show),
            "new_fields": build_new_item_form(group, new),
            "adding": new is not None,
            "previous": "" if before is None else _group_url(before, show),
            "next": "" if behind is None else _group_url(behind, show),
            "onward": _next_group_url(show, group.id),
            "back": link("/", show=show),
            "show": show,
            "place": listed.index(group.id) + 1 if group.id in listed else 0,
            "listed": len(listed),
            "wrong": wrong,
            "token": self._token,
        }
        return self._page("review_group", found, status)

    def _page(self, name: str, found: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        common = {"title": self._review.title, "total": self._progress.total()}
        page = self._templates.get_template(f"{name}.html").render({**common, **found})
        # If browsers could cache the page, the back button would show its old state.
        fresh = {"Cache-Control": "no-store"}
        return HTMLResponse(page.encode("utf-8", "replace"), status, fresh)

    def _error(self, request: Request, error: Exception) -> Response:
        sentence, status = describe_error(error)
        if isinstance(error, UnreadableGroupError):
            sentence, status = f"{sentence} Try again.", 503
        if request.method == "POST" and is_json_request(request):
            return JSONResponse({"ok": False, "said": f"Not saved: {to_utf8(escape_control(sentence))}"}, status)
        return self._page("review_error", {"sentence": sentence}, status)


def serve_review(
    review: Review, host: str = "127.0.0.1", port: int = 0, open_browser: bool = False, token: bool = False
) -> None:
    """Serve the pages of a review until Ctrl-C, then print the number of undecided items."""
    from creval.web.common.server import serve_app

    def note(line: str) -> None:
        print(line, file=sys.stderr)

    serve_app(
        host,
        port,
        ReviewApp(review).app,
        note,
        f"reviewing {escape_control(review.title)}",
        "Anyone with the link can change the review.",
        open_browser,
        token,
    )
    left = review.count_undecided()
    note(f"{pluralise(left, 'item')} left to decide." if left else "All items are decided.")


def _format_decided(group: ReviewGroup) -> str:
    progress = summarise_group(group)
    return f"{progress.decided} of {pluralise(progress.total, 'item')} decided"


def _group_url(group: str, show: str) -> str:
    return link("/group", id=to_utf8(group), show=show)


def _next_group_url(show: str, after: str | None = None) -> str:
    """Return the link to the next group with undecided items."""
    here = None if after is None else to_utf8(after)
    return link("/next", after=here, show=show)
