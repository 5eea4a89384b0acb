"""The chat wire format: requests, and all kinds of replies."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from creval.core.images import EncodedImage
from creval.core.scales import get_scale
from creval.judges.base import JudgeRequest, JudgeResponse, estimate_tokens
from creval.judges.chat import ChatJudge
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.catalog import CHAT_PROVIDERS
from creval.providers.openai_wire import Completion, TokenLogprobs
from creval.providers.pricing import Price
from creval.providers.vision import find_vision
from tests.serving import serving

KEY = "sk-very-secret-123"
IMAGE = EncodedImage("d", "image/png", b"\x89PNG" + bytes(range(256)) * 4000, 10, 10)
REQUEST = JudgeRequest([IMAGE], "Is it “red”?\n\u2028", get_scale("yes/no"), ["Q1"])
Body = dict[str, Any]


def reply(content: str | None = "Yes", **more: Any) -> Body:
    message = {"role": "assistant", "content": content}
    return {
        "choices": [{"message": message, "finish_reason": "stop"} | more],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
    }


class Wire:
    """Server with scripted replies that records requests."""

    def __init__(self, answer: Callable[[Body], web.StreamResponse | Body]) -> None:
        self.answer, self.bodies, self.headers = answer, list[Body](), list[Mapping[str, str]]()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 28)
        for path in ("", "/v1"):
            app.router.add_post(f"{path}/chat/completions", self._complete)
        return app

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(json.loads(await request.read()))
        self.headers.append(dict(request.headers))
        answer = self.answer(self.bodies[-1])
        return web.json_response(answer) if isinstance(answer, dict) else answer


def error(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> Any:
    content = {"error": {"message": message, **more}}
    return lambda _: web.json_response(content, status=status, headers=headers)


def ask(
    answer: Callable[[Body], web.StreamResponse | Body] | Wire,
    *,
    times: int = 1,
    labels: tuple[str, ...] = ("Q1",),
    choices: int = 1,
    images: tuple[EncodedImage, ...] = (IMAGE,),
    schema: Body | None = None,
    path: str = "/v1",
    text: str = "Is it “red”?\n\u2028",
    **options: Any,
) -> tuple[JudgeResponse, ChatJudge]:
    wire = answer if isinstance(answer, Wire) else Wire(answer)
    with serving(wire.app()) as url:
        provider = options.pop("provider", replace(CHAT_PROVIDERS["openai"], supports_n=True))
        judge = ChatJudge(
            "openai:m",
            "m",
            provider,
            url=f"{url}{path}",
            vision=find_vision("gpt-4o"),
            **{"key": KEY, "parameters": {"temperature": 0.0}, "optional": {"temperature"}} | options,
        )

        async def run() -> JudgeResponse:
            await judge.open()
            try:
                prepared = [judge.prepare_image(image) for image in images]
                contract = get_scale("yes/no")
                request = JudgeRequest(prepared, text, contract, labels, range(choices))
                if schema is not None:
                    request = JudgeRequest(prepared, "Write.", None, (), form="free", schema=schema)
                for _ in range(times):
                    found = await judge.ask(request)
                return found
            finally:
                await judge.close()

        return asyncio.run(run()), judge


def as_text(text: str) -> Callable[[Body], web.StreamResponse]:
    return lambda _: web.Response(text=text)


def fault(answer: Any, **options: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(answer, **options)
    assert KEY not in str(caught.value)
    return caught.value


def test_images_are_sent_first_and_byte_for_byte() -> None:
    wire = Wire(lambda _: reply())
    answer, _ = ask(wire, images=(IMAGE, IMAGE._replace(content=b"tiny", media_type="image/webp")))
    (body,) = wire.bodies
    first, second, text = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "Is it “red”?\n\u2028"}
    head, _, data = first["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == IMAGE.content
    assert second["image_url"]["url"] == "data:image/webp;base64,dGlueQ=="
    assert body["temperature"] == 0.0
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["Q1"]
    assert wire.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert int(wire.headers[0]["Content-Length"]) > len(data)
    assert answer.completions == (Completion("Yes"),)
    assert (answer.tokens_in, answer.tokens_out) == (1000, 100)


def test_cost_is_computed_or_reported_by_the_server() -> None:
    assert ask(lambda _: reply())[0].cost is None
    assert ask(lambda _: reply(), price=Price(2.5, 10))[0].cost == pytest.approx(0.0035)
    told = reply() | {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5}}
    assert ask(lambda _: told, price=Price(100_000, 100_000))[0].cost == 0.5
    assert ask(lambda _: reply() | {"usage": "none"})[0].tokens_in is None


@pytest.mark.parametrize("claim", [29e6, 0, -1, 10**400, float("nan"), True, "0.001", {"usd": 1}, None])
def test_an_implausible_reported_cost_is_ignored(claim: Any) -> None:
    text = json.dumps(reply() | {"usage": {"prompt_tokens": 1000, "completion_tokens": 100, "cost": claim}})
    answer, _ = ask(as_text(text), price=Price(2.5, 10))
    assert answer.cost == pytest.approx(1000 * 2.5e-6 + 100 * 10e-6)
    if claim:
        assert ask(as_text(text))[0].cost is None


@pytest.mark.parametrize("claim", [0, -1000, 10**9, 10**400, float("nan"), 1e308, 12.5, "1000", True, None, [1]])
def test_impossible_token_counts_are_estimated(claim: Any) -> None:
    for usage in (
        {"prompt_tokens": claim, "completion_tokens": 9},
        {"prompt_tokens": 1000, "completion_tokens": claim},
    ):
        text = json.dumps(reply("Yes, it is. " * 50) | {"usage": usage | {"cost": 0}})
        answer, judge = ask(as_text(text), price=Price(2.5, 10), text="Is it red? " * 50)
        assert (answer.tokens_in, answer.tokens_out) == (None, None)
        tokens = estimate_tokens(judge, REQUEST._replace(text="Is it red? " * 50))
        assert answer.cost == pytest.approx(Price(2.5, 10).cost(*tokens))
        assert answer.cost is not None
        assert answer.cost > 0


def test_several_completions_and_log_probabilities() -> None:
    options = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.4}]
    place = {"token": "Yes", "logprob": -0.1, "top_logprobs": options}
    wire = Wire(lambda body: {"choices": reply(logprobs={"content": [place]})["choices"] * body["n"]})
    answer, _ = ask(wire, choices=3, logprobs=True)
    assert wire.bodies[0]["n"] == 3
    assert wire.bodies[0]["top_logprobs"] == 20
    assert "response_format" not in wire.bodies[0], "the answer alone is wanted"
    position = TokenLogprobs("Yes", (("Yes", -0.1), ("No", -2.4)))
    assert answer.completions == (Completion("Yes", "stop", (position,)),) * 3


def test_a_rejected_schema_is_omitted_from_then_on() -> None:
    def picky(body: Body) -> Any:
        if "response_format" in body:
            return error(400, "response_format of type json_schema is not supported")(body)
        return reply()

    wire = Wire(picky)
    _, judge = ask(wire, times=3)
    assert ["response_format" in body for body in wire.bodies] == [True, False, False, False]
    assert judge.notes == ["openai:m does not support structured output: sent without it."]


def test_a_request_is_sent_with_its_own_schema() -> None:
    schema = {"type": "object", "properties": {"caption": {"type": "string"}}, "required": ["caption"]}
    wire = Wire(lambda body: error(400, "no json_schema")(body) if "response_format" in body else reply())
    _, judge = ask(wire, times=2, schema=schema)
    sent = {"name": "reply", "strict": True, "schema": schema}
    assert wire.bodies[0]["response_format"] == {"type": "json_schema", "json_schema": sent}
    assert ["response_format" in body for body in wire.bodies] == [True, False, False]
    assert judge.notes == ["openai:m does not support structured output: sent without it."]


def test_a_schema_rejected_without_being_named_is_detected() -> None:
    def vague(body: Body) -> Any:
        return error(400, "bad request")(body) if "response_format" in body else reply()

    wire = Wire(vague)
    ask(wire, times=2)
    assert ["response_format" in body for body in wire.bodies] == [True, False, False]


def test_a_bad_request_does_not_remove_the_schema_of_others() -> None:
    wire = Wire(error(400, "the image cannot be decoded"))
    found = fault(wire)
    assert (found.kind, found.retryable) == ("bad request", False)
    assert "cannot be decoded" in str(found)
    assert ["response_format" in body for body in wire.bodies] == [True, False]


def test_a_rejected_temperature_is_omitted_unless_it_was_given() -> None:
    def fixed(body: Body) -> Any:
        if "temperature" in body:
            return error(400, "Unsupported value: 'temperature' does not support 0.0")(body)
        return reply()

    wire = Wire(fixed)
    _, judge = ask(wire)
    assert "temperature" not in wire.bodies[-1]
    assert "`temperature`" in judge.notes[0]
    assert fault(Wire(fixed), optional=set()).kind == "bad request"


@pytest.mark.parametrize(
    ("answer", "kind", "crowded"),
    [
        (error(429, "slow down"), "rate limit", True),
        (error(500, "oops"), "server error 500", False),
        (error(503, "overloaded"), "server error 503", True),
        (error(529, "overloaded"), "server error 529", True),
        # An error of a server that is down names no parameter.
        (error(503, "model replica not found, scaling up"), "server error 503", True),
        (error(502, "moderation service timeout"), "server error 502", True),
        (error(429, "You exceeded your current quota, please check your plan and billing"), "rate limit", True),
        (lambda _: web.Response(text="<html>hello</html>"), "HTML instead of JSON", False),
        (lambda _: web.Response(text='{"choices": ['), "broken JSON", False),
        (lambda _: web.Response(text="[1]"), "broken JSON", False),
        (lambda _: {"choices": []}, "broken JSON", False),
        (lambda _: {"choices": [{"no": "message"}]}, "broken JSON", False),
        # OpenRouter sends errors with status 200; Google wraps them in a list.
        (lambda _: {"error": {"code": 502, "message": "upstream"}}, "server error 502", True),
        (lambda _: web.json_response([{"error": {"code": 429, "message": "x"}}], status=429), "rate limit", True),
    ],
)
def test_temporary_errors_are_retryable(answer: Any, kind: str, crowded: bool) -> None:
    found = fault(answer)
    assert (found.kind, found.retryable, found.overloaded) == (kind, True, crowded)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_requested_waiting_times_are_read(headers: Mapping[str, str], wait: float | None) -> None:
    assert fault(error(429, "slow", headers)).retry_after == wait


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "the key was refused"),
        (error(400, "API key not valid", reason="API_KEY_INVALID"), "the key was refused"),
        (error(403, "forbidden"), "access was refused"),
        (error(404, "The model `m` does not exist", code="model_not_found"), "has no model 'm'"),
        (error(404, "page not found"), "has no model 'm'"),
        (error(400, "m is not a valid model ID"), "has no model 'm'"),
        (error(429, "exceeded your current quota", code="insufficient_quota"), "quota is used up"),
        (error(402, "requires more credits"), "no credit left"),
        (error(429, "daily limit", {"Retry-After": "86400"}), "asks to wait for 24.0 hours"),
        (error(503, "down", {"Retry-After": "inf"}), "asks to wait"),
        (lambda _: web.Response(status=307, headers={"Location": "http://other/v1"}), "redirects to http://other/v1"),
    ],
)
def test_permanent_errors_stop_all_calls(answer: Any, sentence: str) -> None:
    with pytest.raises(ProviderUnusable, match=sentence) as caught:
        ask(answer)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        (lambda _: reply(""), Completion("")),
        (lambda _: reply(None), Completion("")),
        (lambda _: reply("Yes", finish_reason="length"), Completion("Yes", "length")),
        *[
            (lambda _, why=why: reply("Yes", finish_reason=why), Completion("Yes", "length"))
            for why in ("MAX_TOKENS", "model_length", "abort", "error", "incomplete")
        ],
        (lambda _: reply("", finish_reason="content_filter"), Completion("", "refusal")),
        (lambda _: reply("", finish_reason="PROHIBITED_CONTENT"), Completion("", "refusal")),
        (lambda _: reply(None, message={"content": None, "refusal": "I cannot."}), Completion("I cannot.", "refusal")),
        (lambda _: reply(None, message={"content": [{"type": "text", "text": "Yes"}]}), Completion("Yes")),
    ],
)
def test_empty_and_truncated_replies(answer: Any, choice: Completion) -> None:
    assert ask(answer)[0].completions == (choice,)


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "Input data may contain inappropriate content.", code="data_inspection_failed"),
        error(400, "blocked", code="content_filter"),
    ],
)
def test_a_content_filter_is_a_refusal(answer: Any) -> None:
    found = fault(answer)
    assert (found.kind, found.retryable) == ("content filter", False)


def test_a_timeout() -> None:
    async def slowly(_: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    wire = Wire(lambda _: reply())
    wire._complete = slowly  # type: ignore[assignment, method-assign]
    found = fault(wire, timeout=0.2)
    assert (found.kind, found.overloaded) == ("timeout", True)


def test_connections_that_break() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse()
        response.content_length = 1000
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.close()
        return response

    async def reset(request: web.Request) -> web.Response:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    for handler, kind in ((cut, "cut-off reply"), (reset, "connection lost")):
        wire = Wire(lambda _: reply())
        wire._complete = handler  # type: ignore[method-assign]
        assert fault(wire).kind == kind


def test_unreachable_and_invalid_addresses() -> None:
    def unanswered(url: str) -> Exception:
        judge = ChatJudge("j", "m", CHAT_PROVIDERS["openai"], url=url, key="", vision=find_vision("m"))

        async def run() -> None:
            await judge.open()
            try:
                await judge.ask(JudgeRequest([], "?", get_scale("yes/no"), ["Q1"]))
            finally:
                await judge.close()

        with pytest.raises((CallError, ProviderUnusable)) as caught:
            asyncio.run(run())
        return caught.value

    assert "no connection" in str(unanswered("http://127.0.0.1:9/v1"))


def test_error_messages_are_cut_and_the_key_is_removed() -> None:
    found = fault(error(500, f"{KEY} " + "x" * 5000))
    assert "[key]" in str(found)
    assert len(str(found)) < 400


@pytest.mark.parametrize("key", ["a", "Yes", "answer", "explanation", "token"])
def test_a_short_or_common_key_does_not_alter_replies(key: str) -> None:
    said = '{"Q1": {"answer": "Yes", "explanation": "a token of an apple"}}'
    answer, _ = ask(lambda _: reply(said), key=key)
    assert answer.completions[0].text == said


@pytest.mark.parametrize("status", [404, 405])
def test_a_missing_version_in_the_address_is_reported(status: int) -> None:
    with pytest.raises(ProviderUnusable) as caught:
        ask(error(status, "page not found"), path="")
    assert "probably lacks /v1. Give openai:m" in str(caught.value)
    assert str(caught.value).endswith("/v1.")


def test_a_missing_version_is_reported_for_a_reply_with_status_200() -> None:
    with pytest.raises(ProviderUnusable, match="probably lacks /v1"):
        ask(lambda _: {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, path="")


def test_a_missing_model_is_not_mistaken_for_a_missing_version() -> None:
    with pytest.raises(ProviderUnusable, match="has no model 'm'"):
        ask(error(404, "model 'm' not found"), path="")


def test_googles_waiting_time_is_read_from_the_body() -> None:
    assert fault(error(429, "Quota exceeded. Please retry in 15.5s.")).retry_after == 15.5
    assert fault(error(429, "x", details=[{"retryDelay": "7s"}])).retry_after == 7


def test_invalid_dates_are_ignored() -> None:
    far = {"Retry-After": "Mon, 99999999999999999999 Jan 2030 00:00:00 GMT"}
    assert fault(error(429, "slow", far)).retry_after is None


def test_a_key_repeated_by_a_model_is_removed_from_its_reply() -> None:
    answer, _ = ask(lambda _: reply(f"Yes, Bearer {KEY}"))
    assert answer.completions[0].text == "Yes, Bearer [key]"
    refused = {"content": None, "refusal": f"no: {KEY}"}
    answer, _ = ask(lambda _: reply(None, message=refused))
    assert answer.completions[0].text == "no: [key]"
    page = f"<html>{'x' * 60} Bearer {KEY}</html>"
    assert "sk-" not in str(fault(lambda _: web.Response(text=page)))
