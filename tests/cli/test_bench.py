"""Output of `creval bench`."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.own_samples.tables import WEATHER, write_samples
from tests.commands import creval


def test_registries_are_listed_in_paragraphs() -> None:
    shown = creval("bench").stdout
    assert "\\n" not in shown
    assert "\n\nprotocols: creval, " in shown


def test_a_benchmark_without_questions_has_no_table_of_questions(tmp_path: Path) -> None:
    folder = write_samples(tmp_path / "bench", WEATHER)
    assert "by weight" not in creval("bench", folder).stdout
    (folder / "questions.csv").write_text("sample,question\ncat0,Is it red?\n")
    assert "by weight" in creval("bench", folder).stdout
