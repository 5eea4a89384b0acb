"""Pages to look through what a pipeline made, and to accept, edit or drop it.

Everything works by links and forms; a script adds keys and saves without leaving the page. Whoever
writes has to know a word that only this server's own pages hold.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from creval.building.review.model import Review, ReviewGroup
from creval.core.errors import CrevalError
from creval.core.formatting import many, visible
from creval.core.images import ImageError, size_of
from creval.web.common.forms import is_script, read_sent
from creval.web.common.guard import Guard, is_loopback, named_hosts
from creval.web.common.images import SIDES, Pictures
from creval.web.common.pages import encodable, given, link, paged, static, templates
from creval.web.review.cards import Card, card_of, cards_of, group_version
from creval.web.review.decisions import THEIRS, Outcome, accept_open, decide, place_of
from creval.web.review.progress import SHOWS, Overview, UnreadError, known_show, summary
from creval.web.viewer.sample_images import Picture

_OLD = "This page is from before creval was started again. Your text is still here: save it again."


class ReviewApp:
    """The pages of one review. It is asked in the thread that serves, and nowhere else."""

    def __init__(self, review: Review) -> None:
        self._review, self._overview = review, Overview(review)
        self._pictures, self._templates = Pictures(), templates()
        self._token = secrets.token_urlsafe(32)

    def app(self, host: str = "127.0.0.1", names: tuple[str, ...] = ()) -> Starlette:
        """The application, for a server that listens at `host`."""
        own, addresses = named_hosts(host, names), not is_loopback(host)
        routes = [
            Route("/", self.start),
            Route("/group", self.group),
            Route("/next", self.onward),
            Route("/decide", self.decide, methods=["POST"]),
            Route("/accept", self.accept, methods=["POST"]),
            Route("/picture", self.picture),
            Route("/static/{name}", static),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Guard, hosts=own, addresses=addresses, writes=True)],
            exception_handlers={
                HTTPException: self._refused,
                CrevalError: self._unknown,
                UnreadError: self._unread,
            },
        )

    async def start(self, request: Request) -> Response:
        asked = given(request)
        show = known_show(asked.get("show", ""))
        chosen = self._overview.chosen(show)
        page = paged(asked.get("page", ""), len(chosen), "/", {"show": show})
        lines = [
            (
                one,
                link("/group", id=encodable(one.id), show=show),
                link("/picture", group=encodable(one.id), size="small") if one.pictures else "",
            )
            for one in chosen[page.first_line - 1 : page.last_line]
        ]
        counts = self._overview.counts()
        tabs = [(name, link("/", show=name), counts[name]) for name in SHOWS]
        left = self._overview.undecided(None, show) is not None
        onward = _onward(show if left else "")
        found = {"lines": lines, "page": page, "tabs": tabs, "show": show, "onward": onward}
        return self._page("review", found)

    async def group(self, request: Request) -> Response:
        asked = given(request)
        show = known_show(asked.get("show", ""))
        group = self._overview.read(self._overview.named(asked.get("id", "")))
        cards = [
            card._replace(said="Saved." if encodable(card.item.id) == asked.get("saved") else "")
            for card in cards_of(group, show)
        ]
        return self._group_page(group, show, cards)

    async def onward(self, request: Request) -> Response:
        """To the next group with something to decide, or back to the list."""
        asked = given(request)
        show, after = known_show(asked.get("show", "")), asked.get("after")
        here = None if after is None else self._overview.named(after)
        there = self._overview.undecided(here, show)
        to = link("/", show=show) if there is None else _to_group(there, show)
        return RedirectResponse(to, 303)

    async def picture(self, request: Request) -> Response:
        """One of a group's own pictures: the one that is named, or the first."""
        asked = given(request)
        there = self._overview.known(self._overview.named(asked.get("group", ""))).pictures
        named = {encodable(name): path for name, path in there.items()}
        path = named.get(asked.get("name", next(iter(named), "")))
        size = asked.get("size", "")
        if path is None or (size and size not in SIDES):
            return PlainTextResponse("There is no such picture in this review.\n", 404)
        return await run_in_threadpool(self._pictures.answer, request, path, size)

    async def decide(self, request: Request) -> Response:
        """Keep what was decided about an item."""
        group, show, sent = await self._told(request)
        place = place_of(group, given(request).get("item", ""))
        if self._is_ours(sent):
            outcome = decide(self._overview, group, place, show, sent)
        else:
            card = card_of(group, place, show, sent)._replace(wrong=_OLD)
            outcome = Outcome(403, _OLD, group, [card])
        card, saved = outcome.cards[0], encodable(group.items[place].id)
        if sent.get("act") == THEIRS:
            saved = ""
        back = link("/group", id=encodable(group.id), show=show, saved=saved)
        return self._answer(request, outcome, show, f"{back}#{card.anchor}")

    async def accept(self, request: Request) -> Response:
        """Accept everything in a group that nobody has decided about, as it was shown."""
        group, show, sent = await self._told(request)
        if self._is_ours(sent):
            outcome = accept_open(self._overview, group, show, sent)
        else:
            outcome = Outcome(403, _OLD, group, cards_of(group, show))
        return self._answer(request, outcome, show, _onward(show, group.id))

    async def _told(self, request: Request) -> tuple[ReviewGroup, str, Mapping[str, str]]:
        """The group that something was sent about, as it is now; the list; what was sent."""
        sent, asked = await read_sent(request), given(request)
        group = self._overview.read(self._overview.named(asked.get("group", "")))
        return group, known_show(asked.get("show", "")), sent

    def _is_ours(self, sent: Mapping[str, str]) -> bool:
        word = sent.get("token", "").encode("utf-8", "replace")
        return secrets.compare_digest(word, self._token.encode())

    def _answer(self, request: Request, outcome: Outcome, show: str, to: str) -> Response:
        """What became of it: for a script the cards that changed, for a form a page."""
        good = outcome.status == 200
        if not is_script(request):
            if good:
                return RedirectResponse(to, 303)
            changed = {card.anchor: card for card in outcome.cards}
            cards = [changed.get(card.anchor, card) for card in cards_of(outcome.group, show)]
            return self._group_page(outcome.group, show, cards, outcome.said, outcome.status)
        card, total = self._templates.get_template("review_card.html"), self._overview.total()
        found = {
            "ok": good,
            "said": encodable(visible(outcome.said)),
            "cards": {
                one.anchor: encodable(card.render(card=one, token=self._token))
                for one in outcome.cards
            },
            "decided": _decided_words(outcome.group),
            "total": f"{total.decided:,} of {total.total:,} decided",
            "version": group_version(outcome.group),
            "token": self._token,
            "onward": _onward(show, outcome.group.id),
        }
        return JSONResponse(found, outcome.status)

    def _group_page(
        self,
        group: ReviewGroup,
        show: str,
        cards: Sequence[Card],
        wrong: str = "",
        status: int = 200,
    ) -> Response:
        before, behind = self._overview.near(group.id, show)
        listed = [one.id for one in self._overview.chosen(show)]
        found = {
            "group": group,
            "cards": cards,
            "pictures": [_picture(group, name) for name in group.pictures],
            "decided": _decided_words(group),
            "version": group_version(group),
            "accept": link("/accept", group=encodable(group.id), show=show),
            "previous": "" if before is None else _to_group(before, show),
            "next": "" if behind is None else _to_group(behind, show),
            "onward": _onward(show, group.id),
            "back": link("/", show=show),
            "show": show,
            "place": listed.index(group.id) + 1 if group.id in listed else 0,
            "listed": len(listed),
            "wrong": wrong,
            "token": self._token,
        }
        return self._page("review_group", found, status)

    def _page(self, name: str, found: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        common = {"title": self._review.title, "total": self._overview.total()}
        page = self._templates.get_template(f"{name}.html").render({**common, **found})
        # Going back, browsers would show a page as it was, if they may keep it.
        fresh = {"Cache-Control": "no-store"}
        return HTMLResponse(page.encode("utf-8", "replace"), status, fresh)

    def _refused(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = error.detail if isinstance(error, HTTPException) else ""
        if not detail or detail == HTTPStatus(status).phrase:
            detail = f"{HTTPStatus(status).phrase}: there is no such page here."
        return self._wrong(request, detail, status)

    def _unknown(self, request: Request, error: Exception) -> Response:
        """Something in the address that the review does not have."""
        return self._wrong(request, str(error), 404)

    def _unread(self, request: Request, error: Exception) -> Response:
        return self._wrong(request, f"{error} Try again.", 503)

    def _wrong(self, request: Request, sentence: str, status: int) -> Response:
        sentence = sentence[:1].upper() + sentence[1:]
        if request.method == "POST" and is_script(request):
            return JSONResponse(
                {"ok": False, "said": f"Not saved: {encodable(visible(sentence))}"}, status
            )
        return self._page("review_error", {"sentence": sentence}, status)


def review_app(review: Review, host: str = "127.0.0.1", names: tuple[str, ...] = ()) -> Starlette:
    """The application of a review, for a server that listens at `host`."""
    return ReviewApp(review).app(host, names)


def serve_review(
    review: Review, host: str = "127.0.0.1", port: int = 0, open_browser: bool = False
) -> None:
    """Serve a review's pages until Ctrl-C; then say how much is left."""
    from creval.web.common.server import serve_at

    def note(line: str) -> None:
        print(line, file=sys.stderr)

    serve_at(
        host,
        port,
        ReviewApp(review).app,
        note,
        f"reviewing {visible(review.title)}",
        "Whoever reaches this machine can change what is reviewed: there is no password.",
        open_browser,
    )
    left = review.left()
    note(f"{many(left, 'item')} left to decide." if left else "Everything is decided.")


def _decided_words(group: ReviewGroup) -> str:
    far = summary(group)
    return f"{far.decided} of {many(far.total, 'item')} decided"


def _picture(group: ReviewGroup, name: str) -> Picture:
    width, height, missing = 0, 0, ""
    try:
        width, height = size_of(group.pictures[name])
    except ImageError as error:
        missing = str(error)
    which = {"group": encodable(group.id), "name": encodable(name)}
    medium, full = link("/picture", **which, size="medium"), link("/picture", **which)
    return Picture("", name, missing, width, height, medium, full)


def _to_group(group: str, show: str) -> str:
    return link("/group", id=encodable(group), show=show)


def _onward(show: str, after: str | None = None) -> str:
    """Where the next group is that has something to decide."""
    here = None if after is None else encodable(after)
    return link("/next", after=here, show=show)
