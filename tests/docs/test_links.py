"""Links between the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT, page_name, read_anchors, read_links

_GENERATED = {ROOT / "docs" / "reference" / "cli.md"}
_LINKING_PAGES = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "SECURITY.md"))]


@pytest.mark.parametrize("path", _LINKING_PAGES, ids=page_name)
def test_links_and_anchors_exist(path: Path) -> None:
    broken = []
    for link in read_links(path):
        if re.match(r"https?:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if target not in _GENERATED and (not target.exists() or (anchor and anchor not in read_anchors(target))):
            broken.append(link)
    assert not broken


def test_how_to_pages_are_in_the_index() -> None:
    folder = ROOT / "docs" / "howto"
    index = (folder / "index.md").read_text(encoding="utf-8")
    assert {path.stem for path in folder.glob("*.md")} - {"index"} == set(re.findall(r"\]\(([\w-]+)\.md\)", index))
