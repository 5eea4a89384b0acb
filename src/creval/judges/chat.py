"""Judges behind the OpenAI chat wire format, at any address.

A request is written as parts of which the large ones stand in memory already: each picture in
base64, made once, between small pieces of JSON, and a tail with the question. Pictures come first,
so that caches of a prompt's beginning, the provider's or a server's own, find it again for the next
question.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
import pybase64
from yarl import URL

from creval.core.contract import contract_named
from creval.core.images import Encoded
from creval.judges.judge import (
    Answer,
    Fault,
    Judge,
    Price,
    Request,
    Unusable,
)
from creval.judges.providers import Provider
from creval.judges.vision import Vision
from creval.judges.wire import USAGE, Said, errors_in, read_choice, read_count, read_wait

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

# Bytes written at a time. Over TLS larger slices cost three times the memory, and more than twice
# the time; without it smaller ones cost time.
_SLICES = {"https": 1 << 18, "http": 1 << 20}
_LARGEST_REPLY = 1 << 22
_LONGEST_WAIT = 900.0  # seconds that a server can ask us to wait before we give up for now
_LONGEST_REASON = 300
_LOGPROBS = {"logprobs": True, "top_logprobs": 20}


class Chat(Judge):
    """A model behind `URL/chat/completions`.

    `parameters` go into every request as they are; those in `optional` are left out once the server
    refuses them. The key is kept here and in no record, error or log.
    """

    def __init__(
        self,
        name: str,
        model: str,
        provider: Provider,
        *,
        url: str,
        key: str,
        vision: Vision,
        price: Price | None = None,
        parameters: Mapping[str, Any] | None = None,
        optional: Set[str] = frozenset(),
        logprobs: bool = False,
        timeout: float = 300.0,
        connections: int = 64,
    ) -> None:
        self.name, self.model, self.vision, self.price = name, model, vision, price
        self.url, self.provider = url, provider
        self.several = provider.several
        self.learned = []
        self._key, self._timeout, self._connections = key, timeout, connections
        self._parameters, self._optional = dict(parameters or {}), optional
        self._logprobs, self._schema = logprobs, provider.schema and not logprobs
        self._settings = self._serialised()
        self._secrets = {key, quote(key, safe="")} - {""}
        self._session: aiohttp.ClientSession | None = None
        self._address = URL(f"{url}/chat/completions")
        self._slice = _SLICES[self._address.scheme]
        self._head = b'{"model":%s,"messages":[{"role":"user","content":[' % _json(model)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "url": self.url, "parameters": self._parameters}

    async def open(self) -> None:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, ttl_dns_cache=300),
            proxy=_proxy(self._address),
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={**headers, "Content-Type": "application/json"},
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def prepare(self, picture: Encoded) -> Encoded:
        """The picture as it stands in a request: in base64."""
        return picture._replace(content=pybase64.b64encode(picture.content))

    async def ask(self, request: Request) -> Answer:
        schema, unsure = self._schema and request.structured, False
        while True:
            held = self._held(request, schema)
            try:
                answer = await self._post(request, schema)
            except _Refused as refused:
                named = {name for name in held if re.search(rf"\b{name}\b", str(refused))}
                if "response_format" in held and _SCHEMA.search(str(refused)):
                    named.add("response_format")
                if named:
                    self._leave_out(named)
                    schema = self._schema and request.structured and not unsure
                elif schema and refused.vague:
                    # It may be the schema that it minds: if so, that shows when it is left out.
                    schema, unsure = False, True
                else:
                    raise Fault("bad request", str(refused), again=False) from None
            else:
                if unsure:
                    self._leave_out({"response_format"})
                return answer

    def _held(self, request: Request, schema: bool) -> set[str]:
        """What a request holds that could be left out."""
        held = {name for name in self._optional if name in self._parameters}
        if schema:
            held.add("response_format")
        if request.choices > 1 and self.several:
            held.add("n")
        return held

    def _leave_out(self, names: set[str]) -> None:
        """Ask without these from now on: the server does not take them."""
        for name in sorted(names):
            words = "structured output" if name == "response_format" else f"`{name}`"
            note = f"{self.name} does not take {words}: asked without."
            if note not in self.learned:
                self.learned.append(note)
            self._parameters.pop(name, None)
        self._settings = self._serialised()
        self._schema = self._schema and "response_format" not in names
        self.several = self.several and "n" not in names

    async def _post(self, request: Request, schema: bool) -> Answer:
        if self._session is None:
            raise RuntimeError("open the judge first")
        parts: list[bytes] = []
        between = self._head
        for picture in request.pictures:
            parts += (between + _before(picture.media), picture.content)
            between = b'"}},'
        parts.append(between + self._tail(request, schema))
        try:
            async with self._session.post(
                self._address, data=_Body(parts, self._slice), allow_redirects=False
            ) as response:
                content = await _read(response)
                status, headers = response.status, response.headers
        except aiohttp.ConnectionTimeoutError as error:
            raise Fault("no connection", self._shown(error)) from None
        except asyncio.TimeoutError:
            raise Fault("timeout", f"after {self._timeout:g} s", crowded=True, paid=True) from None
        except aiohttp.ClientPayloadError as error:
            raise Fault("cut-off reply", self._shown(error), paid=True) from None
        except (aiohttp.InvalidURL, UnicodeError):
            raise Unusable(f"{self.name}: {self.url} is not an address.") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise Unusable(f"{self.name}: no safe connection ({self._shown(error)}).") from None
        except aiohttp.ClientConnectorError as error:
            raise Fault("no connection", self._shown(error)) from None
        except (aiohttp.ClientError, OSError) as error:
            raise Fault("connection lost", self._shown(error)) from None
        if status == 200:
            return self._answer(content, headers, request)
        raise self._fault(status, errors_in(content), headers)

    def _serialised(self) -> bytes:
        """The parameters of every request, as they stand in its tail."""
        body = self._parameters | (_LOGPROBS if self._logprobs else {})
        return b"".join(b",%s:%s" % (_json(name), _json(value)) for name, value in body.items())

    def _tail(self, request: Request, schema: bool) -> bytes:
        parts = [b'{"type":"text","text":', _json(request.text), b"}]}]", self._settings]
        if request.choices > 1 and self.several:
            parts.append(b',"n":%d' % request.choices)
        if schema and request.contract is not None:
            parts.append(b',"response_format":')
            parts.append(_response_format(request.contract.name, tuple(request.labels)))
        return b"".join((*parts, b"}"))

    def _answer(self, content: bytes, headers: Mapping[str, str], request: Request) -> Answer:
        try:
            reply = json.loads(content)
        except (ValueError, RecursionError):
            kind = "HTML instead of JSON" if content.lstrip()[:1] == b"<" else "broken JSON"
            shown = self._shown(content[:4000].decode("utf-8", "replace"))
            raise Fault(kind, shown[:80], paid=True) from None
        if not isinstance(reply, dict) or not isinstance(reply.get("choices"), list):
            # Some gateways send their errors with status 200.
            if isinstance(reply, dict) and reply.get("error"):
                error = errors_in(content)
                raise self._fault(error.number or 502, error, headers)
            raise Fault("broken JSON", "a reply without choices")
        found = [read_choice(choice, self._masked) for choice in reply["choices"]]
        choices = tuple(choice for choice in found if choice is not None)
        if not choices:
            raise Fault("broken JSON", "a reply without a choice that can be read")
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        tokens_in, tokens_out = (read_count(usage, name) for name in USAGE)
        cost = usage.get("cost")
        if not isinstance(cost, int | float) or isinstance(cost, bool) or not 0 <= cost < 1e6:
            cost = None
            if self.price and tokens_in is not None and tokens_out is not None:
                cost = self.price.cost(tokens_in, tokens_out)
        return Answer(choices[: request.choices], tokens_in, tokens_out, cost)

    def _fault(self, status: int, error: Said, headers: Mapping[str, str]) -> Exception:
        """What a reply that is no answer means for this call, or for all of them."""
        reason = self._shown(error.text) or f"HTTP {status}"
        wait = read_wait(headers)
        words = error.words
        if wait is None and (told := _RETRY_IN.search(words)):
            wait = float(told[1])
        if status == 429 and _SPENT.search(words) and wait is None:
            return Unusable(f"{self.name}: the account's quota is used up ({reason}).")
        if status == 402 or _ARREARS.search(words):
            return Unusable(f"{self.name}: the account has no credit left ({reason}).")
        if wait is not None and wait > _LONGEST_WAIT:
            return Unusable(
                f"{self.name} asks to wait for {wait / 3600:.1f} hours ({reason}). What was "
                "answered is kept; repeat the command then."
            )
        if status == 429:
            return Fault("rate limit", reason, crowded=True, wait=wait)
        if status in (408, 409, 425) or status >= 500:
            crowded = status in (408, 502, 503, 504, 529)
            return Fault(f"server error {status}", reason, crowded=crowded, wait=wait)
        if 300 <= status < 400:
            where = self._shown(headers.get("Location", "nowhere"))
            return Unusable(f"{self.name}: {self.url} redirects to {where}; give that address.")
        if status == 401 or _WRONG_KEY.search(words):
            return Unusable(f"{self.name}: the key was refused ({reason}). {self._key_hint()}")
        if _FILTERED.search(words):
            return Fault("content filter", reason, again=False)
        if status == 403:
            return Unusable(f"{self.name}: access was refused ({reason}). {self._key_hint()}")
        if status == 404 and "support" in words:
            return _Refused(reason, vague=True)
        if status == 404 or _NO_MODEL.search(words):
            return Unusable(
                f"{self.name}: {self.url} has no model {self.model!r} ({reason}). Check the "
                "name, and that the address ends where /chat/completions follows."
            )
        if status == 413:
            return Fault("too large", f"{reason}; try --image-fit 1024", again=False)
        if self._logprobs and "logprobs" in words:
            return Unusable(f"{self.name} gives no log-probabilities ({reason}).")
        if status in (400, 405, 422):
            return _Refused(reason, vague=status != 405)
        return Fault(f"HTTP {status}", reason, again=False)

    def _key_hint(self) -> str:
        return f"The key comes from the environment variable {self.provider.key}."

    def _masked(self, text: str) -> str:
        """Somebody else's words without the key."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text

    def _shown(self, what: object) -> str:
        """Somebody else's words on one line, without the key."""
        text = " ".join(self._masked(str(what)).split())
        return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"


class _Refused(Exception):  # noqa: N818
    """A request that the server will not take as it is. `vague`: it may not say what it minds."""

    def __init__(self, reason: str, *, vague: bool) -> None:
        super().__init__(reason)
        self.vague = vague


_SCHEMA = re.compile(r"json_schema|schema|structured|response_format|guided|grammar")
_SPENT = re.compile(r"insufficient_quota|spend_limit|billing_hard_limit")
# Google tells the time to wait in the body.
_RETRY_IN = re.compile(r"(?:retry in |\"retrydelay\": \")([0-9]+(?:\.[0-9]+)?)s")
_ARREARS = re.compile(r"arrearage|insufficient[ _]balance|billing_error|payment required")
_WRONG_KEY = re.compile(
    r"invalid_api_key|api_key_invalid|incorrect api key|invalid x-api-key|authentication_error"
    r"|api key not valid|invalid api key"
)
_NO_MODEL = re.compile(
    r"model_not_found|model.{0,80}(?:does not exist|not found)|unknown model|no such model"
    r"|not a valid model"
)
_FILTERED = re.compile(
    r"content_filter|content_policy|data_?inspection_?failed|responsibleaipolicy|prohibited_content"
    r"|moderation|safety system|inappropriate content"
)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > _LARGEST_REPLY:
            raise Fault("too long a reply", f"more than {_LARGEST_REPLY >> 20} MB", again=False)
    return bytes(content)


def _proxy(address: URL) -> str | None:
    """The proxy that the environment names for an address (HTTPS_PROXY, NO_PROXY ...)."""
    host = address.host or ""
    if proxy_bypass(host) or host in ("localhost", "127.0.0.1", "::1"):
        return None
    return getproxies().get(address.scheme)


@lru_cache(maxsize=16)
def _before(media: str) -> bytes:
    return f'{{"type":"image_url","image_url":{{"url":"data:{media};base64,'.encode()


@lru_cache(maxsize=256)
def _response_format(scale: str, labels: tuple[str, ...]) -> bytes:
    schema = {"name": "answers", "strict": True, "schema": contract_named(scale).schema(labels)}
    return _json({"type": "json_schema", "json_schema": schema})


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


class _Body(aiohttp.Payload):
    """Parts that are sent one after another, in slices, and never joined."""

    _autoclose = True

    def __init__(self, parts: Sequence[bytes], largest: int) -> None:
        super().__init__(parts, content_type="application/json")
        self._size = sum(map(len, parts))
        self._largest = largest

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for part in self._value:
            if len(part) <= self._largest:
                await writer.write(part)
                continue
            view = memoryview(part)
            for start in range(0, len(part), self._largest):
                await writer.write(view[start : start + self._largest])
