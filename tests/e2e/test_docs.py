"""The complete examples in the documentation, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import creval
from creval.cli import demo
from creval.touchstone.builder import build_touchstone

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_measuring_the_demos_edits(tmp_path: Path) -> None:
    (block,) = (block for block in blocks("reference/metrics.md", "console") if "creval-demo" in block)
    command, _, shown = block.partition("\n")
    made = tmp_path / "creval-demo"
    samples = signature(demo.demo).parameters["samples"].default
    build_touchstone(made / "bench", samples, demo._SEED, edits=made / "edits", editors=("lazy", "clumsy"))
    arguments = command.removeprefix("$ creval ").split()
    done = subprocess.run(
        [sys.executable, "-m", "creval", *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == lines(shown)
    assert (tmp_path / "values.csv").is_file()


def test_the_python_api(tmp_path: Path) -> None:
    (code,) = blocks("reference/api.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "faithful has " in done.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {"forest.svg", "report.html", "export"}


def test_every_public_name_is_in_the_page_of_the_api() -> None:
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    assert not [name for name in creval.__all__ if not re.search(rf"`(\w+\.)?{name}\b", page)]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_metric_of_the_page_for_contributors(tmp_path: Path) -> None:
    code = blocks("CONTRIBUTING.md", "python")[0]
    found: dict[str, Any] = {}
    exec(code, found)
    for name, colours in (("flat", (0, 0, 0)), ("edge", (0, 0, 255))):
        image = Image.new("RGB", (2, 2), "black")
        image.putpixel((1, 0), colours)
        image.putpixel((1, 1), colours)
        image.save(tmp_path / f"{name}.png")
    values = {
        name: creval.measure({"sharpness": found["Sharpness"]()}, tmp_path / f"{name}.png").frame()["value"][0]
        for name in ("flat", "edge")
    }
    assert values["flat"] == 0
    assert values["edge"] == pytest.approx(29 / 255), "blue has a lightness of 29"
