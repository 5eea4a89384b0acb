"""Base class of editors that call a server: requests with the API key, downloads without it, checks of images.

Everything that a server sends is untrusted:

- The size of replies is limited.
- No redirect is followed with the key.
- Addresses in replies are requested without the key, and only over http or https.
- Only a server in the local network may refer to addresses in the local network.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urljoin

import aiohttp
import pybase64
from yarl import URL

from creval.core.errors import CrevalError
from creval.core.formatting import pluralise
from creval.core.images import EncodedImage, ImageError, decode_image, encode_image
from creval.core.redaction import hide_settings
from creval.core.rehearsal import REHEARSAL_PREFIX
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.output_checks import MAX_IMAGE_BYTES
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.catalog import REHEARSAL_MARK
from creval.providers.http import FORBIDDEN_ADDRESS, HttpEndpoint, HttpResponse, SlicedJsonBody
from creval.providers.openai_wire import ErrorBody, parse_error_body, parse_retry_after
from creval.providers.proxies import find_proxy
from creval.providers.public_addresses import is_local_host, is_local_name, is_public, resolve

_MAX_JSON_PARTS = 100_000  # JSON values in a reply: a million small ones take a gigabyte of memory
_MAX_REPLY_BYTES = MAX_IMAGE_BYTES * 4 // 3 + (1 << 20)  # an image in base64, and some text
_DOWNLOAD_TRIES = 3  # attempts to download a result, which is paid for already
_DOWNLOAD_TIMEOUT = 120.0  # seconds per attempt
_MAX_REDIRECTS = 3
_GATEWAY_TIMEOUTS = (408, 504, 524)  # from a gateway: the server may still have generated the image
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_HTTP_URL = re.compile(r"https?://[\x21-\x7e]{1,8000}", re.IGNORECASE)
_GENERIC_MEDIA_TYPES = ("", "application/octet-stream", "binary/octet-stream")
_NO_RESULT = "no result"
# Failures that another download of the same result would repeat.
_PERMANENT_FAILURES = (_NO_RESULT, "no image", "damaged image", "reply too long")


class DownloadedImage(NamedTuple):
    """The content of an image, and its type as reported by the server."""

    content: bytes
    media_type: str


class RemoteEditor(Editor):
    """A model at `URL` + `endpoint_path`. The API key is only in `HttpEndpoint`, never in a record, error or log.

    `custom_url`: the address is not the provider's, so its prices are unknown. `is_rehearsal`: the server is creval's
    `fake-server`, whose replies are marked and accepted by no other editor.
    """

    provider: ClassVar[str]
    endpoint_path: ClassVar[str]
    key_header: ClassVar[tuple[str, str]] = ("Authorization", "Bearer ")
    """The header of the key, and the prefix of its value."""
    reserved_settings: ClassVar[frozenset[str]] = frozenset({"model", "prompt", "n", "stream"})
    supports_mask: ClassVar[bool] = False
    """True if the provider supports masks."""
    poll_interval = 0.5
    """Seconds between two polls of a pending result."""

    def __init__(
        self, endpoint: HttpEndpoint, options: EditorOptions, *, custom_url: bool = False, is_rehearsal: bool = False
    ) -> None:
        self.name, self.model, self.notes = endpoint.name, endpoint.model, []
        self._endpoint, self._custom_url, self._is_rehearsal = endpoint, custom_url, is_rehearsal
        address = URL(endpoint.url)
        self._is_public_endpoint = address.scheme == "https" and not is_local_name(address.host or "")
        self._connections = options.concurrency
        self._settings = dict(options.settings)
        self._shown_settings = hide_settings(self._settings)
        for name in sorted(self.reserved_settings & self._settings.keys()):
            raise CrevalError(f"`settings` {name}: creval sets this itself for {self.name}. Remove it.")
        self._user_price = options.price
        self.price = options.price
        if options.price is None and not custom_url:
            self.price = self.list_price()
        self._keyed_session: aiohttp.ClientSession | None = None
        self._keyless_session: aiohttp.ClientSession | None = None
        self._proxied_session: aiohttp.ClientSession | None = None

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "url": self._endpoint.url, "settings": self._shown_settings}

    def keep_secrets(self) -> None:
        self._shown_settings = self._settings

    def accepts(self, extra: str) -> bool:
        return extra != "mask" or self.supports_mask

    def list_price(self) -> float | None:
        """Return the provider's list price in US dollars per image, or None."""
        return None

    async def open(self) -> None:
        address = URL(self._endpoint.url)
        proxy, connect = find_proxy(address), self._endpoint.open_session
        local = proxy is None and await is_local_host(address.host or "")
        self._is_public_endpoint = not local
        # The name of a server in the local network must not resolve to a public address later.
        public = False if local else None
        self._keyed_session = connect(self.auth_headers(), self._connections, proxy=proxy, public=public)
        self._keyless_session = connect({}, self._connections, public=None if local else True)
        self._proxied_session = connect({}, self._connections)

    async def close(self) -> None:
        for session in (self._keyed_session, self._keyless_session, self._proxied_session):
            if session is not None:
                await session.close()

    def auth_headers(self) -> dict[str, str]:
        name, prefix = self.key_header
        return {name: prefix + self._endpoint.key} if self._endpoint.key else {}

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        if ticket.task_id:
            return await self.resume(job, ticket, self.price, self.build_metadata(resumed=True))
        self.note_ignored_inputs(job)
        return await self.request_edit(job, ticket)

    @abstractmethod
    async def request_edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        """Request a new image, because no task is stored for the request."""

    async def resume(
        self, job: EditRequest, ticket: PendingTask, cost: float | None, metadata: dict[str, Any]
    ) -> EditOutput:
        """Return the image of the stored task, which was paid for by an earlier call."""
        del job
        return EditOutput(*await self.download(ticket.task_id or "", ticket), cost, metadata)

    async def post(self, path: str, body: Mapping[str, Any] | aiohttp.FormData) -> dict[str, Any]:
        """Send a request and return the reply. Raises `CallError` or `ProviderUnusable` for an error reply."""
        address = URL(self._endpoint.url + path)
        data: Any = body
        if not isinstance(body, aiohttp.FormData):
            data = SlicedJsonBody([json.dumps(body).encode()], address.scheme)
        got = await self.fetch("POST", address, data=data)
        from_rehearsal, name = got.headers.get("Server") == REHEARSAL_MARK, self.name
        if from_rehearsal and not self._is_rehearsal:
            raise ProviderUnusable(
                f"{name} is creval's rehearsal server, whose edits are not those of a real model: use "
                f"{REHEARSAL_PREFIX}{self.provider}:{self.model}@{self._endpoint.url}, in a separate folder."
            )
        reply = self.parse_json(got)
        if self._is_rehearsal and not from_rehearsal:
            raise ProviderUnusable(
                f"{name} is not creval's rehearsal server: use {name.removeprefix(REHEARSAL_PREFIX)}."
            )
        return reply

    async def fetch(
        self, method: str, address: URL, *, with_key: bool = True, max_bytes: int = _MAX_REPLY_BYTES, **options: Any
    ) -> HttpResponse:
        """Send a request to an address, with or without the API key, and return the response."""
        session = self._keyed_session
        if not with_key:
            options["proxy"] = proxy = find_proxy(address)
            session = self._keyless_session if proxy is None else self._proxied_session
            if proxy is not None and self._is_public_endpoint:
                await self._check_before_proxy(address)
        if session is None:
            raise RuntimeError("open the editor first")
        paid = method == "POST"
        return await self._endpoint.fetch(session, method, address, max_bytes=max_bytes, billed=paid, **options)

    async def _check_before_proxy(self, address: URL) -> None:
        """Refuse an address in the local network before passing it to a proxy.

        The proxy resolves names itself, so this check is based on this machine's name resolution.
        """
        if not all(map(is_public, await resolve(address.host or ""))):
            raise CallError(FORBIDDEN_ADDRESS, f"{address.host} is in the local network", retryable=False)

    def parse_json(self, got: HttpResponse) -> dict[str, Any]:
        """Return the JSON object in a response.

        Raises `CallError` or `ProviderUnusable` if it is an error or malformed.
        """
        if not 200 <= got.status < 300:
            raise self.classify_error(got.status, parse_error_body(got.content), got.headers)
        try:
            if sum(map(got.content.count, (b"[", b"{", b","))) > _MAX_JSON_PARTS:
                raise ValueError
            body = json.loads(got.content)
        except (ValueError, RecursionError):
            kind = "HTML instead of JSON" if got.content.lstrip()[:1] == b"<" else "broken JSON"
            shown = self._endpoint.redact_line(got.content[:4000].decode("utf-8", "replace"))
            raise CallError(kind, shown[:80], billed=True) from None
        if not isinstance(body, dict):
            raise CallError("broken JSON", "the reply is not an object", billed=True)
        if body.get("error"):
            # Some gateways send their errors with status 200.
            error = parse_error_body(got.content)
            raise self.classify_error(error.status or 502, error, got.headers)
        return body

    def classify_error(self, status: int, error: ErrorBody, headers: Mapping[str, str]) -> Exception:
        """Return the exception for an error reply.

        `CallError` concerns only this image. `ProviderUnusable` means that all further calls would fail.
        """
        if nothing := self._endpoint.missing_path_error(status, error, self.endpoint_path):
            return nothing
        if found := self._endpoint.classify_error(status, error, headers):
            if isinstance(found, CallError) and status in _GATEWAY_TIMEOUTS:
                found.billed = True
            return found
        if missing := self._endpoint.missing_model_error(status, error, self.endpoint_path):
            return missing
        reason = self._endpoint.redact_line(error.message) or f"HTTP {status}"
        return CallError("too large" if status == 413 else "bad request", reason, retryable=False)

    def error_in_reply(self, code: object, message: object) -> Exception:
        """Return the exception for an error inside a successful reply."""
        body = ErrorBody(str(message or code), f"{code} {message}", None)
        return self.classify_error(400, body, {})

    async def read_entry(self, entry: object, media: str, ticket: PendingTask) -> DownloadedImage:
        """Return the image of an entry in a reply. The entry contains the image in base64, or its address."""
        if not isinstance(entry, dict):
            raise CallError("no image", "the reply contains none", billed=True)
        if entry.get("b64_json"):
            return await self.decode_base64_image(entry["b64_json"], media)
        return await self.download_result(entry.get("url"), ticket)

    async def download_result(self, url: object, ticket: PendingTask) -> DownloadedImage:
        """Return the image at an address in a reply.

        The address is stored before the download. After a kill, the image can be downloaded without paying again.
        """
        if isinstance(url, str) and url.startswith("data:"):
            return await self.decode_base64_image(url, "")
        place = str(self.validate_url(url))
        await ticket.save(place)
        return await self.download(place, ticket)

    async def download(self, url: str, ticket: PendingTask) -> DownloadedImage:
        """Return the image at an address, with retries.

        If a retry cannot help, the stored task is discarded and the error is marked as `billed`.
        """
        for tried in range(1, _DOWNLOAD_TRIES + 1):
            try:
                return await self._download_once(url)
            except CallError as fault:
                if tried == _DOWNLOAD_TRIES or not fault.retryable or fault.kind == _NO_RESULT:
                    fault.billed = fault.kind in _PERMANENT_FAILURES
                    if fault.billed:
                        await ticket.save("")
                    raise
                wait = min(max(fault.retry_after or 0.0, self.poll_interval * 2**tried), 60.0)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def _download_once(self, url: str) -> DownloadedImage:
        place = self.validate_url(url)
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                limits: dict[str, Any] = {"seconds": _DOWNLOAD_TIMEOUT, "max_bytes": MAX_IMAGE_BYTES}
                got = await self.fetch("GET", place, with_key=False, **limits)
            except CallError as fault:
                if fault.kind == FORBIDDEN_ADDRESS:
                    raise CallError(
                        "no image", f"its address is in the local network: {place.host}", billed=True
                    ) from None
                raise
            except ProviderUnusable as error:  # other results may be on other hosts
                raise CallError("no image", self._endpoint.redact_line(error)) from None
            if got.status not in _REDIRECT_STATUSES:
                break
            place = self.validate_url(urljoin(str(place), got.headers.get("Location", "")))
        if got.status == 429 or got.status >= 500:
            raise CallError(
                f"server error {got.status}", "downloading the image", retry_after=parse_retry_after(got.headers)
            )
        if got.status != 200:
            raise CallError(_NO_RESULT, f"HTTP {got.status} at its address", billed=True)
        media = got.headers.get("Content-Type", "").partition(";")[0].strip().casefold()
        if not media.startswith("image/") and media not in _GENERIC_MEDIA_TYPES:
            raise CallError("no image", f"its address returns {self._endpoint.redact_line(media)}", billed=True)
        return await self.validate_image(got.content, media)

    def validate_url(self, url: object) -> URL:
        """Return an address from a reply. Raises `CallError` if it is malformed or must not be requested."""
        try:
            if not isinstance(url, str) or not _HTTP_URL.fullmatch(url):
                raise ValueError
            place = URL(url, encoded=True)
            host, _ = place.host, place.port
            if not host or place.user or place.password:
                raise ValueError
        except ValueError:
            shown = self._endpoint.redact_line(url)[:80]
            raise CallError("no image", f"its address is malformed: {shown}", billed=True) from None
        if self._is_public_endpoint and is_local_name(host):
            raise CallError("no image", f"its address is in the local network: {host}", billed=True)
        return place

    async def decode_base64_image(self, text: object, media: str) -> DownloadedImage:
        """Return an image that a reply contains in base64 or as a data URL."""
        if not isinstance(text, str) or not text:
            raise CallError("no image", "the reply contains none", billed=True)
        if text.startswith("data:"):
            head, _, text = text.partition(",")
            media = head.removeprefix("data:").partition(";")[0]
        try:
            content = pybase64.b64decode(text, validate=True)
        except ValueError:
            raise CallError("damaged image", "it is not valid base64", billed=True) from None
        return await self.validate_image(content, media)

    async def validate_image(self, content: bytes, media: str) -> DownloadedImage:
        """Return the image if it can be decoded. If the server reported no type, it is detected."""
        if len(content) > MAX_IMAGE_BYTES:
            raise CallError("reply too long", f"more than {MAX_IMAGE_BYTES >> 20} MB", retryable=False, billed=True)
        try:
            await asyncio.to_thread(decode_image, content)
        except ImageError as error:
            raise CallError("damaged image", self._endpoint.redact_line(error), billed=True) from None
        reported = media if media.startswith("image/") else ""
        return DownloadedImage(content, reported or detect_media_type(content))

    async def encode_inputs(self, job: EditRequest, max_images: int) -> list[EncodedImage]:
        """Return the encoded source and references. Raises `CallError` for more than `max_images`."""
        paths = [path for path in (job.source, *job.references) if path is not None]
        if len(paths) > max_images:
            reason = f"{self.name} takes at most {pluralise(max_images, 'image')}, not {len(paths)}"
            raise CallError("unsupported", reason, retryable=False)
        try:
            return [await asyncio.to_thread(encode_image, path) for path in paths]
        except ImageError as error:
            raise CallError("unreadable source", str(error), retryable=False) from None

    @staticmethod
    def reported_version(reply: Mapping[str, Any]) -> dict[str, str]:
        """Return the model version and fingerprint that a reply reports, if any."""
        reported = {"version": reply.get("model"), "fingerprint": reply.get("system_fingerprint")}
        return {name: value for name, value in reported.items() if isinstance(value, str)}

    def build_metadata(self, **more: Any) -> dict[str, Any]:
        """Return the metadata of an image. Text from the server is truncated and redacted."""
        facts = {
            name: self._endpoint.redact_line(value) if isinstance(value, str) else value
            for name, value in more.items()
            if value not in (None, "", {}, [])
        }
        mark = {"rehearsal": True} if self._is_rehearsal else {}
        return {"provider": self.provider, "model": self.model, **mark, **facts}


def detect_media_type(content: bytes) -> str:
    """Return the media type of an image by its first bytes, or an empty string if it is unknown."""
    known = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    webp = "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""
    return next((media for start, media in known.items() if content.startswith(start)), webp)
