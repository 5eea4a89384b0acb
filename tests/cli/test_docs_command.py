from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

import creval.cli.docs as docs
from tests.commands import creval


def test_topics_are_listed_with_their_titles() -> None:
    shown = creval("docs", "--text").stdout
    assert "judging " in shown
    assert "Judge edits with a multimodal model" in shown
    assert len(docs.find_pages()) == len({page.html for page in docs.find_pages().values()}), "each page has a topic"


def test_a_page_is_printed_in_the_terminal() -> None:
    done = creval("docs", "stopping", "--text")
    assert done.returncode == 0
    assert "--until-decided best" in done.stdout


def test_the_nearest_topic_is_suggested() -> None:
    done = creval("docs", "judgin")
    assert done.returncode == 2
    assert "did you mean 'judging'?" in done.stderr


def test_a_built_site_opens_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(docs, "_SITE", tmp_path)
    assert "make docs" in creval("docs", "judging").stderr, "nothing is built yet"
    (tmp_path / "_sources" / "howto").mkdir(parents=True)
    (tmp_path / "_sources" / "howto" / "judging.md.txt").write_text("# Judging\n")
    (tmp_path / "howto").mkdir()
    (tmp_path / "howto" / "judging.html").write_text("<h1>Judging</h1>")
    assert creval("docs", "judging").returncode == 0
    assert opened == [(tmp_path / "howto" / "judging.html").as_uri()]


def test_an_installation_without_pages_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "_SITE", tmp_path / "none")
    monkeypatch.setattr(docs, "_CHECKOUT", tmp_path / "none")
    assert "has no documentation" in creval("docs").stderr
