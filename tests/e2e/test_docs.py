"""The complete examples in the documentation, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import creval
from creval.cli import demo
from creval.testing.fake_chat_server import FakeServer
from creval.touchstone.builder import build_touchstone
from miniature import write_miniature
from tests.serving import serving

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_adding_a_protocol(tmp_path: Path) -> None:
    (code,), (project,) = blocks("adding-a-protocol.md", "python"), blocks("adding-a-protocol.md", "toml")
    assert len(code.splitlines()) + len(project.splitlines()) < 120
    bench = write_miniature(tmp_path / "bench", samples=9)
    instructions = bench / "bench" / "instruction.json"
    words = instructions.read_text(encoding="utf-8")
    instructions.write_text(words.replace('"input_prompt": "', '"input_prompt": "Write \'OPEN\'. '))
    # What pip would have installed.
    site = tmp_path / "site"
    (site / "lettering-1.0.dist-info").mkdir(parents=True)
    (site / "lettering.py").write_text(code, encoding="utf-8")
    (group,) = re.findall(r'entry-points\."(.+)"', project)
    named = project.rpartition("]\n")[2].replace('"', "")
    (site / "lettering-1.0.dist-info" / "METADATA").write_text("Name: lettering\nVersion: 1.0\n")
    (site / "lettering-1.0.dist-info" / "entry_points.txt").write_text(f"[{group}]\n{named}")

    def creval(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "creval", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    with serving(FakeServer().app()) as url:
        done = creval(
            "judge",
            bench,
            "--protocol",
            "lettering",
            "--edits",
            bench / "edits" / "Keeper",
            "--judge",
            f"openai:m@{url}/v1",
            "--run",
            tmp_path / "run",
        )
    assert done.returncode == 0, done.stderr
    scored = creval("score", tmp_path / "run", "--by", "overall,dimension", "--csv")
    assert scored.returncode == 0, scored.stderr
    rows = [line.split(",") for line in scored.stdout.splitlines()]
    assert {row[3] for row in rows[1:]} == {"words", "legible", "L"}
    values = {row[3]: float(row[4]) for row in rows[1:4]}
    assert abs(values["L"] - 0.7 * values["words"] - 0.3 * values["legible"]) < 1e-9
    missing = creval("judge", bench, "--protocol", "letering", "--edits", bench, "--run", tmp_path)
    assert "no protocol 'letering'; did you mean 'lettering'" in missing.stderr


def test_measuring_the_demos_edits(tmp_path: Path) -> None:
    (block,) = (block for block in blocks("gauges.md", "console") if "creval-demo" in block)
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
    (code,) = blocks("api.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "faithful has " in done.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {"forest.svg", "report.html", "export"}


def test_every_public_name_is_in_the_page_of_the_api() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    assert not [name for name in creval.__all__ if not re.search(rf"`(\w+\.)?{name}\b", page)]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]
