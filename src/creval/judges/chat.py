"""Judges on servers with the OpenAI chat API, at any address.

A request body is sent as a sequence of parts: the base64 text of each image, small pieces of JSON around them, and a
last part with the questions. Each image is encoded once, and all requests share the encoded text. Images come first,
because prompt caches of providers and servers compare the beginning of a request with that of earlier ones.
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

from creval.core.images import EncodedImage
from creval.core.redaction import hide_settings
from creval.core.scales import AnswerScale
from creval.judges.base import Judge, JudgeRequest, JudgeResponse, estimate_tokens
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.catalog import CHAT_PROVIDERS, REHEARSAL_MARK, ChatProvider, guess_thinking_tokens
from creval.providers.http import HttpEndpoint, SlicedJsonBody
from creval.providers.openai_wire import USAGE_FIELDS, ErrorBody, parse_completion, parse_error_body, read_token_count
from creval.providers.pricing import Price, checked_cost, checked_tokens
from creval.providers.proxies import find_proxy
from creval.providers.vision import VisionSpec

_MAX_REPLY_BYTES = 1 << 22
_LOGPROBS_PARAMETERS = {"logprobs": True, "top_logprobs": 20}


class ChatJudge(Judge):
    """A model behind `URL/chat/completions`.

    `parameters` are sent with every request unchanged. Those named in `optional` are omitted after the server has
    rejected them. The API key appears in no record, error or log.
    """

    def __init__(
        self,
        name: str,
        model: str,
        provider: ChatProvider,
        *,
        url: str,
        key: str,
        vision: VisionSpec,
        price: Price | None = None,
        parameters: Mapping[str, Any] | None = None,
        optional: Set[str] = frozenset(),
        logprobs: bool = False,
        timeout: float = 300.0,
        connections: int = 64,
    ) -> None:
        self.name, self.model, self.vision, self.price = name, model, vision, price
        self.url, self.provider = url, provider
        self.supports_n = provider.supports_n
        self.notes = []
        shown = name if url == CHAT_PROVIDERS[provider.name].url else f"{name}@{url}"
        self._endpoint = HttpEndpoint(shown, model, url, key, provider.key_env, timeout, "/v1")
        self._connections = connections
        self._parameters, self._optional = dict(parameters or {}), optional
        self.thinking_tokens = guess_thinking_tokens(model, self._parameters)
        self._logprobs, self._schema = logprobs, provider.supports_schema and not logprobs
        self._parameters_json = self._serialise_parameters()
        # Parameters that the server rejects are omitted later, but do not change the cache key.
        self._configured = self._parameters_json, self._schema
        self._session: aiohttp.ClientSession | None = None
        self._address = URL(f"{url}/chat/completions")
        self._body_start = b'{"model":%s,"messages":[{"role":"user","content":[' % _json(model)

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "url": self.url, "parameters": hide_settings(self._parameters)}

    async def open(self) -> None:
        key = self._endpoint.key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        headers["Content-Type"] = "application/json"
        self._session = self._endpoint.open_session(headers, self._connections, proxy=find_proxy(self._address))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def prepare_image(self, image: EncodedImage) -> EncodedImage:
        """Return the image encoded in base64, as in a request."""
        return image._replace(content=pybase64.b64encode(image.content))

    def cache_key(self, request: JudgeRequest) -> bytes | None:
        if self.provider.is_rehearsal:
            return None
        images = [f"{image.digest} {image.media_type} {image.width} {image.height}" for image in request.images]
        # A custom server may serve a different model under the name of a provider's model.
        where = "" if self.url == CHAT_PROVIDERS[self.provider.name].url else "elsewhere"
        content = "\x1f".join((self.provider.name, where, self.model, *images, "", request.text)).encode(
            "utf-8", "surrogatepass"
        )
        parameters, schema = self._configured
        return b"\x1e".join((content, parameters, self._response_format(request) if schema else b""))

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        schema, unsure = self._schema and request.is_structured, False
        while True:
            held = self._removable_fields(request, schema)
            try:
                answer = await self._post(request, schema)
            except _RequestRejected as refused:
                named = {name for name in held if re.search(rf"\b{name}\b", str(refused))}
                if "response_format" in held and _SCHEMA_ERROR.search(str(refused)):
                    named.add("response_format")
                if named:
                    self._stop_sending(named)
                    schema = self._schema and request.is_structured and not unsure
                elif schema and refused.reason_unclear:
                    # The schema may be the reason: if so, the request succeeds without it.
                    schema, unsure = False, True
                else:
                    raise CallError("bad request", str(refused), retryable=False) from None
            else:
                if unsure:
                    self._stop_sending({"response_format"})
                return answer

    def _removable_fields(self, request: JudgeRequest, schema: bool) -> set[str]:
        """Return the fields of this request that can be omitted if the server rejects them."""
        held = {name for name in self._optional if name in self._parameters}
        if schema:
            held.add("response_format")
        if request.completion_count > 1 and self.supports_n:
            held.add("n")
        return held

    def _stop_sending(self, names: set[str]) -> None:
        """Omit these fields from now on, because the server does not support them."""
        for name in sorted(names):
            feature = "structured output" if name == "response_format" else f"`{name}`"
            note = f"{self.name} does not support {feature}: sent without it."
            if note not in self.notes:
                self.notes.append(note)
            self._parameters.pop(name, None)
        self._parameters_json = self._serialise_parameters()
        self._schema = self._schema and "response_format" not in names
        self.supports_n = self.supports_n and "n" not in names

    async def _post(self, request: JudgeRequest, schema: bool) -> JudgeResponse:
        if self._session is None:
            raise RuntimeError("open the judge first")
        parts: list[bytes] = []
        between = self._body_start
        for image in request.images:
            parts += (between + _image_part_start(image.media_type), image.content)
            between = b'"}},'
        parts.append(between + self._body_end(request, schema))
        body = SlicedJsonBody(parts, self._address.scheme)
        got = await self._endpoint.fetch(self._session, "POST", self._address, max_bytes=_MAX_REPLY_BYTES, data=body)
        if got.status == 200:
            return self._parse_response(got.content, got.headers, request)
        raise self._classify_error(got.status, parse_error_body(got.content), got.headers)

    def _serialise_parameters(self) -> bytes:
        """Return the parameters as JSON fields for the end of each request."""
        body = self._parameters | (_LOGPROBS_PARAMETERS if self._logprobs else {})
        return b"".join(b",%s:%s" % (_json(name), _json(value)) for name, value in body.items())

    def _body_end(self, request: JudgeRequest, schema: bool) -> bytes:
        parts = [b'{"type":"text","text":', _json(request.text), b"}]}]", self._parameters_json]
        if request.completion_count > 1 and self.supports_n:
            parts.append(b',"n":%d' % request.completion_count)
        if schema and (wanted := self._response_format(request)):
            parts += (b',"response_format":', wanted)
        return b"".join((*parts, b"}"))

    def _response_format(self, request: JudgeRequest) -> bytes:
        """Return the schema that the reply must follow, as JSON, or empty bytes if there is none."""
        if request.schema is not None:
            return _response_format("reply", request.schema)
        if request.scale is not None and request.is_structured:
            return _answers_format(request.scale, tuple(request.labels))
        return b""

    def _parse_response(self, content: bytes, headers: Mapping[str, str], request: JudgeRequest) -> JudgeResponse:
        try:
            reply = json.loads(content)
        except (ValueError, RecursionError):
            kind = "HTML instead of JSON" if content.lstrip()[:1] == b"<" else "broken JSON"
            shown = self._endpoint.redact_line(content[:4000].decode("utf-8", "replace"))
            raise CallError(kind, shown[:80], billed=True) from None
        if not isinstance(reply, dict) or not isinstance(reply.get("choices"), list):
            # Some gateways send errors with status 200.
            if isinstance(reply, dict) and reply.get("error"):
                error = parse_error_body(content)
                raise self._classify_error(error.status or 502, error, headers)
            raise CallError("broken JSON", "a reply without choices")
        self._require_kind(is_rehearsal=reply.get("system_fingerprint") == REHEARSAL_MARK)
        found = [parse_completion(choice, self._endpoint.redact_reply) for choice in reply["choices"]]
        choices = tuple(choice for choice in found if choice is not None)
        if not choices:
            raise CallError("broken JSON", "a reply without a readable choice")
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        choices = choices[: request.completion_count]
        expected_in, expected_out = estimate_tokens(self, request)
        said = sum(len(choice.text) for choice in choices)
        tokens_in, tokens_out = (read_token_count(usage, name) for name in USAGE_FIELDS)
        tokens_in = checked_tokens(tokens_in, expected_in, len(request.text))
        tokens_out = checked_tokens(tokens_out, expected_out, said)
        if tokens_in is None or tokens_out is None:
            price = self.price.cost(expected_in, expected_out) if self.price else None
            return JudgeResponse(choices, cost=checked_cost(usage.get("cost"), price, expected_in + expected_out))
        price = self.price.cost(tokens_in, tokens_out) if self.price else None
        cost = checked_cost(usage.get("cost"), price, tokens_in + tokens_out)
        return JudgeResponse(choices, tokens_in, tokens_out, cost)

    def _require_kind(self, *, is_rehearsal: bool) -> None:
        """Raise `ProviderUnusable` if only one of the two is a rehearsal: the judge, or the server that replied."""
        if is_rehearsal == self.provider.is_rehearsal:
            return
        name = self._endpoint.name
        if is_rehearsal:
            raise ProviderUnusable(
                f"{name} is creval's rehearsal server, whose answers are not those of a real judge: use "
                f"rehearsal:{self.model}@{self.url}, in a separate run."
            )
        raise ProviderUnusable(f"{name} is not creval's rehearsal server: use openai:{self.model}@{self.url}.")

    def _classify_error(self, status: int, error: ErrorBody, headers: Mapping[str, str]) -> Exception:
        """Return the exception for an error reply.

        `CallError` and `_RequestRejected` concern only this call. `ProviderUnusable` means that all further calls would
        fail.
        """
        server, words = self._endpoint, error.searchable_text
        if nothing := server.missing_path_error(status, error, "/chat/completions"):
            return nothing
        if found := server.classify_error(status, error, headers):
            return found
        reason = server.redact_line(error.message) or f"HTTP {status}"
        if status == 404 and "support" in words:
            return _RequestRejected(reason, reason_unclear=True)
        if missing := server.missing_model_error(status, error, "/chat/completions"):
            return missing
        if status == 413:
            return CallError("too large", f"{reason}; try `image_fit` 1024", retryable=False)
        if self._logprobs and "logprobs" in words:
            return ProviderUnusable(f"{self.name} returns no log-probabilities ({reason}).")
        if status in (400, 405, 422):
            return _RequestRejected(reason, reason_unclear=status != 405)
        return CallError(f"HTTP {status}", reason, retryable=False)


class _RequestRejected(Exception):  # noqa: N818
    """A request that the server rejected. `reason_unclear`: the message may not name the rejected field."""

    def __init__(self, reason: str, *, reason_unclear: bool) -> None:
        super().__init__(reason)
        self.reason_unclear = reason_unclear


_SCHEMA_ERROR = re.compile(r"json_schema|schema|structured|response_format|guided|grammar")


@lru_cache(maxsize=16)
def _image_part_start(media: str) -> bytes:
    return f'{{"type":"image_url","image_url":{{"url":"data:{media};base64,'.encode()


@lru_cache(maxsize=256)
def _answers_format(scale: AnswerScale, labels: tuple[str, ...]) -> bytes:
    return _response_format("answers", scale.json_schema(labels))


def _response_format(name: str, schema: Mapping[str, Any]) -> bytes:
    return _json({"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}})


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
