"""Judges behind the OpenAI chat wire format, at any address.

A request is written as parts of which the large ones stand in memory already: each picture in
base64, made once, between small pieces of JSON, and a tail with the question. Pictures come first,
so that caches of a prompt's beginning, the provider's or a server's own, find it again for the next
question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any

import aiohttp
import pybase64
from yarl import URL

from creval.core.images import Encoded
from creval.core.scales import contract_named
from creval.judges.base import Answer, Judge, Request
from creval.providers.catalog import Provider
from creval.providers.errors import Fault, Unusable
from creval.providers.http import Body, Server
from creval.providers.openai_wire import USAGE, Said, errors_in, read_choice, read_count
from creval.providers.pricing import Price
from creval.providers.vision import Vision

_LARGEST_REPLY = 1 << 22
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
        self._server = Server(name, model, url, key, provider.key, timeout)
        self._connections = connections
        self._parameters, self._optional = dict(parameters or {}), optional
        self._logprobs, self._schema = logprobs, provider.schema and not logprobs
        self._settings = self._serialised()
        self._session: aiohttp.ClientSession | None = None
        self._address = URL(f"{url}/chat/completions")
        self._head = b'{"model":%s,"messages":[{"role":"user","content":[' % _json(model)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "url": self.url, "parameters": self._parameters}

    async def open(self) -> None:
        key = self._server.key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        headers["Content-Type"] = "application/json"
        self._session = self._server.session(headers, self._connections)

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
        body = Body(parts, self._address.scheme)
        got = await self._server.fetch(
            self._session, "POST", self._address, most=_LARGEST_REPLY, data=body
        )
        if got.status == 200:
            return self._answer(got.content, got.headers, request)
        raise self._fault(got.status, errors_in(got.content), got.headers)

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
            shown = self._server.shown(content[:4000].decode("utf-8", "replace"))
            raise Fault(kind, shown[:80], paid=True) from None
        if not isinstance(reply, dict) or not isinstance(reply.get("choices"), list):
            # Some gateways send their errors with status 200.
            if isinstance(reply, dict) and reply.get("error"):
                error = errors_in(content)
                raise self._fault(error.number or 502, error, headers)
            raise Fault("broken JSON", "a reply without choices")
        found = [read_choice(choice, self._server.masked) for choice in reply["choices"]]
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
        server, words = self._server, error.words
        if found := server.fault(status, error, headers):
            return found
        reason = server.shown(error.text) or f"HTTP {status}"
        if status == 404 and "support" in words:
            return _Refused(reason, vague=True)
        if missing := server.no_model(status, error, "/chat/completions"):
            return missing
        if status == 413:
            return Fault("too large", f"{reason}; try --image-fit 1024", again=False)
        if self._logprobs and "logprobs" in words:
            return Unusable(f"{self.name} gives no log-probabilities ({reason}).")
        if status in (400, 405, 422):
            return _Refused(reason, vague=status != 405)
        return Fault(f"HTTP {status}", reason, again=False)


class _Refused(Exception):  # noqa: N818
    """A request that the server will not take as it is. `vague`: it may not say what it minds."""

    def __init__(self, reason: str, *, vague: bool) -> None:
        super().__init__(reason)
        self.vague = vague


_SCHEMA = re.compile(r"json_schema|schema|structured|response_format|guided|grammar")


@lru_cache(maxsize=16)
def _before(media: str) -> bytes:
    return f'{{"type":"image_url","image_url":{{"url":"data:{media};base64,'.encode()


@lru_cache(maxsize=256)
def _response_format(scale: str, labels: tuple[str, ...]) -> bytes:
    schema = {"name": "answers", "strict": True, "schema": contract_named(scale).schema(labels)}
    return _json({"type": "json_schema", "json_schema": schema})


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
