"""Tests of the detection of local addresses, and of connections, which only go to the checked address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from creval.editors.base import EditorOptions, EditRequest
from creval.editors.editor_spec import open_editor
from creval.editors.remote.base import RemoteEditor
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.providers.http import HttpEndpoint
from creval.providers.public_addresses import is_local_host, is_local_name, is_public
from tests.editors.asking import Pocket, make_job
from tests.editors.servers import MADE, DashScope, redirect
from tests.serving import serving

pytestmark = pytest.mark.attack


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700::1111", True),
        ("64:ff9b::1.1.1.1", True),
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
        ("::1", False),
        ("::", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:7f00:1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::10.0.0.1", False),
        ("64:ff9b:1::1", False),
        ("2002:7f00:1::", False),
        ("2001:0:1::1", False),
        ("::127.0.0.1", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("0x7f.1", False),
        ("2130706433", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_numeric_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "host",
    [
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "127.1",
        "0",
        "localhost",
        "localhost.",
        "LOCALHOST..",
        "a.localhost",
        "nas",
        "nas.",
        "x.local",
        "a.internal.",
        "::1",
        "fe80::1%eth0",
        "::ffff:127.0.0.1",
        "10.0.0.8",
    ],
)
def test_names_of_this_network_in_any_spelling(host: str) -> None:
    assert is_local_name(host)


def test_names_of_other_networks() -> None:
    assert not any(map(is_local_name, ("example.org", "example.org.", "1.1.1.1", "0x1.1.1.1", "localhost.example.org")))


def fetch(url: str, *, public: bool | None) -> bytes:
    """Fetch an address with a session that may only connect to public, or only to local addresses."""
    endpoint = HttpEndpoint("j", "m", "https://h", "", "K", timeout=5)

    async def run() -> bytes:
        async with endpoint.open_session({}, 4, public=public) as session:
            return (await endpoint.fetch(session, "GET", URL(url), max_bytes=1 << 20)).content

    return asyncio.run(run())


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Make each resolution of `rebind.example` return the next of these addresses. Returns the resolved names."""
    looked, left, real = list[str](), list(addresses), socket.getaddrinfo

    def look_up(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        if host != "rebind.example":
            return real(host, port, *arguments, **options)
        looked.append(host)
        address = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return looked


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "0x7f.1", "127.1", "2130706433", "localhost", "localhost.", "rebind.example"]
)
def test_no_spelling_leads_a_public_session_into_this_network(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, "127.0.0.1")
    server = DashScope()
    with serving(server.app()) as base:
        port = URL(base).port
        sentence = r"in the local network|not a valid address|no connection"
        with pytest.raises((CallError, ProviderUnusable), match=sentence):
            fetch(f"http://{host}:{port}/files/a.png", public=True)
    assert not server.fetched


def test_a_session_of_this_network_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, "127.0.0.1")
    server = DashScope()
    with serving(server.app()) as base:
        port = URL(base).port
        for public in (None, False):
            assert fetch(f"http://rebind.example:{port}/files/a.png", public=public) == MADE
    with pytest.raises(CallError, match="has a public address"):
        fetch("http://1.1.1.1/", public=False)


def test_a_host_is_local_if_all_its_addresses_are(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, "10.0.0.1", "1.1.1.1")
    assert asyncio.run(is_local_host("rebind.example"))
    assert not asyncio.run(is_local_host("rebind.example"))
    assert asyncio.run(is_local_host("127.0.0.1"))
    assert not asyncio.run(is_local_host("no-such-host.invalid"))


@pytest.fixture
def job(tmp_path: Path) -> EditRequest:
    return make_job(tmp_path / "job")


def edit_at_public(
    job: EditRequest, results: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> tuple[CallError, int]:
    """Edit with a server that counts as public and returns addresses of results.

    Returns the error and the number of downloads.
    """
    server = DashScope()
    with serving(server.app()) as base:
        editor = open_editor(f"dashscope:m@{base}/api/v1", EditorOptions(timeout=5, key_optional=True))
        assert isinstance(editor, RemoteEditor)
        editor.poll_interval = 0.001
        server.queue = [lambda _: aiohttp.web.json_response(server.reply({"image": results(base)}))]

        async def run() -> None:
            monkeypatch.setattr("creval.editors.remote.base.is_local_host", lambda _: asyncio.sleep(0, False))
            await editor.open()
            try:
                await editor.edit(job, Pocket())
            finally:
                await editor.close()

        with pytest.raises(CallError) as caught:
            asyncio.run(run())
    return caught.value, len(server.fetched)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "0x7f.1", "localhost.", "rebind.example", "[64:ff9b::7f00:1]", "[::ffff:7f00:1]"]
)
def test_a_result_is_not_fetched_from_inside(host: str, job: EditRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = named(monkeypatch, "1.1.1.1", "127.0.0.1")  # public when it is checked, and local when it is used
    if host == "rebind.example":
        socket.getaddrinfo("rebind.example", 0)
    fault, fetched = edit_at_public(job, lambda base: f"http://{host}:{URL(base).port}/files/a.png", monkeypatch)
    assert (fault.kind, fault.billed, fetched) == ("no image", True, 0)
    assert "in the local network" in str(fault)
    assert len(looked) <= 4


def test_a_redirect_does_not_lead_a_result_inside(job: EditRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request is allowed, like one to a public server."""
    server = DashScope()
    with serving(server.app()) as base:
        server.base = base
        server.results = [redirect(f"http://rebind.example:{URL(base).port}/files/b.png")] * 3
        editor = open_editor(f"dashscope:m@{base}/api/v1", EditorOptions(timeout=5, key_optional=True))
        assert isinstance(editor, RemoteEditor)
        editor.poll_interval = 0.001
        named(monkeypatch, "127.0.0.1")

        async def run() -> None:
            await editor.open()
            editor._is_public_endpoint = True
            editor.validate_url = URL  # type: ignore[method-assign, assignment]
            public, inside = editor._endpoint.open_session({}, 4, public=True), editor._keyless_session
            real = editor._endpoint.fetch

            async def fetch(_: object, method: str, url: URL, **options: Any) -> Any:
                return await real(inside if url.host == "127.0.0.1" else public, method, url, **options)  # type: ignore[arg-type]

            object.__setattr__(editor._endpoint, "fetch", fetch)
            try:
                await editor.edit(job, Pocket())
            finally:
                await editor.close()
                await public.close()

        with pytest.raises(CallError, match=r"in the local network: rebind\.example"):
            asyncio.run(run())
    assert {headers["Host"] for headers in server.fetched} == {URL(base).authority}
