"""Access to the pages by a link with a token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from creval.web.common import server as page_server
from creval.web.common.server import serve_app
from creval.web.review.app import ReviewApp
from creval.web.viewer.app import Viewer
from creval.web.viewer.live_snapshot import LiveSnapshot
from tests.web.made import write_run
from tests.web.review.reviewed import Kept

pytestmark = pytest.mark.attack

TOKEN = "t0ken-of-this-server"
PATHS = ("/", "/sample?id=s1", "/image?sample=s1&name=source", "/static/view.css", "/nothing")


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    current = LiveSnapshot(write_run(tmp_path_factory.mktemp("run")))
    yield Viewer(current)
    current.close()


@pytest.fixture
def client(viewer: Viewer) -> TestClient:
    app = viewer.app("0.0.0.0", (), TOKEN)
    return TestClient(app, base_url="http://192.168.0.7:8000", follow_redirects=False)


def test_without_the_token_nothing_is_shown(client: TestClient) -> None:
    for path in PATHS:
        refused = client.get(path)
        assert refused.status_code == 403
        assert "Open the complete link" in refused.text
        assert "nosniff" in refused.headers["x-content-type-options"]
    for wrong in ("", "T0ken-of-this-server", TOKEN + "x", TOKEN[:-1], "\u00e4", "%00", f"{TOKEN}&token=x"):
        refused = client.get(f"/?token={wrong}")
        assert refused.status_code == 403
        assert "set-cookie" not in refused.headers
        assert TOKEN not in refused.text
    assert client.get("/", headers={"Cookie": f"creval={TOKEN}; token={TOKEN}"}).status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(client: TestClient) -> None:
    entered = client.get(f"/samples?order=worst&token={TOKEN}&model=a%26b")
    assert entered.status_code == 303
    assert entered.headers["location"] == "/samples?order=worst&model=a%26b"
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert entered.headers["cache-control"] == "no-store"
    for path in PATHS[:-1]:
        assert client.get(path).status_code == 200
    assert client.get("/nothing").status_code == 404


@pytest.mark.parametrize("path", ["//evil.example/x", "/%5Cevil.example", "/\\evil.example"])
def test_the_redirect_leads_nowhere_else(client: TestClient, path: str) -> None:
    found = client.get(f"http://192.168.0.7:8000{path}?token={TOKEN}").headers["location"]
    assert re.match(r"/[^/\\]", found)


def test_a_link_on_another_page_is_followed_once_more_from_here(client: TestClient) -> None:
    """Browsers send a strict cookie only with requests from the same site."""
    came = {"Sec-Fetch-Site": "cross-site"}
    again = client.get("/", headers=came)
    assert (again.status_code, "refresh" in again.text) == (200, True)
    assert "Samples" not in again.text
    assert client.get("/", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 403


def test_two_servers_of_one_host_have_two_cookies(viewer: Viewer) -> None:
    names = set()
    for _ in range(2):
        client = TestClient(viewer.app(token=TOKEN), base_url="http://127.0.0.1", follow_redirects=False)
        names.add(client.get(f"/?token={TOKEN}").headers["set-cookie"].partition("=")[0])
    assert len(names) == 2


def test_a_review_needs_the_token_to_be_changed() -> None:
    client = TestClient(ReviewApp(Kept([])).app(token=TOKEN), base_url="http://127.0.0.1:8000")
    headers = {"Origin": "http://127.0.0.1:8000", "Content-Type": "application/x-www-form-urlencoded"}
    for path in ("/decide?group=g&item=i", f"/decide?group=g&item=i&token={TOKEN}"):
        refused = client.post(path, content="act=drop", headers=headers)
        assert (refused.status_code, "Open the complete link" in refused.text) == (403, True)


@pytest.mark.parametrize(("host", "asked", "needed"), [("127.0.0.1", 0, 0), ("127.0.0.1", 1, 1), ("0.0.0.0", 0, 1)])
def test_which_servers_need_a_token(
    host: str, asked: int, needed: int, viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes, opened = list[str](), list[str]()

    def run(app: object, listening: object, on_ready: object) -> None:
        on_ready()  # type: ignore[operator]
        listening.close()  # type: ignore[attr-defined]
        client = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)  # type: ignore[arg-type]
        assert client.get("/").status_code == (403 if needed else 200)
        if needed:
            page = Path(opened[0].removeprefix("file://"))
            assert page.stat().st_mode & 0o77 == 0, "other users cannot read the file"
            (token,) = re.findall(r"token=([\w-]{40,})", notes[-1])
            assert token in page.read_text(encoding="utf-8")
            assert client.get(f"/?token={token}").status_code == 303

    monkeypatch.setattr(page_server, "run_server", run)
    monkeypatch.setattr("webbrowser.open", opened.append)
    serve_app(host, 0, viewer.app, notes.append, "viewing", "Others can open this.", True, bool(asked))
    assert ("token=" in notes[-1]) is bool(needed)
    assert ("Others can open this." in notes) is (host == "0.0.0.0")
    assert opened[0].startswith("file://" if needed else "http://127.0.0.1:")
