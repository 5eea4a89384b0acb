"""Tests of `creval build ice`: judging the result, tables, templates, and unusable images."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.building.ice.templates import TemplateSet
from creval.testing.fake_chat_server import FakeServer
from tests.building.ice.made import draw, draw_all, draw_plain, entries
from tests.commands import creval
from tests.serving import serving


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a benchmark of 31 tasks with a writer and a captioner."""
    folder = tmp_path_factory.mktemp("built")
    draw_all(folder / "in")
    (folder / "in" / "Inpaintings").mkdir()
    Image.new("RGB", (9, 9)).save(folder / "in" / "Inpaintings" / "x.png")
    with serving(FakeServer(seed=6).app()) as url:
        command = (
            "build",
            "ice",
            "--images",
            folder / "in",
            "--writer",
            f"openai:w@{url}/v1",
            "--captioner",
            f"openai:c@{url}/v1",
            "--retries",
            5,
            "--source-type",
            "real",
            "--max-unanswered",
            "20",
            "--out",
        )
        dry = creval(*command, folder / "bench", "--dry-run", "--json")
        assert not (folder / "bench").exists()
        told = json.loads(dry.stdout)
        assert [made["calls"] for made in told["estimates"]] == [27, 59]
        done = creval(*command, folder / "bench", "--json")
    assert done.returncode == 0, done.stderr
    assert "the folder 'Inpaintings' names no task, so its images can get any task." in done.stderr
    told = json.loads(done.stdout)
    assert told["made"] + len(told["left_out"]) == 32
    assert sum(sum(group.values()) for group in told["tasks"].values()) == told["made"]
    return folder / "bench"


def test_the_built_benchmark_has_no_problems(built: Path) -> None:
    found = json.loads(creval("bench", built, "--json").stdout)
    assert found["samples"] == len(entries(built)) > 26
    assert {problem["rule"] for problem in found["problems"]} <= {"no items"}


def test_the_built_benchmark_can_be_judged(built: Path, tmp_path: Path) -> None:
    edits = tmp_path / "Model"
    edits.mkdir()
    for sample in open_benchmark(built).dataset.samples:
        Image.new("RGB", (96, 73), "red").save(edits / f"{sample.id}.png")
    with serving(FakeServer().app()) as url:
        done = creval(
            "judge",
            built,
            "--edits",
            edits,
            "--judge",
            f"openai:n@{url}/v1",
            "--run",
            tmp_path / "run",
            "--metrics",
            "SRC,PF",
        )
    assert "edits are measured" in done.stderr, done.stderr
    assert '"judge": "openai:n"' in creval("score", tmp_path / "run", "--json").stdout


def test_a_dry_run_lists_unusable_images(tmp_path: Path) -> None:
    images = draw(draw_plain(tmp_path / "in", 1), *(f"Inpainting/{n}.png" for n in range(10)))
    done = creval(
        "build",
        "ice",
        "--images",
        images,
        "--out",
        tmp_path / "bench",
        "--writer",
        "openai:w@http://127.0.0.1:9/v1",
        "--dry-run",
        "--json",
    )
    told = json.loads(done.stdout)
    assert len(told["left_out"]) == 10
    assert told["left_out"]["Inpainting/3.png"] == "Inpainting needs a mask (NAME_mask.png)"
    assert done.stderr.count("needs a mask") == 8


def test_the_table_of_tasks(tmp_path: Path) -> None:
    with serving(FakeServer(seed=2).app()) as url:
        writer = f"openai:w@{url}/v1"
        common = ("build", "ice", "--images", draw_plain(tmp_path / "in", 3), "--writer", writer)
        done = creval(*common, "--out", tmp_path / "bench", "--each", 2, "--retries", 5)
        assert done.returncode == 0, done.stderr
        assert "6 items of 6 tasks." in done.stdout
        assert "No items: " in done.stdout
        assert "Now: creval bench" in done.stderr
        people = creval(*common, "--out", tmp_path / "people", "--fill", "people", "--tasks", "5")
        assert "3 items of 1 task, of which 3 are not filled in yet." in people.stdout
        assert "Fill in 3 templates: creval review" in people.stderr
        assert "Now: creval bench" not in people.stderr


def test_templates_are_printed_in_the_input_format(tmp_path: Path) -> None:
    shown = creval("prompts", "ice_templates").stdout
    assert json.loads(shown)["Text Removal"][0] == "Remove all text from <SOURCE>."
    assert "ice_templates" in creval("prompts").stdout
    creval("prompts", "ice_templates", "--out", tmp_path)
    path = tmp_path / "ice_templates.json"
    assert path.read_text(encoding="utf-8") == shown
    assert TemplateSet(path).version == TemplateSet().version
    assert creval("prompts", "ice_templates", "--out", tmp_path).returncode == 2


def test_no_writer_is_needed_if_people_fill_in_templates(tmp_path: Path) -> None:
    images = draw_plain(tmp_path / "in", 1)
    common = ("build", "ice", "--images", images, "--out", tmp_path / "bench", "--tasks", "5")
    for arguments in ((), ("--fill", "people"), ("--captioner", "openai:c")):
        done = creval(*common, *arguments)
        assert (done.returncode, "give --writer" in done.stderr) == (2, True)
    with serving(FakeServer(seed=2).app()) as url:
        captioner = f"openai:c@{url}/v1"
        done = creval(*common, "--fill", "people", "--captioner", captioner, "--retries", 5)
    assert done.returncode == 0, done.stderr
    assert "Fill in 1 template: creval review" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fill", "nobody"), "model"),
        (("--tasks", "Inpaintng"), "Inpainting"),
        (("--gauge", "depth=x"), "--derive"),
        (("--gauge", "clip=x", "--derive"), "depth=MODEL"),
        (("--source-type", "painted"), "generated"),
        (("--items", "none.csv"), "none.csv cannot be read"),
        (("--templates", "none.json"), "none.json cannot be read"),
        (("--images", "nowhere"), "--images nowhere is not a folder"),
        (("--max-unanswered", "x"), "takes a percentage"),
    ],
)
def test_wrong_usage_is_an_error(arguments: tuple[str, str], said: str, tmp_path: Path) -> None:
    draw_plain(tmp_path / "in", 1)
    done = creval(
        "build",
        "ice",
        "--images",
        tmp_path / "in",
        "--out",
        tmp_path / "bench",
        "--writer",
        "openai:w@http://127.0.0.1:9/v1",
        *arguments,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bench").exists()
