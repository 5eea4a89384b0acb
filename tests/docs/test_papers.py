"""The commands of the page about the papers, each run once, in the page's order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import creval
from tests.docs.inputs import Inputs
from tests.docs.markdown import ROOT
from tests.docs.shell import NEEDS_HUB, Shell

_PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
_PAPERS = ("CREval", "Complex-Edit", "ICE-Bench", "ComplexBench-Edit")
# The figures and tables of each paper; an S or a "supplement" is of its supplement.
_NUMBERED = {
    "CREval": {
        "Figure": [*map(str, range(1, 6)), *(f"S{number}" for number in range(1, 15))],
        "Table": ["1", "2", "3", "S1", "S2", "S3"],
    },
    "Complex-Edit": {"Figure": [*map(str, range(1, 24))], "Table": [*map(str, range(1, 10))]},
    "ICE-Bench": {
        "Figure": [*map(str, range(1, 6)), *(f"supplement {number}" for number in range(1, 8))],
        "Table": [*map(str, range(1, 6)), *(f"supplement {number}" for number in range(1, 9))],
    },
    "ComplexBench-Edit": {"Figure": [*map(str, range(1, 7))], "Table": ["1", "2", "3", "4"]},
}
_ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


class Item(NamedTuple):
    """What a paper did, and where: its number on the page, and the cell with the commands."""

    number: int
    where: str
    what: str
    how: str

    @property
    def commands(self) -> list[str]:
        return re.findall(r"`(creval [^`]+)`", self.how)

    @property
    def is_missing(self) -> bool:
        return self.how.startswith("not yet")

    @property
    def needs_downloads(self) -> bool:
        return self.how.endswith("†")


def _items(paper: str) -> list[Item]:
    section = _PAGE.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    return [Item(int(number), *cells) for number, *cells in _ROW.findall(section)]


_ALL_ITEMS = [item for paper in _PAPERS for item in _items(paper)]


def test_all_items_are_listed() -> None:
    assert [item.number for item in _ALL_ITEMS] == list(range(1, 145))
    assert [item for item in _ALL_ITEMS if not item.commands and not item.is_missing] == []


@pytest.mark.parametrize("paper", _PAPERS)
def test_every_figure_and_table_is_listed(paper: str) -> None:
    listed: dict[str, set[str]] = {"Figure": set(), "Table": set()}
    for place in (place for item in _items(paper) for place in item.where.split(";")):
        prefix = "supplement " if "supplement" in place else ""
        for kind, text in re.findall(r"(Figure|Table)s? (S?\d+(?:(?: to | and |, )S?\d+)*)", place):
            for first, last in re.findall(r"(S?\d+)(?: to (S?\d+))?", text):
                letter = "S" if first.startswith("S") else ""
                numbers = range(int(first.strip("S")), int((last or first).strip("S")) + 1)
                listed[kind] |= {f"{prefix}{letter}{number}" for number in numbers}
    assert listed == {kind: set(numbers) for kind, numbers in _NUMBERED[paper].items()}


def test_commands_that_need_downloads_are_marked() -> None:
    for item in _ALL_ITEMS:
        assert item.needs_downloads == any(NEEDS_HUB.search(command[7:]) for command in item.commands), item


def test_counts_on_the_page() -> None:
    missing = sum(item.is_missing for item in _ALL_ITEMS)
    parsed = sum(item.needs_downloads for item in _ALL_ITEMS)
    assert f"\n{144 - missing - parsed} items run offline" in _PAGE
    assert f"Of {parsed} items (†)" in _PAGE
    assert f"{missing} items cannot be done yet" in _PAGE


@pytest.mark.slow
@pytest.mark.parametrize("paper", _PAPERS)
def test_commands_of_a_paper(paper: str, inputs: Inputs, tmp_path: Path) -> None:
    with Shell("papers", tmp_path, inputs) as shell:
        for command in dict.fromkeys(command for item in _items(paper) for command in item.commands):
            try:
                shell.run(command, fast=True)
            except AssertionError as error:
                raise AssertionError(f"{command}\n{error}") from error


def test_averages_on_the_page_of_complexbench_edit() -> None:
    page = (ROOT / "docs" / "benchmarks" / "complexbench-edit.md").read_text(encoding="utf-8")
    values = creval.published("complexbench-edit").frame().filter(pl.col("table").is_in(["Table 2", "Table 4"]))
    rows = re.findall(r"^\| (.+) \| (.+) \| (\d+\.\d{3}) \| (.+) \| (.+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert {name for name, *_ in rows} == set(values["model"])
    for name, *cells in rows:
        for at, metric in enumerate(("score", "L1", "L2")):
            of = values.filter(model=name, metric=metric)
            printed, computed = map(float, cells[2 * at : 2 * at + 2])
            assert of.filter(group="overall")["value"].to_list() == [printed]
            assert computed == pytest.approx(of.filter(pl.col("group") != "overall")["value"].mean(), abs=1e-7)
            assert computed == pytest.approx(printed, abs=0.01 if metric == "score" else 0.0001)
