"""Calling a server, for judges and editors: connections, redaction of the key, and the meaning of errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.openai_wire import ErrorBody, parse_retry_after

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

# Bytes written at a time. Over TLS larger slices cost three times the memory, and more than twice
# the time; without it smaller ones cost time.
_SLICE_BYTES = {"https": 1 << 18, "http": 1 << 20}
_MAX_RETRY_AFTER = 900.0  # seconds that a server can ask us to wait before we give up for now
_MAX_REASON_CHARS = 300


class HttpResponse(NamedTuple):
    """What a server sent."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class HttpEndpoint:
    """Who is called, where, for which model; `key_env` holds the key in the environment."""

    name: str
    model: str
    url: str
    key: str = field(repr=False)
    key_env: str
    timeout: float = 300.0

    def open_session(self, headers: Mapping[str, str], connections: int) -> aiohttp.ClientSession:
        """Connections to it; `headers` go with every request."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ttl_dns_cache=300),
            proxy=find_proxy(URL(self.url)),
            timeout=aiohttp.ClientTimeout(total=self.timeout, sock_connect=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=dict(headers),
        )

    async def fetch(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: URL,
        *,
        max_bytes: int,
        billed: bool = False,
        seconds: float | None = None,
        **options: Any,
    ) -> HttpResponse:
        """Send one request, follow no redirect, and return the reply of at most `max_bytes`.

        Errors become `CallError` or `ProviderUnusable`. `billed`: the request may be charged even if the connection is
        lost; `seconds` is a shorter timeout than usual.
        """
        limit = min(seconds or self.timeout, self.timeout)
        if limit < self.timeout:
            options["timeout"] = aiohttp.ClientTimeout(total=limit, sock_connect=30)
        try:
            async with session.request(method, url, allow_redirects=False, **options) as response:
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > max_bytes:
                        raise CallError("too long a reply", f"more than {max_bytes >> 20} MB", retryable=False)
                return HttpResponse(response.status, response.headers, bytes(content))
        except aiohttp.ConnectionTimeoutError as error:
            raise CallError("no connection", self.redact_line(error)) from None
        except asyncio.TimeoutError:
            raise CallError("timeout", f"after {limit:g} s", overloaded=True, billed=True) from None
        except aiohttp.ClientPayloadError as error:
            raise CallError("cut-off reply", self.redact_line(error), billed=True) from None
        except (aiohttp.InvalidURL, UnicodeError):
            raise ProviderUnusable(f"{self.name}: {self.url} is not an address.") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise ProviderUnusable(f"{self.name}: no safe connection ({self.redact_line(error)}).") from None
        except aiohttp.ClientConnectorError as error:
            raise CallError("no connection", self.redact_line(error)) from None
        except (aiohttp.ClientError, OSError) as error:
            raise CallError("connection lost", self.redact_line(error), billed=billed) from None

    def classify_error(self, status: int, error: ErrorBody, headers: Mapping[str, str]) -> Exception | None:
        """Return what an error means for this call or for all, or None if the request itself may be at fault."""
        reason = self.redact_line(error.message) or f"HTTP {status}"
        wait = parse_retry_after(headers)
        words = error.searchable_text
        hint = f"The key comes from the environment variable {self.key_env}."
        if wait is None and (told := _RETRY_IN.search(words)):
            wait = float(told[1])
        if status == 429 and _QUOTA_USED_UP.search(words) and wait is None:
            return ProviderUnusable(f"{self.name}: the account's quota is used up ({reason}).")
        if status == 402 or _NO_CREDIT.search(words):
            return ProviderUnusable(f"{self.name}: the account has no credit left ({reason}).")
        if wait is not None and wait > _MAX_RETRY_AFTER:
            return ProviderUnusable(
                f"{self.name} asks to wait for {wait / 3600:.1f} hours ({reason}). What was "
                "answered is kept; repeat the command then."
            )
        if status == 429:
            return CallError("rate limit", reason, overloaded=True, retry_after=wait)
        if status in (408, 409, 425) or status >= 500:
            crowded = status in (408, 502, 503, 504, 529)
            return CallError(f"server error {status}", reason, overloaded=crowded, retry_after=wait)
        if 300 <= status < 400:
            where = self.redact_line(headers.get("Location", "nowhere"))
            return ProviderUnusable(f"{self.name}: {self.url} redirects to {where}; give that address.")
        if status == 401 or _WRONG_KEY.search(words):
            return ProviderUnusable(f"{self.name}: the key was refused ({reason}). {hint}")
        if _CONTENT_FILTER.search(words) and not _UNKNOWN_PARAMETER.search(words):
            return CallError("content filter", reason, retryable=False)
        if status == 403:
            return ProviderUnusable(f"{self.name}: access was refused ({reason}). {hint}")
        return None

    def missing_model_error(self, status: int, error: ErrorBody, path: str) -> ProviderUnusable | None:
        """The error where there is no such model, or nothing at all, under the address."""
        if status != 404 and not _NO_MODEL.search(error.searchable_text):
            return None
        reason = self.redact_line(error.message) or f"HTTP {status}"
        return ProviderUnusable(
            f"{self.name}: {self.url} has no model {self.model!r} ({reason}). Check the "
            f"name, and that the address ends where {path} follows."
        )

    def redact(self, text: str) -> str:
        """Somebody else's words without the key."""
        for secret in {self.key, quote(self.key, safe="")} - {""}:
            text = text.replace(secret, "[key]")
        return text

    def redact_line(self, what: object) -> str:
        """Somebody else's words on one line, without the key."""
        text = " ".join(self.redact(str(what)).split())
        return text if len(text) <= _MAX_REASON_CHARS else text[: _MAX_REASON_CHARS - 1] + "…"


_QUOTA_USED_UP = re.compile(r"insufficient_quota|spend_limit|billing_hard_limit")
# Google tells the time to wait in the body.
_RETRY_IN = re.compile(r"(?:retry in |\"retrydelay\": \")([0-9]+(?:\.[0-9]+)?)s")
_NO_CREDIT = re.compile(
    r"arrearage|insufficient[ _](?:balance|credits)|billing_error|payment required|accountoverdue"
    r"|billing_hard_limit"
)
_WRONG_KEY = re.compile(
    r"invalid_api_key|api_key_invalid|incorrect api key|invalid x-api-key|authentication_error"
    r"|api key not valid|invalid api key|invalidapikey"
)
_NO_MODEL = re.compile(
    r"model_not_found|model.{0,80}(?:not exist|not found|can ?not be found)|unknown model"
    r"|no such model|not a valid model"
)
# A parameter that is not taken, though it may be named after moderation.
_UNKNOWN_PARAMETER = re.compile(r"(?:unknown|unsupported|unrecognized)[ _](?:parameter|request argument)")
_CONTENT_FILTER = re.compile(
    r"content_filter|content_policy|data_?inspection_?failed|responsibleaipolicy|prohibited_content"
    r"|moderation|safety system|inappropriate content|sensitivecontent|riskdetection"
)


def find_proxy(address: URL) -> str | None:
    """The proxy that the environment names for an address (HTTPS_PROXY, NO_PROXY ...)."""
    host = address.host or ""
    if proxy_bypass(host) or host in ("localhost", "127.0.0.1", "::1"):
        return None
    return getproxies().get(address.scheme)


class SlicedJsonBody(aiohttp.Payload):
    """JSON in parts that are sent one after another, in slices, and never joined."""

    _autoclose = True

    def __init__(self, parts: Sequence[bytes], scheme: str) -> None:
        super().__init__(parts, content_type="application/json")
        self._size = sum(map(len, parts))
        self._slice_bytes = _SLICE_BYTES[scheme]

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for part in self._value:
            if len(part) <= self._slice_bytes:
                await writer.write(part)
                continue
            view = memoryview(part)
            for start in range(0, len(part), self._slice_bytes):
                await writer.write(view[start : start + self._slice_bytes])
