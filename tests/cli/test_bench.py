"""Output of `creval bench`."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.complex_edit import release_files
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


def test_operations_and_their_order(tmp_path: Path) -> None:
    folder = release_files.write_parquet(tmp_path / "chains", test_real=[release_files.row(n) for n in range(4)])
    done = creval("bench", folder, "--plot", tmp_path / "chains.svg")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "Color and Tone Adjustments Change Color 4 33.3 %" in lines
    assert "2 Color and Tone Adjustments 4 · · · · · · · ·" in lines
    assert "instructions: 5 to 5 words, median 5" in lines
    assert f"wrote {tmp_path / 'chains.svg'}" in done.stderr
    assert "<svg" in (tmp_path / "chains.svg").read_text(encoding="utf-8")


def test_a_plot_needs_a_benchmark_and_a_known_suffix(tmp_path: Path) -> None:
    assert "--plot needs the folder of a benchmark." in creval("bench", "--plot", "x.svg").stderr
    done = creval("bench", write_samples(tmp_path / "bench", WEATHER), "--plot", "x.gif")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--plot x.gif: give a file that ends in .svg, .png or .pdf." in done.stderr
