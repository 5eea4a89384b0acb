"""Tests of the documentation site: strict build, links and anchors."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from typer.main import get_command

from creval.cli import app

DOCS = Path(__file__).parents[2] / "docs"


class Anchors(HTMLParser):
    """Parser that collects the links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if (tag, name) in {("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")} and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("myst_parser")
    made = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-n", "-q", "-d", str(made / "doctrees"), "-b", "html"]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(made / "html")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return made / "html"


@pytest.mark.slow
def test_every_link_has_a_target(site: Path) -> None:
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = Anchors()
        pages[path].feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            to = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            if not to.exists() or (anchor and to in pages and unquote(anchor) not in pages[to].ids):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


@pytest.mark.slow
def test_no_external_resources_are_loaded(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert not re.findall(
            r'<(?:script|img|link|iframe)[^>]+(?:src|href)="https?:', path.read_text(encoding="utf-8")
        )


@pytest.mark.slow
def test_the_reference_has_every_command(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    root = get_command(app)
    for name, command in getattr(root, "commands", {}).items():
        assert command.hidden or f"creval {name}" in page
