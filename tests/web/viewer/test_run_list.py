"""The viewer of a folder of runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from creval.core.errors import CrevalError
from creval.store import DATABASE, RunWriter
from creval.web.viewer.run_list import RunList, find_runs, open_viewer
from tests.web.made import write_run

HOSTILE = 'a "b" <i>&#?'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    whole = tmp_path / "runs"
    whole.mkdir()
    for name in ("first", HOSTILE):
        shutil.move(write_run(tmp_path / "made"), whole / name)
    (whole / "broken").mkdir()
    (whole / "broken" / DATABASE).write_bytes(b"no database at all" * 100)
    with RunWriter(whole / "edits") as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "editor": "openai:x", "judge": ""})
    return whole


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    pages = open_viewer(folder, {}, lambda _: None)
    assert isinstance(pages, RunList)
    yield TestClient(pages.app(), base_url="http://127.0.0.1:8000")
    pages.close()


def links(page: str) -> list[str]:
    return [unescape(href) for href in re.findall(r'(?:href|src)="([^"]*)"', page)]


def test_the_list_has_every_run_and_no_folder_of_edits(client: TestClient, folder: Path) -> None:
    assert [path.name for path in find_runs(folder)] == [HOSTILE, "broken", "first"]
    page = client.get("/").text
    assert "someone" in page
    assert "<i>" not in page
    assert "is not a run" in page, "unreadable runs are listed with the reason"
    assert [href for href in links(page) if href.startswith("/run/")] == [
        "/run/a%20%22b%22%20%3Ci%3E%26%23%3F/",
        "/run/first/",
    ]


def test_the_list_shows_titles_and_marks_rehearsals(client: TestClient, folder: Path) -> None:
    with RunWriter(folder / "first") as store, store.transaction():
        store.put_manifest({"title": "Rain and sun", "judge": "rehearsal:fake"})
    page = unescape(client.get("/").text)
    assert "Rain and sun (" in page
    assert "rehearsal:fake (rehearsal answers, not a judge's)" in page


@pytest.mark.parametrize("start", ["/run/first/", "/run/a%20%22b%22%20%3Ci%3E%26%23%3F/"])
def test_every_link_of_a_run_stays_in_it(client: TestClient, start: str) -> None:
    seen, left = set[str](), [start]
    while left:
        path = left.pop()
        answer = client.get(path)
        assert answer.status_code == 200, path
        seen.add(path)
        if "text/html" not in answer.headers["content-type"]:
            continue
        assert re.findall(r'action="/(?!run/)', answer.text) == []
        for href in links(answer.text):
            target = href.partition("#")[0]
            if target.startswith(("/static/", "../../")) or not target or target == "/":
                continue
            assert target.startswith(start), href
            if target not in seen and target not in left and len(seen) < 60:
                left.append(target)
    assert any("/sample?" in path for path in seen)
    assert any("/image?" in path for path in seen)
    page = client.get(f"{start}samples").text
    assert "../../" in links(page), "the link back to the list"


def test_folders_that_are_no_runs_have_an_error_page(client: TestClient) -> None:
    for path in ("/run/nothing/", "/run/..%2Ffirst/", "/run/broken/"):
        assert client.get(path).status_code == 404


def test_a_database_is_taken_as_its_run_and_a_folder_of_runs_says_which(folder: Path) -> None:
    from creval.store import open_run

    with open_run(folder / "first" / DATABASE) as run:
        assert run.folder == folder / "first"
        assert run.models == ("alpha", "beta")
    with pytest.raises(CrevalError, match=r"is not a run: it contains no creval\.db\. Give one of the runs in it: "):
        open_run(folder)
