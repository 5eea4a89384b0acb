"""Tests that extensions from packages and notebooks are listed and used like built-in ones."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import creval
from creval import registry
from creval.analysis.scoring import score
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.editing.edit_run import EditRun, StrategyOptions
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions
from creval.metrics.base import open_image_metrics
from tests.docs.markdown import ROOT, python_blocks, read_blocks, read_commands

PACKAGE = Path(__file__).parents[1] / "plugin_package"
_PAGE = ROOT / "docs" / "howto" / "extending.md"


def write_sketches(folder: Path, file: str = "sketches.json") -> Path:
    folder.mkdir()
    rows = []
    for number in range(4):
        Image.new("RGB", (32, 32), (60 * number, 90, 120)).save(folder / f"{number}.png")
        rows.append({"id": f"s{number}", "instruction": "erase stray lines", "image": f"{number}.png"})
    (folder / file).write_text(json.dumps(rows))
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder into which pip installed the package."""
    where = tmp_path_factory.mktemp("site")
    copy = tmp_path_factory.mktemp("source") / "package"
    files = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".toml")]
    for path in files:
        target = copy / path.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", "-q", *offline, "--target", str(where), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return where


@pytest.mark.slow
def test_an_installed_package(site: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-m", "creval", *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = run("bench")
    assert "sketches (creval-sketches): sketches to be tidied up" in listed
    for name in ("tidiness", "contrast", "fade", "traffic-light"):
        assert f"{name} (creval-sketches)" in listed
    (brightness,) = (one for one in json.loads(run("metrics", "--json"))["gauges"] if one["name"] == "brightness")
    assert (brightness["package"], brightness["ready"]) == ("creval-sketches", True)
    lines = {line.partition("@")[0]: line for line in run("prompts").splitlines()}
    assert lines["tidiness"].endswith("{{format}} {{images}} {{questions}}  (creval-sketches)")
    assert lines["sketch_note"].endswith("(creval-sketches)")
    assert "Look for stray lines." in run("prompts", "tidiness")

    bench = write_sketches(tmp_path / "sketches")
    (block,) = (block for block in read_blocks(_PAGE) if block.language == "console")
    for command in read_commands(block):
        run(*command.text.removeprefix("creval ").split())
    run("edit", bench, "--editor", "fade", "--out", "Black")
    run("prompts", "tidiness", "--out", "texts")
    text = tmp_path / "texts" / "tidiness.md"
    text.write_text(text.read_text().replace("stray lines", "smudges"))
    run(
        "judge",
        bench,
        "--edits",
        "White",
        "--edits",
        "Black",
        "--judge",
        "contrast",
        "--run",
        "run",
        "--prompts",
        "texts",
    )
    rows = csv.DictReader(run("score", "run", "--csv").splitlines())
    values = {(row["model"], row["metric"]): float(row["value"]) for row in rows}
    assert values["White", "tidy"] == values["White", "better"] == 100
    assert values["Black", "tidy"] == values["Black", "better"] == 0
    assert values["White", "bright"] > 0.8 > 0.2 > values["Black", "bright"]
    answer = creval.open_run(tmp_path / "run")
    assert all("smudges" in verdict.explanation for verdict in answer.answers("White") if verdict.probe == "tidy")
    measured = run("measure", "brightness", bench / "0.png", "--json")
    assert 0 < json.loads(measured)["brightness"] < 1


@pytest.fixture
def fresh_registries() -> Iterator[None]:
    """Undo all registrations after a test."""
    before = [dict(one._registered) for one in registry.REGISTRIES]
    yield
    for one, held in zip(registry.REGISTRIES, before, strict=True):
        one._registered.clear()
        one._registered.update(held)


def edit(bench: Benchmark, editor: Any, out: Path) -> None:
    more = (StrategyOptions(), EditorOptions(), EditSettings())
    edited = EditRun(bench, bench.dataset.samples, editor, out, *more).run()
    assert len(list(out.glob("*.png"))) == len(bench.dataset.samples), edited.strategy_result.edits


@pytest.mark.usefixtures("fresh_registries")
def test_one_file_with_decorators(tmp_path: Path) -> None:
    (code,) = python_blocks("howto/extending")
    made: dict[str, Any] = {"__name__": "posters"}
    exec(compile(code, "posters.py", "exec"), made)
    bench = creval.open_benchmark(write_sketches(tmp_path / "bench", "posters.json"))
    assert (bench.dataset.name, bench.protocol.name) == ("posters", "lettering")
    assert registry.protocols.origin("lettering") == registry.THIS_SESSION
    edit(bench, "invert", tmp_path / "Invert")
    edit(bench, lambda image: image.point(lambda _: 9), tmp_path / "Dark")
    edits = [tmp_path / "Invert", tmp_path / "Dark"]
    creval.judge(bench, edits, "light", tmp_path / "run")
    with creval.open_run(tmp_path / "run") as run:
        card = score(run)
    values = {(row["model"], row["metric"]): row["value"] for row in card.frame().iter_rows(named=True)}
    # The judge gives light edits the second answer: 2 of 1 to 5, and "edit".
    assert values["Invert", "legible"] == pytest.approx(25)
    assert (values["Invert", "better"], values["Dark", "better"]) == (100, 0)
    assert values["Invert", "L"] == pytest.approx(0.7 * 25 + 0.3 * 100)
    assert (values["Invert", "ink"], values["Dark", "ink"]) == (0, 1)


@pytest.mark.usefixtures("fresh_registries")
def test_objects_instead_of_names(tmp_path: Path) -> None:
    (code,) = python_blocks("howto/extending")
    made: dict[str, Any] = {"__name__": "posters"}
    exec(compile(code, "posters.py", "exec"), made)
    registry.protocols._registered.clear()
    bench = creval.open_benchmark(write_sketches(tmp_path / "bench", "posters.json"), made["Lettering"]())
    edit(bench, made["InvertEditor"](), tmp_path / "Invert")

    def always_first(questions: list[str], choices: list[object], edit: Image.Image) -> list[object]:
        assert edit.size == (32, 32)
        return [{"answer": choices[0], "explanation": question} for question in questions]

    creval.judge(bench, [tmp_path / "Invert"], [made["LightJudge"](), always_first], tmp_path / "run")
    with creval.open_run(tmp_path / "run") as run:
        assert run.manifest["judge"] == "panel:LightJudge+always_first"
        values = {(row["model"], row["metric"]): row["value"] for row in score(run).frame().iter_rows(named=True)}
    assert values["Invert", "legible"] == pytest.approx(12.5)  # 2 and 1 of 1 to 5
    found = open_image_metrics([made["Ink"], "ssim"], {})
    assert list(found) == ["ink", "ssim"]


def test_the_docs_show_the_package() -> None:
    (shown,) = (block.text for block in read_blocks(_PAGE) if block.language == "toml")
    assert shown in (PACKAGE / "pyproject.toml").read_text()


def test_names_that_are_taken_or_unknown() -> None:
    with pytest.raises(CrevalError, match="creval already has a built-in metric 'ssim'"):
        registry.metrics.register("ssim", object)  # type: ignore[arg-type]
    with pytest.raises(CrevalError, match="no editor 'fold'; did you mean 'folder'"):
        registry.editors.get("fold")
