"""Tests of missing edits in every command that scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import creval, parsed, right, wrong
from tests.stats import written
from tests.stats.test_missing import ANSWERS, DIMENSIONS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written.write(tmp_path_factory.mktemp("missing") / "run", ANSWERS, DIMENSIONS)


def test_the_table_lists_missing_edits(run: Path) -> None:
    lacking = "A has 1 missing edit: 1 refused (content filter: no).\nB has 1 missing edit: 1 absent.\n"
    failed = "Edits that are refused or absent count as failed: 0 in IF, VC and VQ."
    assert f"{lacking}Edits that are refused or absent are left out" in right("score", run)
    zero = right("score", run, "--missing", "zero")
    assert f"{lacking}{failed}" in zero
    assert "52.50" in zero
    assert f"\n{failed}" in right("score", run, "--missing", "zero", "--markdown")
    assert f"% {failed}\n" in right("score", run, "--missing", "zero", "--latex")
    common = right("score", run, "--common-samples")
    assert "Scored on the 2 of 4 samples that all 2 models have a score for." in common


def test_json_lists_missing_edits(run: Path) -> None:
    zero = parsed("score", run, "--missing", "zero", "--by", "overall")
    assert zero["missing"] == "zero"
    assert zero["missing_edits"]["A"] == {"refused": [{"reason": "content filter: no", "edits": 1}]}
    assert zero["models"]["A"]["overall"]["S"]["value"] == pytest.approx(52.5)
    common = parsed("score", run, "--common-samples")
    assert (common["samples"], common["common_of"]) == (2, 4)
    compared = parsed("compare", run, "A", "B", "--missing", "zero")
    assert compared["missing"] == "zero"
    assert compared["differences"]["overall"]["S"]["value"] == pytest.approx(-12.5)
    assert "missing edits counted as failed" in compared["sentences"][0]


def test_all_commands_apply_the_policy(run: Path, tmp_path: Path) -> None:
    zero = ("--missing", "zero", "--resamples", "100")
    right("plot", run, "forest", "--out", tmp_path / "f.svg", *zero)
    assert "missing edits counted as failed" in (tmp_path / "f.svg").read_text(encoding="utf-8")
    right("export", run, "--out", tmp_path / "out", *zero)
    assert "count as failed: 0 in IF" in (tmp_path / "out" / "README.md").read_text("utf-8")
    rows = (tmp_path / "out" / "sample_scores.csv").read_text("utf-8").splitlines()
    (row,) = [row for row in rows if row.startswith("A,s3,") and ",S," in row]
    assert row.endswith(",S,0.0,4,4")
    right("report", run, "--out", tmp_path / "r.html", "--common-samples", "--resamples", "100")
    assert "Scored on the 2 of 4 samples" in (tmp_path / "r.html").read_text("utf-8")
    weighed = creval("sensitivity", run, "--missing", "zero")
    assert "count as failed: 0 in IF" in weighed.stderr
    assert "B comes first at" in weighed.stdout


def test_wrong_usage_is_an_error(run: Path, miniature_run: Path) -> None:
    assert "takes exclude or zero, not 'nil'" in wrong("score", run, "--missing", "nil")
    assert "choose one" in wrong("report", run, "--missing", "zero", "--common-samples")
    assert "a replay of recorded answers does not know" in wrong("score", miniature_run, "--missing", "zero")
    assert "Only --seed can be used with it" in wrong("plot", run, "repeats", "--missing", "zero", "--out", "x.svg")
