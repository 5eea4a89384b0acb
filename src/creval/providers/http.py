"""HTTP calls for judges and editors: connections, replies of limited size, redaction, classification of errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import aiohttp
import pybase64
from yarl import URL

from creval.core.redaction import hide_secrets, hide_values, is_unmistakable
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.openai_wire import ErrorBody, parse_retry_after
from creval.providers.proxies import proxy_secrets
from creval.providers.public_addresses import ForbiddenAddressError, checked_socket
from creval.providers.reply_body import read_content

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

# Bytes per write. Over TLS, larger slices take three times the memory and more than twice the time.
# Without TLS, smaller slices take more time.
_SLICE_BYTES = {"https": 1 << 18, "http": 1 << 20}
_MAX_RETRY_AFTER = 900.0  # seconds; if a server asks for a longer wait, the run stops
_MAX_REASON_CHARS = 300
_KEY = "[key]"
FORBIDDEN_ADDRESS = "address not allowed"
"""The kind of a call to an address that is not allowed."""


class HttpResponse(NamedTuple):
    """Status, headers and content of a response."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class HttpEndpoint:
    """A server's address, with the model and the API key for calls.

    `key_env` is the environment variable of the key. `usual_path` is the usual end of such an address, for example
    `/v1`. It is suggested if the server returns an error.
    """

    name: str
    model: str
    url: str
    key: str = field(repr=False)
    key_env: str
    timeout: float = 300.0
    usual_path: str = ""

    def open_session(
        self, headers: Mapping[str, str], connections: int, *, proxy: URL | None = None, public: bool | None = None
    ) -> aiohttp.ClientSession:
        """Return a session that sends `headers` with every request.

        With `public=True` only public addresses are allowed, with `public=False` only addresses in the local network.
        """
        checked = None if public is None else checked_socket(public=public)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ttl_dns_cache=300, socket_factory=checked),
            proxy=proxy,
            timeout=aiohttp.ClientTimeout(total=self.timeout, sock_connect=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Replies are short, and images are compressed already. `read_content` limits compressed replies.
            headers={"Accept-Encoding": "identity", **headers},
            auto_decompress=False,
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
        """Send one request and return the response of at most `max_bytes`. Redirects are not followed.

        Raises `CallError` or `ProviderUnusable`. `billed`: the request may be charged even if the connection is
        lost. `seconds` overrides the timeout with a shorter one.
        """
        limit = min(seconds or self.timeout, self.timeout)
        if limit < self.timeout:
            options["timeout"] = aiohttp.ClientTimeout(total=limit, sock_connect=30)
        with self.connection_errors(url, limit, billed=billed):
            async with session.request(method, url, allow_redirects=False, **options) as response:
                content = await read_content(response, max_bytes)
                return HttpResponse(response.status, response.headers, content)

    @contextmanager
    def connection_errors(self, url: URL, limit: float, *, billed: bool = False) -> Iterator[None]:
        """Raise `CallError` or `ProviderUnusable` for errors of a connection. `limit` is the timeout in seconds."""
        try:
            yield
        except aiohttp.ConnectionTimeoutError as error:
            raise CallError("no connection", self.redact_line(error)) from None
        except asyncio.TimeoutError:
            raise CallError("timeout", f"after {limit:g} s", overloaded=True, billed=True) from None
        except aiohttp.ClientPayloadError as error:
            raise CallError("cut-off reply", self.redact_line(error), billed=True) from None
        except (aiohttp.InvalidURL, UnicodeError):
            raise ProviderUnusable(f"{self.name}: {self.redact_line(url)} is not a valid address.") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise ProviderUnusable(f"{self.name}: no secure connection ({self.redact_line(error)}).") from None
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, ForbiddenAddressError):
                reason = f"{url.host} has {error.os_error}"
                raise CallError(FORBIDDEN_ADDRESS, reason, retryable=False, billed=billed) from None
            raise CallError("no connection", self.redact_line(error)) from None
        except aiohttp.ClientHttpProxyError as error:
            reason = self.redact_line(f"HTTP {error.status} {error.message}")
            if error.status in (401, 403, 407):
                raise ProviderUnusable(
                    f"{self.name}: the proxy refused the connection ({reason}). Check its user and password in the "
                    f"environment variable {url.scheme.upper()}_PROXY."
                ) from None
            raise CallError("proxy error", reason) from None
        except aiohttp.ClientResponseError as error:
            raise CallError("broken HTTP reply", self.redact_line(error.message), billed=billed) from None
        except (aiohttp.ClientError, OSError) as error:
            raise CallError("connection lost", self.redact_line(error), billed=billed) from None

    def classify_error(self, status: int, error: ErrorBody, headers: Mapping[str, str]) -> Exception | None:
        """Return the exception for an error response, or None if the content of the request may have caused the error.

        `CallError` means that this call failed, `ProviderUnusable` that all calls will fail.
        """
        reason = self.redact_line(error.message) or f"HTTP {status}"
        wait = parse_retry_after(headers)
        text = error.searchable_text
        hint = f"The key comes from the environment variable {self.key_env}."
        if wait is None and (delay := _RETRY_IN.search(text)):
            wait = float(delay[1])
        if status == 429 and _QUOTA_USED_UP.search(text) and wait is None:
            return ProviderUnusable(f"{self.name}: the account's quota is used up ({reason}).")
        if status == 402 or _NO_CREDIT.search(text):
            return ProviderUnusable(f"{self.name}: the account has no credit left ({reason}).")
        if wait is not None and wait > _MAX_RETRY_AFTER:
            return ProviderUnusable(
                f"{self.name} asks to wait for {wait / 3600:.1f} hours ({reason}). Finished "
                "answers are saved; repeat the command then."
            )
        if status == 429:
            return CallError("rate limit", reason, overloaded=True, retry_after=wait)
        if status in (408, 409, 425) or status >= 500:
            crowded = status in (408, 502, 503, 504, 529)
            return CallError(f"server error {status}", reason, overloaded=crowded, retry_after=wait)
        if 300 <= status < 400:
            where = self.redact_line(headers.get("Location", "nowhere"))
            return ProviderUnusable(f"{self.name}: {self.url} redirects to {where}. Give that address.")
        if status == 401 or _WRONG_KEY.search(text):
            return ProviderUnusable(f"{self.name}: the key was refused ({reason}). {hint}")
        if _CONTENT_FILTER.search(text) and not _UNKNOWN_PARAMETER.search(text):
            return CallError("content filter", reason, retryable=False)
        if status == 403:
            return ProviderUnusable(f"{self.name}: access was refused ({reason}). {hint}")
        return None

    def missing_model_error(self, status: int, error: ErrorBody, path: str) -> ProviderUnusable | None:
        """Return the error to raise if a response says that the model or the address does not exist.

        Returns None for other responses.
        """
        if status != 404 and not _NO_MODEL.search(error.searchable_text):
            return None
        reason = self.redact_line(error.message) or f"HTTP {status}"
        return ProviderUnusable(
            f"{self.name}: {self.url} has no model {self.model!r} ({reason}). Check the "
            f"name, and the address, to which creval appends {path}."
        )

    def missing_path_error(self, status: int, error: ErrorBody, path: str) -> ProviderUnusable | None:
        """Return the error to raise if the address does not exist and lacks its usual end, such as `/v1`.

        Returns None for other responses.
        """
        text = error.searchable_text
        if not self.usual_path or re.search("/v[0-9]", URL(self.url).path) or _NO_MODEL.search(text):
            return None
        if status not in (404, 405) and not _NO_ENDPOINT.search(text):
            return None
        reason = self.redact_line(error.message) or f"HTTP {status}"
        return ProviderUnusable(
            f"{self.name}: {self.url}{path} does not exist ({reason}). The address probably lacks "
            f"{self.usual_path}. Give {self.name}{self.usual_path}."
        )

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        """The API key, and the users and passwords of proxies, in all encodings that a reply may contain."""
        found = {self.key, *proxy_secrets()}
        found |= {unquote(secret) for secret in found} | {quote(secret, safe="") for secret in found}
        return tuple(sorted({*found, *(pybase64.b64encode(secret.encode()).decode() for secret in found)} - {""}))

    def redact(self, text: str) -> str:
        """Return a server's text for use in a message, with the API key and other secrets hidden."""
        return hide_secrets(hide_values(text, self._secrets, _KEY))

    def redact_reply(self, text: str) -> str:
        """Return a judge's reply with the API key hidden.

        A key that is so short that it could occur in the text by chance is not hidden, so that the reply is not
        damaged.
        """
        return hide_values(text, filter(is_unmistakable, {self.key, quote(self.key, safe="")}), _KEY)

    def redact_line(self, what: object) -> str:
        """Return a server's text on one line, truncated, and with secrets hidden."""
        text = " ".join(self.redact(str(what)).split())
        return text if len(text) <= _MAX_REASON_CHARS else text[: _MAX_REASON_CHARS - 1] + "…"


_QUOTA_USED_UP = re.compile(r"insufficient_quota|spend_limit|billing_hard_limit")
# Google sends the wait in the body.
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
_NO_ENDPOINT = re.compile(r"unexpected endpoint|invalid url|unknown (?:endpoint|path|request url)|no route matched")
# An unsupported parameter, whose name may contain "moderation".
_UNKNOWN_PARAMETER = re.compile(r"(?:unknown|unsupported|unrecognized)[ _](?:parameter|request argument)")
_CONTENT_FILTER = re.compile(
    r"content_filter|content_policy|data_?inspection_?failed|responsibleaipolicy|prohibited_content"
    r"|moderation|safety system|inappropriate content|sensitivecontent|riskdetection"
)


class SlicedJsonBody(aiohttp.Payload):
    """A JSON body, given in parts. Large parts are sent in slices, and the parts are never joined in memory."""

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
