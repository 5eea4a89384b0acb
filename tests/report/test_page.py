"""The page of a run."""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path

from creval.benchmarks import open_benchmark
from creval.engine.replay import replay
from creval.report.page import page, telling
from creval.store import Run, open_run
from miniature import write_miniature


class Reader(HTMLParser):
    """What a browser would make of a page: tags that are open and not closed, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.tags.append(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def test_scores_pictures_and_answers(small_run: Run) -> None:
    card = small_run.score(resamples=100)
    found = read(page(small_run, card, 100))
    words = " ".join(found.words)
    for system in card.systems:
        value = card.cell(system, "S").value
        assert value is not None
        assert f"{value:.2f}" in words
    assert found.tags.count("section") == 6
    assert found.tags.count("img") == 6, "the sources; a recording has no pictures of edits"
    assert "not asked" not in words


def test_samples_are_of_different_groups(small_run: Run) -> None:
    chosen = telling(small_run, small_run.score(resamples=100))
    assert len({small_run.samples[name].tags["dimension"] for name in chosen}) == 6


def test_whatever_texts_hold_stays_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b[31m\" onload='x"
    bench = write_miniature(tmp_path / "bench", samples=9)
    for path in [bench / "bench" / "instruction.json", *bench.rglob("questions_all/*/*.json")]:
        text = path.read_text()
        text = text.replace("Turn the", evil.replace('"', '\\"').replace("\x1b", "\\u001b"))
        path.write_text(text.replace("Is the ", "<img src=x onerror=alert(1)> Is the "))
    shutil.copytree(bench / "answers" / "IF" / "Keeper", bench / "answers" / "IF" / "<b>Keeper")
    replay(open_benchmark(bench), bench / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        text = page(run, run.score(resamples=100), 100)
    found = read(text)
    assert set(found.tags) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "table", "thead",
        "tbody", "tr", "th", "td", "span", "small", "section", "figure", "figcaption", "img",
        "details", "summary", "div",
    }  # fmt: skip
    assert "\x1b" not in text
    assert "<script>alert(1)</script>\\x1b[31m" in " ".join(found.words)
    assert "default-src 'none'" in text
