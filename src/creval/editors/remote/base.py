"""What editors behind servers share: asking with a key, fetching results without it, and checking
that what came is a picture.

Whatever a server sends is untrusted: it is bounded, no redirect is followed with the key, and an
address that it names is asked without the key, over http or https alone.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urljoin

import aiohttp
import pybase64
from yarl import URL

from creval.core.errors import CrevalError
from creval.core.images import Encoded, ImageError, decode, encode
from creval.editors.base import Editor, EditorOptions, Job, Ticket
from creval.editors.output_checks import MOST
from creval.providers.errors import Fault, Unusable
from creval.providers.http import Body, Got, Server, proxy_for
from creval.providers.openai_wire import Said, errors_in, read_wait

_LARGEST_REPLY = MOST * 4 // 3 + (1 << 20)  # a picture in base64, and some words
_LOADS = 3  # times that a result is fetched before it is given up: it is paid for already
_LOAD_SECONDS = 120.0  # that one fetch may take
_REDIRECTS = 3
_GIVEN_UP = (408, 504, 524)  # by somebody on the way: the picture may have been made
_MOVED = (301, 302, 303, 307, 308)
_ADDRESS = re.compile(r"https?://[\x21-\x7e]{1,8000}", re.IGNORECASE)
_UNNAMED = ("", "application/octet-stream", "binary/octet-stream")
_GONE = "no result"
# What another fetch of the same result does not mend.
_SPOILT = (_GONE, "no picture", "damaged picture", "too long a reply")


class Picture(NamedTuple):
    """A picture's content and its type as the server told it."""

    content: bytes
    media: str


class Remote(Editor):
    """A model behind `URL` + `path`. The key is kept in `Server`, and in no record, error or log.

    `own` says that the address is not the provider's: nothing is known about its prices.
    """

    provider: ClassVar[str]
    path: ClassVar[str]
    reserved: ClassVar[frozenset[str]] = frozenset({"model", "prompt", "n", "stream"})
    masks: ClassVar[bool] = False
    """Whether the provider takes a mask."""
    interval = 0.5
    """Seconds between two looks at a result that is not there yet."""

    def __init__(self, server: Server, options: EditorOptions, *, own: bool = False) -> None:
        self.name, self.model, self.learned = server.name, server.model, []
        self._server, self._own = server, own
        address = URL(server.url)
        self._outside = address.scheme == "https" and not _is_inside(address.host or "")
        self._connections = options.concurrency
        self._settings = dict(options.settings)
        for name in sorted(self.reserved & self._settings.keys()):
            raise CrevalError(f"--set {name}: {self.name} is given that by creval itself.")
        self._fixed = options.price
        self.price = options.price
        if options.price is None and not own:
            self.price = self.list_price()
        self._with_key: aiohttp.ClientSession | None = None
        self._without: aiohttp.ClientSession | None = None

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "url": self._server.url, "settings": self._settings}

    def takes(self, extra: str) -> bool:
        return extra != "mask" or self.masks

    def list_price(self) -> float | None:
        """US dollars a picture, as the provider publishes it."""
        return None

    async def open(self) -> None:
        self._with_key = self._server.session(self.headers(), self._connections)
        self._without = self._server.session({}, self._connections)

    async def close(self) -> None:
        for session in (self._with_key, self._without):
            if session is not None:
                await session.close()

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """The headers that carry the key."""

    def bearer(self) -> dict[str, str]:
        key = self._server.key
        return {"Authorization": f"Bearer {key}"} if key else {}

    async def post(self, path: str, body: Mapping[str, Any] | aiohttp.FormData) -> dict[str, Any]:
        """What the server answers to a request; `Fault` or `Unusable` where that is an error."""
        address = URL(self._server.url + path)
        data: Any = body
        if not isinstance(body, aiohttp.FormData):
            data = Body([json.dumps(body).encode()], address.scheme)
        return self.read(await self.ask("POST", address, data=data))

    async def ask(self, method: str, address: URL, *, key: bool = True, **options: Any) -> Got:
        """What stands at an address, which is sent the key or not."""
        session = self._with_key if key else self._without
        if session is None:
            raise RuntimeError("open the editor first")
        paid = method == "POST"
        return await self._server.fetch(
            session, method, address, most=_LARGEST_REPLY, paid=paid, **options
        )

    def read(self, got: Got) -> dict[str, Any]:
        """The JSON object that was sent; `Fault` or `Unusable` where it is an error, or none."""
        if not 200 <= got.status < 300:
            raise self.fault(got.status, errors_in(got.content), got.headers)
        try:
            body = json.loads(got.content)
        except (ValueError, RecursionError):
            kind = "HTML instead of JSON" if got.content.lstrip()[:1] == b"<" else "broken JSON"
            shown = self._server.shown(got.content[:4000].decode("utf-8", "replace"))
            raise Fault(kind, shown[:80], paid=True) from None
        if not isinstance(body, dict):
            raise Fault("broken JSON", "a reply that is no object", paid=True)
        if body.get("error"):
            # Some gateways send their errors with status 200.
            error = errors_in(got.content)
            raise self.fault(error.number or 502, error, got.headers)
        return body

    def fault(self, status: int, error: Said, headers: Mapping[str, str]) -> Exception:
        """What an error means for this picture, or for all of them."""
        if found := self._server.fault(status, error, headers):
            if isinstance(found, Fault) and status in _GIVEN_UP:
                found.paid = True
            return found
        if missing := self._server.no_model(status, error, self.path):
            return missing
        reason = self._server.shown(error.text) or f"HTTP {status}"
        return Fault("too large" if status == 413 else "bad request", reason, again=False)

    def refused(self, code: object, message: object) -> Exception:
        """What an error means that stands inside a reply."""
        said = Said(str(message or code), f"{code} {message}", None)
        return self.fault(400, said, {})

    async def collect(self, url: object, ticket: Ticket) -> Picture:
        """The picture under an address that the server named. The address is kept before, so that
        a fetch that fails, or a kill, does not mean to pay again."""
        if isinstance(url, str) and url.startswith("data:"):
            return await self.decoded(url, "")
        place = str(self.named(url))
        await ticket.keep(place)
        return await self.load(place, ticket)

    async def load(self, url: str, ticket: Ticket) -> Picture:
        """The picture under an address. One that can never be had from there is forgotten, and
        only then paid in vain: from what is kept, the next try fetches it."""
        for tried in range(1, _LOADS + 1):
            try:
                return await self._load_once(url)
            except Fault as fault:
                if tried == _LOADS or not fault.again or fault.kind == _GONE:
                    fault.paid = fault.kind in _SPOILT
                    if fault.paid:
                        await ticket.keep("")
                    raise
                wait = min(max(fault.wait or 0.0, self.interval * 2**tried), 60.0)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def _load_once(self, url: str) -> Picture:
        if self._without is None:
            raise RuntimeError("open the editor first")
        place = self.named(url)
        for _ in range(_REDIRECTS + 1):
            try:
                got = await self._server.fetch(
                    self._without,
                    "GET",
                    place,
                    most=MOST,
                    seconds=_LOAD_SECONDS,
                    proxy=proxy_for(place),
                )
            except Unusable as error:  # one result's host says nothing about the others
                raise Fault("no picture", self._server.shown(error)) from None
            if got.status not in _MOVED:
                break
            place = self.named(urljoin(str(place), got.headers.get("Location", "")))
        if got.status == 429 or got.status >= 500:
            raise Fault(
                f"server error {got.status}", "in the picture's place", wait=read_wait(got.headers)
            )
        if got.status != 200:
            raise Fault(_GONE, f"HTTP {got.status} where it should be", paid=True)
        media = got.headers.get("Content-Type", "").partition(";")[0].strip().casefold()
        if not media.startswith("image/") and media not in _UNNAMED:
            raise Fault("no picture", f"{self._server.shown(media)} in its place", paid=True)
        return await self.checked(got.content, media)

    def named(self, url: object) -> URL:
        """An address that a server named, if it is one that may be asked."""
        try:
            if not isinstance(url, str) or not _ADDRESS.fullmatch(url):
                raise ValueError
            place = URL(url, encoded=True)
            host, _ = place.host, place.port
            if not host or place.user or place.password:
                raise ValueError
        except ValueError:
            shown = self._server.shown(url)[:80]
            raise Fault("no picture", f"an address that is none: {shown}", paid=True) from None
        if self._outside and _is_inside(host):
            raise Fault("no picture", f"an address inside this network: {host}", paid=True)
        return place

    async def decoded(self, text: object, media: str) -> Picture:
        """A picture that stands in a reply in base64, perhaps as a data address."""
        if not isinstance(text, str) or not text:
            raise Fault("no picture", "a reply without one", paid=True)
        if text.startswith("data:"):
            head, _, text = text.partition(",")
            media = head.removeprefix("data:").partition(";")[0]
        try:
            content = pybase64.b64decode(text, validate=True)
        except ValueError:
            raise Fault("damaged picture", "what came is not base64", paid=True) from None
        return await self.checked(content, media)

    async def checked(self, content: bytes, media: str) -> Picture:
        """The picture, if it is one, whole; its type is read off it where none was told."""
        if len(content) > MOST:
            raise Fault("too long a reply", f"more than {MOST >> 20} MB", again=False, paid=True)
        try:
            await asyncio.to_thread(decode, content)
        except ImageError as error:
            raise Fault("damaged picture", self._server.shown(error), paid=True) from None
        told = media if media.startswith("image/") else ""
        return Picture(content, told or media_of(content))

    async def pictures(self, job: Job, most: int) -> list[Encoded]:
        """The source and the references as they are sent, of which there may be so many."""
        paths = [path for path in (job.source, *job.references) if path is not None]
        if len(paths) > most:
            reason = f"{self.name} takes {most} pictures at most, and these are {len(paths)}"
            raise Fault("unsupported", reason, again=False)
        return [await self.encoded(path) for path in paths]

    async def encoded(self, path: Path) -> Encoded:
        try:
            return await asyncio.to_thread(encode, path)
        except ImageError as error:
            raise Fault("unreadable source", str(error), again=False) from None

    def told(self, **more: Any) -> dict[str, Any]:
        """Facts about a picture; what a server said is cut, and the key taken out."""
        said = {
            name: self._server.shown(value) if isinstance(value, str) else value
            for name, value in more.items()
            if value not in (None, "", {}, [])
        }
        return {"provider": self.provider, "model": self.model, **said}


def media_of(content: bytes) -> str:
    """A picture's type by how it begins; empty where that is not known."""
    for start, media in _BEGINNINGS:
        if content.startswith(start):
            return media
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


_BEGINNINGS = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def _is_inside(host: str) -> bool:
    """Whether a host is this machine, or an address that only this network knows."""
    if host.rpartition(".")[2] in ("localhost", "local", "internal") or not re.search("[.:]", host):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False
