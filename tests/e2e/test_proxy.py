"""Tests that passwords of failing proxies are neither shown nor stored."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.commands import Done, creval
from tests.raw_server import raw_server, reply

pytestmark = pytest.mark.attack

USER, PASSWORD = "me", "pr0xy/pass@word"
QUOTED = "pr0xy%2Fpass%40word"
SECRETS = (PASSWORD, QUOTED, "pr0xy", base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
SAID = json.dumps({"Q1": {"answer": "Yes", "explanation": "so"}})
GOOD = json.dumps({"choices": [{"message": {"content": SAID}}]}).encode()


def judge(bench: Path, run: Path, scheme: str, *more: str) -> Done:
    """Judge with a server that is reachable only through a proxy."""
    spec = f"openai:m@{scheme}://192.0.2.1/v1"
    return creval(
        *("judge", bench, "--edits", bench / "edits" / "Keeper", "--judge", spec, "--run", run, "--ask", "question"),
        *("--attempts", "1", "--retries", "0", "--concurrency", "1", *more),
    )


def check_hidden(folder: Path, *said: Done) -> None:
    for secret in SECRETS:
        assert not any(secret in done.stdout + done.stderr for done in said), secret
        for path in folder.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


@pytest.fixture(autouse=True)
def _no_other_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_a_proxy_that_fails_in_the_middle_of_a_run(
    miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    async def proxy(head: bytes) -> AsyncGenerator[bytes, None]:
        calls.append(head)
        told = f"http://{USER}:{PASSWORD}@proxy: {USER}:{QUOTED} {SECRETS[-1]} {PASSWORD}".encode()
        script = reply(GOOD) if len(calls) <= 12 else reply(told, f"X: {QUOTED}", status="502 failed")
        async for piece in script(head):
            yield piece

    run = tmp_path / "run"
    with raw_server(proxy) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://{USER}:{QUOTED}@{server.url.removeprefix('http://')}")
        done = judge(miniature, run, "http")
    assert SECRETS[-1].encode() in calls[0], "the proxy gets the password"
    assert done.returncode == 2
    assert "none of the last 8 calls was answered" in done.stderr
    shown = [creval("score", run), creval("score", run, "--json"), creval("items", run)]
    shown += [creval("export", run, "--out", tmp_path / "export"), creval("report", run, "--out", tmp_path / "r.html")]
    assert [each.returncode for each in shown] == [0] * 5
    check_hidden(tmp_path, done, *shown)


@pytest.mark.parametrize("status", ["407 Authentication Required", "403 no", "502 Bad Gateway"])
def test_a_proxy_that_refuses_to_connect(
    status: str, miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = f"{status}, not {USER}:{PASSWORD} nor {QUOTED}"
    with raw_server(reply(told.encode(), status=told)) as server:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{USER}:{QUOTED}@{server.url.removeprefix('http://')}")
        done = judge(miniature, tmp_path / "run", "https")
    assert done.returncode == 2
    assert ("the proxy refused the connection" if status[0] == "4" else "proxy error: HTTP 502") in done.stderr
    check_hidden(tmp_path, done)


@pytest.mark.parametrize("place", ["127.0.0.1:{}", "nowhere.invalid:8", "127.0.0.1:99999", "", "[::1", "127.0.0.1:x"])
def test_an_unreachable_proxy(place: str, miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = place.format(free.getsockname()[1])
    told = [f"http://{USER}:{QUOTED}", f"http://{USER}:{PASSWORD}", "pr0xy", f"socks5://{USER}:{QUOTED}"]
    for number, user in enumerate(told):
        monkeypatch.setenv("HTTP_PROXY", f"{user}@{place}")
        done = judge(miniature, tmp_path / str(number), "http")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        check_hidden(tmp_path, done)
