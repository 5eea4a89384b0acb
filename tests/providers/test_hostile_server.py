"""Tests of servers that send malformed data.

Each call ends soon, uses limited memory and fails with a known kind of error. The key is sent to no other address.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from creval.core.images import EncodedImage
from creval.core.scales import get_scale
from creval.editors.base import EditorOptions
from creval.editors.editor_spec import open_editor
from creval.judges.base import JudgeOptions, JudgeRequest, JudgeResponse
from creval.judges.judge_spec import open_judges
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.reply_body import _Decoder
from tests.editors.asking import Pocket, make_job
from tests.raw_server import Script, raw_server, reply

pytestmark = pytest.mark.attack

KEY = "sk-hostile-0123456789"
REQUEST = JudgeRequest([EncodedImage("d", "image/png", b"\x89PNG", 10, 10)], "Is it red?", get_scale("yes/no"), ["Q1"])
GOOD = json.dumps({"choices": [{"message": {"content": "Yes"}}]}).encode()
DEEP = b"[" * 100_000 + b"]" * 100_000
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREVAL_API_KEY", KEY)


def ask(url: str, timeout: float = 0.6) -> JudgeResponse:
    (judge,) = open_judges(f"openai:m@{url}/v1", JudgeOptions(timeout=timeout))

    async def run() -> JudgeResponse:
        await judge.open()
        try:
            return await judge.ask(REQUEST)
        finally:
            await judge.close()

    return asyncio.run(run())


def edit(url: str, job: Any, kind: str = "openai", timeout: float = 0.6) -> object:
    editor = open_editor(f"{kind}:m@{url}/v1", EditorOptions(timeout=timeout))

    async def run() -> object:
        await editor.open()
        try:
            return await editor.edit(job, Pocket())
        finally:
            await editor.close()

    return asyncio.run(run())


async def endless_headers(_: bytes) -> AsyncGenerator[bytes, None]:
    yield OK
    while True:
        yield b"X-More: yes\r\n" * 1000


async def one_long_header(_: bytes) -> AsyncGenerator[bytes, None]:
    yield OK + b"X-Long: "
    while True:
        yield b"x" * 100_000


async def slow_body(_: bytes) -> AsyncGenerator[bytes, None]:
    yield OK + b"Content-Length: 1000000\r\n\r\n"
    while True:
        yield b" "
        await asyncio.sleep(0.02)


async def slow_head(_: bytes) -> AsyncGenerator[bytes, None]:
    for letter in OK * 100:
        yield bytes([letter])
        await asyncio.sleep(0.02)


async def endless_body(_: bytes) -> AsyncGenerator[bytes, None]:
    yield OK + b"Connection: close\r\n\r\n"
    while True:
        yield b"[" * 100_000


async def endless_chunks(_: bytes) -> AsyncGenerator[bytes, None]:
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"186a0\r\n" + b" " * 100_000 + b"\r\n"


async def endless_empty_members(_: bytes) -> AsyncGenerator[bytes, None]:
    yield OK + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"
    while True:
        yield gzip.compress(b"") * 5000


async def silence(_: bytes) -> AsyncGenerator[bytes, None]:
    await asyncio.sleep(5)
    yield b""


async def noise(_: bytes) -> AsyncGenerator[bytes, None]:
    yield bytes(range(256)) * 100


async def interim_forever(_: bytes) -> AsyncGenerator[bytes, None]:
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 100
        await asyncio.sleep(0.001)


def bomb(size: int = 300 << 20) -> bytes:
    made = zlib.compressobj(wbits=31)
    return b"".join([*(made.compress(bytes(1 << 20)) for _ in range(size >> 20)), made.flush()])


CASES: dict[str, tuple[Script, str]] = {
    "endless headers": (endless_headers, "broken HTTP reply|timeout"),
    "one long header": (one_long_header, "broken HTTP reply|timeout"),
    "slow body": (slow_body, "timeout"),
    "slow head": (slow_head, "timeout|broken HTTP reply"),
    "silence": (silence, "timeout"),
    "noise": (noise, "broken HTTP reply"),
    "interim": (interim_forever, "timeout|broken HTTP reply"),
    "endless body": (endless_body, "reply too long"),
    "endless chunks": (endless_chunks, "reply too long"),
    "empty members": (endless_empty_members, "reply too long|timeout"),
    "long length": (reply(GOOD, "Connection: close", length=10**6), "cut-off reply"),
    "huge length": (reply(GOOD, "Connection: close", length=10**30), "cut-off reply|broken HTTP reply"),
    "short length": (reply(GOOD, length=5), "broken JSON|broken HTTP reply"),
    "negative length": (reply(GOOD, length=-5), "broken HTTP reply"),
    "length of words": (reply(GOOD, length="many"), "broken HTTP reply"),
    "two lengths": (reply(GOOD, "Content-Length: 3"), "broken HTTP reply|broken JSON"),
    "deep JSON": (reply(DEEP), "broken JSON"),
    "deep error": (reply(b'{"error":' + DEEP + b"}"), "broken JSON"),
    "deep error body": (reply(DEEP, status="500 no"), "server error 500"),
    "long number": (reply(b"9" * 100_000), "broken JSON"),
    "gzip bomb": (reply(bomb(), "Content-Encoding: gzip"), "reply too long"),
    "damaged gzip": (reply(b"\x1f\x8b nothing", "Content-Encoding: gzip"), "unreadable reply"),
    "cut gzip": (reply(gzip.compress(GOOD)[:-6], "Content-Encoding: gzip"), "cut-off reply"),
    "unknown compression": (reply(GOOD, "Content-Encoding: br"), "unreadable reply"),
    "two compressions": (reply(GOOD, "Content-Encoding: gzip, gzip"), "unreadable reply"),
}


@pytest.fixture
def memory() -> Iterator[None]:
    """Fail if the peak memory exceeds 60 MB."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 << 20


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_reply_ends_soon_and_in_bounded_memory(case: str) -> None:
    script, kind = CASES[case]
    began = time.monotonic()
    with raw_server(script) as server, pytest.raises(CallError) as caught:
        ask(server.url)
    assert caught.value.kind in kind.split("|")
    assert time.monotonic() - began < 2.5
    assert KEY not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "raw deflate", "identity", "GZIP"])
def test_a_compressed_reply_is_read(encoding: str) -> None:
    squeezed = zlib.compressobj(wbits=-15)
    body = {
        "identity": GOOD,
        "deflate": zlib.compress(GOOD),
        "raw deflate": squeezed.compress(GOOD) + squeezed.flush(),
    }.get(encoding, gzip.compress(GOOD[:9]) + gzip.compress(GOOD[9:]))
    with raw_server(reply(body, f"Content-Encoding: {encoding.rpartition(' ')[2]}")) as server:
        assert ask(server.url).completions[0].text == "Yes"
        assert b"Accept-Encoding: identity" in server.requests[0]


def test_the_limit_of_bytes_is_exact() -> None:
    for encoding, content in (("", b"x" * 50), ("gzip", gzip.compress(b"x" * 50))):
        decoder = _Decoder(encoding, 50)
        assert b"".join(decoder.decode(bytes([byte])) for byte in content) == b"x" * 50
        decoder.finish()
        with pytest.raises(CallError, match="too long"):
            b"".join(decoder.decode(bytes([byte])) for byte in content)


@pytest.mark.parametrize("status", ["400 Bad Request", "401 no", "403 no", "404 no", "429 slow", "500 no", "302 there"])
def test_a_key_that_is_echoed_in_an_error_is_not_shown(status: str) -> None:
    body = json.dumps({"error": {"message": f"You sent Bearer {KEY} to http://u:{KEY}@h/?api_key={KEY}", "code": KEY}})
    where = f"Location: http://{KEY}@elsewhere/?key={KEY}"
    script = reply(body.encode(), where, status=status)
    with raw_server(script) as server, pytest.raises((CallError, ProviderUnusable)) as caught:
        ask(server.url)
    assert KEY not in f"{caught.value} {caught.value!r} {vars(caught.value)}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_the_key_nowhere(status: int, tmp_path: Path) -> None:
    with raw_server(reply(GOOD)) as other:
        script = reply(b"", f"Location: {other.url}/v1/chat/completions", status=f"{status} there")
        with raw_server(script) as server:
            with pytest.raises(ProviderUnusable, match="redirects to"):
                ask(server.url)
            with pytest.raises(ProviderUnusable, match="redirects to"):
                edit(server.url, make_job(tmp_path / "job"))
        assert not other.requests


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("case", ["endless headers", "slow body", "deep JSON", "cut gzip", "noise", "negative length"])
def test_editors_take_hostile_replies_as_judges_do(case: str, tmp_path: Path) -> None:
    script, kind = CASES[case]
    with raw_server(script) as server, pytest.raises(CallError) as caught:
        edit(server.url, make_job(tmp_path / "job"))
    assert caught.value.kind in kind.split("|")


@pytest.mark.usefixtures("memory")
def test_a_reply_of_a_million_small_parts_is_not_read(tmp_path: Path) -> None:
    script = reply(b'{"data":[' + b"[]," * 2_000_000 + b"[]]}")
    with raw_server(script) as server, pytest.raises(CallError, match="broken JSON"):
        edit(server.url, make_job(tmp_path / "job"), timeout=5)
