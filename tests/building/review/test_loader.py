"""Each kind of built folder has its review; other folders have none."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from creval.building.complex_edit.review import ComplexEditReview
from creval.building.complexbench.review import ComplexBenchReview
from creval.building.creval.review import CrevalReview
from creval.building.review.loader import open_review
from creval.core.errors import CrevalError
from creval.touchstone.builder import build_touchstone
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.building.creval.test_pipeline import build
from tests.building.made import Model, drawn


def rows(folder: Path) -> Path:
    """Return a built Complex-Edit benchmark."""
    (folder / "built").mkdir(parents=True)
    drawn(folder / "built", "0001")
    edit = {
        "sequence": [{"name": "Add an Object", "instruction": "Add a red kite."}],
        "compound": [{"compound_instruction": "Add a red kite."}],
    }
    content = json.dumps({"image": "0001.png", "edit": edit})
    (folder / "built" / "0001.json").write_text(content)
    return folder


def test_each_kind_has_its_review(tmp_path: Path) -> None:
    build(tmp_path, Model())
    bench = tmp_path / "bench"
    assert isinstance(open_review(bench), CrevalReview)
    (bench / "creval.db").unlink()
    assert isinstance(open_review(bench), CrevalReview), "under version control there is no database"
    chains = open_review(rows(tmp_path / "rows"))
    assert isinstance(chains, ComplexEditReview)
    assert len(chains.groups()) == 1
    release = write_release(tmp_path / "release")
    with pytest.raises(CrevalError, match="nothing to review"):
        open_review(release)
    for path in release.glob("data/instructions/*/*.json"):
        entries = json.loads(path.read_text())
        path.write_text(json.dumps({key: {**one, "made": {}} for key, one in entries.items()}))
    steps = open_review(release)
    assert isinstance(steps, ComplexBenchReview)
    assert len(steps.groups()) == 10


def test_a_review_is_called_as_its_benchmark(tmp_path: Path) -> None:
    build(tmp_path, Model())
    chains = rows(tmp_path / "rows")
    for folder in (tmp_path / "bench", chains):
        (folder / "benchmark.json").write_text('{"name": "Rain and sun"}')
    assert open_review(tmp_path / "bench").title == "Rain and sun"
    assert open_review(chains).title == "Rain and sun · Complex-Edit: atomic and compound instructions"


def test_folders_without_a_built_benchmark_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="not a folder"):
        open_review(tmp_path / "nowhere")
    with pytest.raises(CrevalError, match="nothing to review"):
        open_review(tmp_path)
    build_touchstone(tmp_path / "drawn", 2, 0)
    with pytest.raises(CrevalError, match="nothing to review"):
        open_review(tmp_path / "drawn")


def test_the_command(tmp_path: Path) -> None:
    folder = rows(tmp_path / "rows")
    command = [sys.executable, "-m", "creval", "review", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("reviewing Complex-Edit"), line
        with urllib.request.urlopen(re.findall(r"http://\S+", line)[0]) as page:
            assert b"0 of 2 items decided" in page.read()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=20)[1]
    finally:
        process.kill()
    assert (process.returncode, rest) == (0, "2 items left to decide.\n")
    wrong = [*command[:-1], str(tmp_path / "nowhere")]
    done = subprocess.run(wrong, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"creval: {tmp_path}/nowhere is not a folder.")
