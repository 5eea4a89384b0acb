"""The reference pages against the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import creval
from creval import registry
from creval.benchmarks.own_samples import question_rows, sample_rows
from creval.core.edit_record import EditStatus
from creval.core.verdict import VerdictStatus
from creval.reporting.export.leaderboard import VERSION
from creval.store.database_schema import MIGRATIONS
from creval.store.stored_shapes import MANIFEST
from tests.docs.markdown import ROOT, python_blocks

_REFERENCE = ROOT / "docs" / "reference"
FILES = (_REFERENCE / "files.md").read_text(encoding="utf-8")


def _tables() -> Iterator[tuple[str, set[str]]]:
    """Yield each table of a store with its columns."""
    for name, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\)(?: WITHOUT ROWID)?;", "".join(MIGRATIONS), re.DOTALL):
        yield name, set(re.findall(r"(?:^|,)\s*(\w+) (?:TEXT|INTEGER|REAL|BLOB)", re.sub(r"\s+", " ", body)))
    assert len(MIGRATIONS) == 1, "the page describes schema version 1"


@pytest.mark.parametrize(
    ("table", "columns"), list(_tables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_tables_of_a_run_are_described(table: str, columns: set[str]) -> None:
    (row,) = re.findall(rf"^\| `{table}` \| (.*) \|$", FILES, re.MULTILINE)
    assert columns
    assert columns <= set(re.findall(r"`(\w+)`", row))


def test_manifest_keys_are_described() -> None:
    section = FILES.split("### Manifest\n")[1].split("\n### ")[0]
    described = set(re.findall(r"`(\w+)`", section))
    assert set(MANIFEST) - {"reported model"} <= described


def test_columns_of_own_samples_are_described() -> None:
    samples = FILES.split("\n## Samples\n")[1].split("\n## ")[0]
    for name in (*sample_rows.COLUMNS, *sample_rows.ALIASES):
        assert f"`{name}`" in samples
    questions = FILES.split("\n## Questions\n")[1].split("\n## ")[0]
    for name in question_rows.COLUMNS:
        assert f"`{name}`" in questions


def test_statuses_are_described() -> None:
    model = (ROOT / "docs" / "concepts" / "data-model.md").read_text(encoding="utf-8")
    edits, verdicts = model.split("\n## Status of a verdict\n")
    edits = edits.split("\n## Status of an edit\n")[1]
    assert re.findall(r"^\| `(\w+)` \|", verdicts, re.MULTILINE) == [str(status) for status in VerdictStatus]
    assert re.findall(r"^\| `(\w+)` \|", edits, re.MULTILINE) == [str(status) for status in EditStatus]


def test_the_version_of_leaderboard_files_is_described() -> None:
    assert f"Version {VERSION}." in FILES
    assert f'"creval": "{creval.__version__}"' in FILES


def test_every_public_name_is_in_the_api_page() -> None:
    page = (_REFERENCE / "api.md").read_text(encoding="utf-8")
    assert not [name for name in creval.__all__ if not re.search(rf"`(\w+\.)?{name}\b", page)]


def test_every_public_name_is_in_the_list_of_functions() -> None:
    page = (_REFERENCE / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"auto(?:function|class|exception):: (\w+)", page)) | {"Settings"}
    assert listed == set(creval.__all__)


def test_the_example_metric_of_the_contributing_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = {}
    exec(python_blocks("CONTRIBUTING")[0], found)
    monkeypatch.setattr(registry.metrics, "_registered", dict(registry.metrics._registered))
    registry.metrics.register("sharpness", found["Sharpness"])
    values = {}
    for name, color in (("flat", "black"), ("edge", "blue")):
        image = Image.new("RGB", (2, 2), "black")
        image.paste(color, (1, 0, 2, 2))
        image.save(tmp_path / f"{name}.png")
        measured = creval.measure("sharpness", tmp_path / f"{name}.png")
        values[name] = measured.frame()["value"][0]
    assert values["flat"] == 0
    assert values["edge"] == pytest.approx(29 / 255), "blue has a lightness of 29"
