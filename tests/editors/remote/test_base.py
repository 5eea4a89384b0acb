"""Tests that apply to every server: errors, refusals, and malformed results."""

from __future__ import annotations

import asyncio
import base64
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from creval.core.errors import CrevalError
from creval.core.images import decode_image
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.editor_spec import open_editor
from creval.editors.remote import base as remote_base
from creval.editors.remote.base import RemoteEditor, detect_media_type
from creval.editors.remote.payload import nearest_size, size_for_aspect
from creval.providers.call_errors import CallError, ProviderUnusable
from tests.editors.asking import KEY, MODELS, PATHS, Pocket, ask, fault, keyed, make_job
from tests.editors.servers import (
    BFL,
    MADE,
    Answer,
    Chances,
    DashScope,
    Google,
    OpenAI,
    Provider,
    Seedream,
    as_json,
    cut,
    error,
    image,
    redirect,
    slow,
)
from tests.serving import serving

SERVERS: dict[str, type[Provider]] = {
    "openai": OpenAI,
    "google": Google,
    "bfl": BFL,
    "dashscope": DashScope,
    "seedream": Seedream,
}
EVERY = pytest.mark.parametrize("kind", SERVERS)


@pytest.fixture
def job(tmp_path: Path) -> EditRequest:
    return make_job(tmp_path / "job")


@EVERY
def test_an_image_is_returned_byte_for_byte(kind: str, job: EditRequest) -> None:
    asked = ask(kind, SERVERS[kind](), job)
    assert asked.one.content == (MADE if kind != "seedream" else asked.one.content)
    assert asked.one.media_type == ("image/png" if kind != "seedream" else "image/jpeg")
    assert asked.one.metadata["model"] == MODELS[kind]
    assert asked.one.metadata["provider"] == kind
    assert asked.one.cost is None, "the price of a custom server is unknown"
    assert ask(kind, SERVERS[kind](), job, price=0.5).one.cost == 0.5


@EVERY
@pytest.mark.parametrize(
    ("answer", "kinds", "crowded", "paid"),
    [
        (error(429, {"error": {"message": "slow down"}}), "rate limit", True, False),
        (error(500, {"error": {"message": "oops"}}), "server error 500", False, False),
        (error(503, {"error": {"message": "overloaded"}}), "server error 503", True, False),
        (lambda _: web.Response(text="<html>x</html>"), "HTML instead of JSON", False, True),
        (lambda _: web.Response(text='{"data": ['), "broken JSON", False, True),
        (as_json([1]), "broken JSON", False, True),
        (cut(), "cut-off reply", False, True),
    ],
)
def test_faults_that_pass(kind: str, answer: Answer, kinds: str, crowded: bool, paid: bool, job: EditRequest) -> None:
    found = fault(kind, SERVERS[kind](answer), job)
    assert (found.kind, found.retryable, found.overloaded, found.billed) == (kinds, True, crowded, paid)


@EVERY
def test_the_servers_retry_after_is_used(kind: str, job: EditRequest) -> None:
    answer = error(429, {"message": "slow"}, {"Retry-After": "7"})
    assert fault(kind, SERVERS[kind](answer), job).retry_after == 7


@EVERY
@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (error(401, {"error": {"message": f"Incorrect API key: {KEY}"}}), "the key was refused"),
        (error(403, {"detail": "Not authenticated"}), "access was refused"),
        (error(402, {"detail": "Insufficient credits"}), "no credit left"),
        (error(404, {"error": {"message": "nothing here"}}), "has no model"),
        (redirect("http://other/v1"), "redirects to http://other/v1"),
    ],
)
def test_permanent_errors_are_not_retried(kind: str, answer: Answer, sentence: str, job: EditRequest) -> None:
    with pytest.raises(ProviderUnusable, match=sentence):
        ask(kind, SERVERS[kind](answer), job)


@EVERY
def test_a_timeout(kind: str, job: EditRequest) -> None:
    began = time.monotonic()
    found = fault(kind, SERVERS[kind](slow()), job, timeout=0.2)
    assert (found.kind, found.retryable, found.overloaded, found.billed) == ("timeout", True, True, True)
    assert time.monotonic() - began < 3


@EVERY
def test_the_key_is_not_taken_along_to_another_host(kind: str, job: EditRequest) -> None:
    other = SERVERS[kind]()
    with serving(other.app()) as elsewhere:
        answer = redirect(f"{elsewhere}/v1/images/edits")
        with pytest.raises(ProviderUnusable, match="redirects"):
            ask(kind, SERVERS[kind](answer), job)
    assert other.headers == []


@EVERY
def test_a_request_that_is_not_taken_as_it_is(kind: str, job: EditRequest) -> None:
    found = fault(kind, SERVERS[kind](error(422, {"detail": "seed: too large"})), job)
    assert (found.kind, found.retryable) == ("bad request", False)
    assert "seed: too large" in str(found)


@EVERY
def test_a_source_that_cannot_be_read(kind: str, tmp_path: Path) -> None:
    server = SERVERS[kind]()
    found = fault(kind, server, EditRequest("s", "x", source=tmp_path / "none.png"))
    assert (found.kind, found.retryable) == ("unreadable source", False)
    assert server.headers == []


@EVERY
def test_supported_inputs(kind: str) -> None:
    options = EditorOptions(key_optional=True)
    editor = open_editor(f"{kind}:{MODELS[kind]}", options)
    job = EditRequest("s", "x", Path("s.png"), Path("m.png"), (Path("r.png"),))
    assert editor.unsupported_inputs(job) == ([] if kind == "openai" else ["mask"])


@EVERY
def test_more_images_than_are_taken(kind: str, tmp_path: Path) -> None:
    found = fault(kind, SERVERS[kind](), make_job(tmp_path / "many", references=16))
    assert (found.kind, found.retryable) == ("unsupported", False)


@EVERY
def test_fields_that_creval_sets_cannot_be_settings(kind: str, job: EditRequest) -> None:
    name = {"bfl": "prompt", "google": "contents"}.get(kind, "model")
    with pytest.raises(CrevalError, match=f"`settings` {name}"):
        ask(kind, SERVERS[kind](), job, settings={name: "x"})


# Downloaded results. DashScope stands for all providers that return addresses.


def fetched(*results: Answer) -> DashScope:
    server = DashScope()
    server.results = list(results)
    return server


def test_results_are_fetched_without_the_key_from_another_host(job: EditRequest) -> None:
    store, server = DashScope(), DashScope()
    with serving(store.app()) as elsewhere:
        server.elsewhere = elsewhere
        asked = ask("dashscope", server, job)
    assert asked.one.content == MADE
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    (headers,) = store.fetched
    assert not any(KEY in value for value in headers.values())
    assert "Authorization" not in headers
    assert asked.ticket.all == [f"{elsewhere}/files/q.png?Signature=x%3D"]


@pytest.mark.parametrize(
    "bad",
    [
        image(MADE[: len(MADE) // 2]),
        image(b"<html>", "text/html"),
        cut(MADE, "image/png"),
        error(500, {}),
        error(429, {}, {"Retry-After": "0"}),
    ],
)
def test_a_paid_result_is_downloaded_again_before_a_new_request(bad: Answer, job: EditRequest) -> None:
    server = fetched(bad, bad)
    assert ask("dashscope", server, job).one.content == MADE
    assert (len(server.bodies), len(server.fetched)) == (1, 3)


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (image(MADE[: len(MADE) // 2]), "damaged image"),
        (image(b"not a picture"), "damaged image"),
        (image(b"<html>", "text/html"), "no image"),
    ],
)
def test_a_result_that_is_spoilt_is_forgotten(bad: Answer, kind: str, job: EditRequest) -> None:
    ticket = Pocket()
    found = fault("dashscope", fetched(bad, bad, bad), job, ticket=ticket)
    assert (found.kind, found.retryable, found.billed) == (kind, True, True)
    assert ticket.task_id == ""


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_result_that_is_gone_is_requested_again(status: int, job: EditRequest) -> None:
    ticket, server = Pocket(), fetched(error(status, {}))
    found = fault("dashscope", server, job, ticket=ticket)
    assert (found.kind, found.retryable, found.billed) == ("no result", True, True)
    assert ask("dashscope", server, job, ticket=ticket).one.content == MADE
    assert len(server.bodies) == 2


def test_a_stored_task_is_downloaded_without_a_new_request(job: EditRequest) -> None:
    server, ticket = fetched(), Pocket()
    down = error(503, {})
    server.results = [down, down, down]
    found = fault("dashscope", server, job, ticket=ticket)
    assert (found.kind, found.retryable, found.billed) == ("server error 503", True, False)
    with serving(server.app()) as base:
        kept = Pocket(f"{base}/files/q.png")
        again = ask("dashscope", server, job, ticket=kept)
    assert again.one.content == MADE
    assert again.one.metadata["resumed"] is True
    assert len(server.bodies) == 1


def test_a_result_that_is_too_large(job: EditRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_base, "MAX_IMAGE_BYTES", 1 << 20)
    big = MADE + bytes(2 << 20)
    found = fault("dashscope", fetched(image(big)), job)
    assert (found.kind, found.retryable, found.billed) == ("reply too long", False, True)
    reply = as_json({"data": [{"b64_json": base64.b64encode(big).decode()}]})
    assert fault("openai", OpenAI(reply), job).kind == "reply too long"


def test_a_slow_download_is_retried(job: EditRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_base, "_DOWNLOAD_TIMEOUT", 0.2)
    server = fetched(slow())
    assert ask("dashscope", server, job).one.content == MADE
    assert (len(server.bodies), len(server.fetched)) == (1, 2)
    found = fault("dashscope", fetched(slow(), slow(), slow()), job)
    assert (found.kind, found.retryable, found.billed) == ("timeout", True, False)


def test_redirects_of_a_result_are_followed_a_few_times(job: EditRequest) -> None:
    server = fetched(redirect("/files/2.png"), redirect("/files/3.png"))
    assert ask("dashscope", server, job).one.content == MADE
    around = [redirect("/files/round.png")] * 20
    assert fault("dashscope", fetched(*around), job).kind == "no result"


@pytest.mark.parametrize(
    "where",
    [
        "file:///etc/passwd",
        "ftp://host/x.png",
        "/etc/passwd",
        "http://user:pass@host/x.png",
        "http://",
        "http://host:99999999/",
        "http://ho st/x",
        "https://h\r\nX-Evil: 1/",
        "",
        "http://h\u00e4/x",
        "http://a..b/x",
    ],
)
def test_addresses_that_are_not_asked(where: str, job: EditRequest) -> None:
    found = fault("dashscope", DashScope(as_json(DashScope().reply({"image": where}))), job)
    assert (found.kind, found.retryable) == ("no image", True)
    if where.startswith("file"):
        found = fault("dashscope", fetched(*[redirect(where)] * 3), job)
        assert found.kind == "no image"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "10.0.0.8", "[::1]", "169.254.1.1", "nas", "a.internal"])
def test_a_provider_does_not_send_us_into_our_own_network(host: str) -> None:
    def named(url: str) -> object:
        options = EditorOptions(key_optional=True)
        editor = open_editor(f"dashscope:m@{url}/v1", options)
        assert isinstance(editor, RemoteEditor)
        return editor.validate_url(f"http://{host}/x.png")

    with pytest.raises(CallError, match="in the local network"):
        named("https://dashscope.example.org")
    for inside in ("http://192.168.0.7:8000", "https://localhost", "http://gpu.example.org"):
        assert str(named(inside)) == f"http://{host}/x.png"


@pytest.mark.parametrize("value", [None, 7, {"a": 1}, [], "%%%", "QUJD"])
def test_images_in_a_reply_that_are_none(value: Any, job: EditRequest) -> None:
    found = fault("openai", OpenAI(as_json({"data": [{"b64_json": value}]})), job)
    assert found.kind in ("no image", "damaged image")
    assert (found.retryable, found.billed) == (True, True)


def test_a_parameter_that_is_not_taken_is_no_refusal(job: EditRequest) -> None:
    said = {"code": "unknown_parameter", "message": "Unknown parameter: 'moderation'."}
    found = fault("openai", OpenAI(error(400, {"error": said})), job)
    assert (found.kind, found.retryable) == ("bad request", False)


def test_a_gateway_timeout_may_be_billed(job: EditRequest) -> None:
    found = fault("openai", OpenAI(error(504, {"error": "gateway"})), job)
    assert (found.kind, found.overloaded, found.billed) == ("server error 504", True, True)


@EVERY
def test_with_faults_every_edit_is_done_or_has_a_reason(kind: str, job: EditRequest) -> None:
    """Thirty edits, six at a time, where a third of the server's replies are various faults."""
    server = SERVERS[kind]()
    faults = [
        error(429, {"message": "slow"}, {"Retry-After": "0"}),
        error(500, {}),
        cut(),
        error(400, {"error": {"code": "moderation_blocked"}}),
        lambda _: web.Response(text="<p>"),
    ]
    spoilt = [image(MADE[:50]), image(b"{}", "application/json"), error(503, {}), cut(MADE)]
    ends: list[str] = []

    server.queue, server.results = Chances(faults, 0.33, 5), Chances(spoilt, 0.33, 6)
    with keyed(), serving(server.app()) as base:
        server.base = base
        spec = f"{kind}:{MODELS[kind]}@{base}{PATHS[kind]}"
        editor = open_editor(spec, EditorOptions(timeout=5.0))
        assert isinstance(editor, RemoteEditor)
        editor.poll_interval = 0.001

        async def one(places: asyncio.Semaphore) -> None:
            ticket = Pocket()
            for _ in range(12):
                try:
                    async with places:
                        made = await editor.edit(job, ticket)
                    ends.append("made" if decode_image(made.content).size == (48, 32) else "wrong")
                    return
                except CallError as found:
                    if not found.retryable:
                        ends.append(found.kind)
                        return
            ends.append("given up")

        async def run() -> None:
            await editor.open()
            places = asyncio.Semaphore(6)
            await asyncio.gather(*(one(places) for _ in range(30)))
            await editor.close()

        asyncio.run(run())
    assert len(ends) == 30
    assert set(ends) <= {"made", "content filter"}
    assert ends.count("made") > 20


def test_sizes() -> None:
    assert nearest_size((100, 101), [(3, 2), (1, 1), (2, 3)]) == (1, 1)
    assert nearest_size((100, 1000), [(3, 2), (1, 1), (2, 3)]) == (2, 3)
    assert size_for_aspect((1000, 100), 1 << 20, 16, 3.0) == (1776, 592)
    assert size_for_aspect((100, 100), 1 << 20, 16, 3.0) == (1024, 1024)


def test_types_by_their_beginnings() -> None:
    assert detect_media_type(MADE) == "image/png"
    assert detect_media_type(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"
    assert detect_media_type(b"nothing") == ""


def test_which_model_a_server_says_has_answered() -> None:
    told = RemoteEditor.reported_version({"model": "m-2", "system_fingerprint": "fp_1", "data": []})
    assert told == {"version": "m-2", "fingerprint": "fp_1"}
    assert RemoteEditor.reported_version({"model": {"name": "m"}, "system_fingerprint": 3}) == {}, (
        "only texts are accepted"
    )
