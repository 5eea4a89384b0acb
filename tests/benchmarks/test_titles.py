"""Tests of titles: a built benchmark has its own name, and a release that of its format."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.benchmarks import TITLE_FILE, open_benchmark, read_title, write_title
from creval.core.errors import CrevalError
from creval.store.manifest import benchmark_title, describe_run
from tests.benchmarks.own_samples.tables import write_samples
from tests.commands import creval


def test_a_release_is_called_by_its_kind(miniature: Path) -> None:
    benchmark = open_benchmark(miniature)
    assert (benchmark.dataset.title, benchmark.title) == ("", "creval")


def test_a_built_benchmark_has_its_name_or_its_folders(tmp_path: Path) -> None:
    (tmp_path / "build.json").write_text("{}")
    assert read_title(tmp_path) == tmp_path.name
    write_title(tmp_path, "  Cats\n in the rain ")
    write_title(tmp_path, "")
    assert read_title(tmp_path) == "Cats in the rain"


@pytest.mark.parametrize("content", ["", "[1]", '{"name": 5}', '{"name": ["x"]}', "{broken", '{"name": "\\ud800"}'])
def test_a_hostile_title_file_is_harmless(content: str, tmp_path: Path) -> None:
    folder = write_samples(tmp_path)
    (folder / TITLE_FILE).write_text(content)
    assert open_benchmark(folder).title in (tmp_path.name, "5", "?")


def test_a_name_that_is_too_long_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="at most 100 are allowed"):
        write_title(tmp_path, "x" * 101)
    done = creval("build", "touchstone", "--out", tmp_path / "bench", "--samples", 2, "--name", "x" * 101)
    assert done.returncode == 2
    assert "--name has 101 characters" in done.stderr
    assert not (tmp_path / "bench").exists()


def test_building_with_a_name(tmp_path: Path) -> None:
    assert creval("build", "touchstone", "--out", tmp_path / "a", "--samples", 2, "--name", "Shapes").returncode == 0
    assert creval("build", "touchstone", "--out", tmp_path / "b", "--samples", 2).returncode == 0
    assert [open_benchmark(tmp_path / name).title for name in "ab"] == ["Shapes", "b"]
    assert "Shapes (creval): 2 samples" in creval("bench", tmp_path / "a").stdout


def test_a_run_keeps_the_name_and_an_older_one_has_its_kind(tmp_path: Path) -> None:
    manifest = describe_run(open_benchmark(write_samples(tmp_path / "cats")), "j")
    assert benchmark_title(manifest) == "cats"
    assert benchmark_title({"benchmark": "creval"}) == "creval"
