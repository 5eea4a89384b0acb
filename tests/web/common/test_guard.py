"""Hosts, methods and origins that the pages accept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from creval.web.common.guard import RequestGuard, allowed_hosts, parse_host
from tests.web.made import looking_at, write_run


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with looking_at(write_run(tmp_path_factory.mktemp("run"))) as client:
        yield client


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:80"])
def test_its_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "192.168.0.7",
        "127.0.0.1@evil.example",
        "[::2]",
        "[::1].evil.example",
        "localhost:x@evil",
        "localhost:",
        "localhost:1 evil",
    ],
)
def test_foreign_names_are_refused(client: TestClient, host: str) -> None:
    for path in ("/", "/image?sample=s1&name=source", "/static/view.js", "/nothing"):
        refused = client.get(path, headers={"Host": host})
        assert refused.status_code == 403
        assert "Open the address that creval printed" in refused.text
        assert "nosniff" in refused.headers["x-content-type-options"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_reading_methods_are_allowed(client: TestClient, method: str) -> None:
    refused = client.request(method, "/")
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET, HEAD"


def test_heads_have_no_body(client: TestClient) -> None:
    for path in ("/", "/sample?id=s1", "/image?sample=s1&name=source"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/sample?id=s1",
        "/sample?id=none",
        "/nothing",
        "/reply?id=1",
        "/image?sample=s1&name=source",
        "/static/view.css",
    ],
)
def test_every_answer_is_closed_in(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_with_another_address_numbers_and_the_given_name_are_good() -> None:
    def hello(_: object) -> PlainTextResponse:
        return PlainTextResponse("hello")

    app = Starlette(routes=[Route("/", hello)])
    hosts = allowed_hosts("0.0.0.0", ["Lab-7"])
    client = TestClient(RequestGuard(app, hosts, addresses=True))
    for host, status in (("192.168.0.7:80", 200), ("lab-7", 200), ("[fe80::1]", 200), ("a.b", 403)):
        assert client.get("/", headers={"Host": host}).status_code == status


def test_a_host_without_its_port() -> None:
    assert [parse_host(name) for name in ("A:1", "[::1]:80", "b")] == ["a", "::1", "b"]


def test_the_run_is_left_as_it_is(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    before = (run / "creval.db").read_bytes()
    with looking_at(run) as client:
        for path in ("/", "/samples", "/sample?id=s1", "/search?q=hat"):
            assert client.get(path).status_code == 200
    assert (run / "creval.db").read_bytes() == before


OWN = {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OWN, 200),
        (OWN | {"Sec-Fetch-Site": "same-origin"}, 200),
        (OWN | {"Sec-Fetch-Site": "same-site"}, 403),
        (OWN | {"Sec-Fetch-Site": "cross-site"}, 403),
        (OWN | {"Sec-Fetch-Site": "none"}, 403),
        (OWN | {"Origin": "http://127.0.0.1:9000"}, 403),
        (OWN | {"Origin": "http://localhost:8000"}, 403),
        (OWN | {"Origin": "http://evil.example"}, 403),
        (OWN | {"Origin": "null"}, 403),
        (OWN | {"Origin": "file://127.0.0.1:8000"}, 403),
        ({"Host": "127.0.0.1:8000"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
    ],
)
def test_only_its_own_pages_write(headers: dict[str, str], status: int) -> None:
    def hello(_: object) -> PlainTextResponse:
        return PlainTextResponse("hello")

    app = Starlette(routes=[Route("/", hello, methods=["GET", "POST", "PUT"])])
    client = TestClient(RequestGuard(app, allowed_hosts("127.0.0.1"), writes=True))
    assert client.post("/", headers=headers).status_code == status
    assert client.put("/", headers=OWN).status_code == 405
    assert client.get("/", headers={"Host": "localhost"}).status_code == 200
