"""Tests of both chain builders on the command line: left-out images are named, existing ones are not changed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.building.review.base import Review
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import annotated, draw_images
from tests.commands import Done, creval
from tests.serving import serving

SORRY = "I'm sorry, but I can't help with this picture."
THREE = ("cat", "cup", "vase")


class Refusing(FakeServer):
    """Server that refuses every request in plain text."""

    def build_reply(self, body: Any, asked: Any) -> dict[str, Any]:
        good = super().build_reply(body, asked)
        good["choices"][0]["message"]["content"] = SORRY
        return good


def chains(url: str, images: Path, out: Path, *more: object) -> Done:
    return creval(
        "build", "complex-edit", "--images", images, "--out", out, "--steps", 2, "--writer", f"openai:m@{url}/v1", *more
    )


def steps(url: str, folder: Path, out: Path, *more: object) -> Done:
    return creval(
        "build",
        "complexbench",
        "--images",
        folder / "images",
        "--coco",
        folder / "instances.json",
        "--out",
        out,
        "--writer",
        f"openai:w@{url}/v1",
        "--checker",
        f"openai:c@{url}/v1",
        "--retries",
        4,
        *more,
    )


def record(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "build.json").read_text(encoding="utf-8"))
    return found


def test_a_refusal_is_stored_in_the_manifest(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 2)
    with serving(Refusing().app()) as url:
        done = chains(url, images, tmp_path / "bench", "--json")
    assert done.returncode == 1
    why = f"sequence: the model declined: “{SORRY}”"
    assert f"p0.png is left out: {why}\n" in done.stderr
    assert "Now: creval bench" not in done.stderr
    told, held = json.loads(done.stdout), record(tmp_path / "bench")
    assert told["left_out"] == held["left_out"] == {"p0.png": why, "p1.png": why}
    assert held["rejected"]["p0.png"] == [why] * 3
    assert (held["system"], held["steps"]) == ("complex-edit", 2)


def test_the_same_command_gives_the_same_result(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 9)
    (images / "broken.png").write_bytes(b"none")
    with serving(FakeServer().app()) as url:
        ends = [chains(url, images, tmp_path / "bench", "--retries", 9, "--max-unanswered", "10") for _ in range(2)]
    assert [done.returncode for done in ends] == [0, 0], ends[1].stderr
    assert "broken.png is left out" in ends[1].stderr


def test_every_unused_image_is_reported(tmp_path: Path) -> None:
    file = annotated(tmp_path, [THREE] * 3 + [("cat",)])
    content = json.loads(file.read_text())
    images = tmp_path / "images"
    names = ["a.gif", "b.bmp", "c.heic", "d.jpg"]
    for entry, name in zip(content["images"], names, strict=True):
        (images / entry["file_name"]).unlink()
        entry["file_name"] = name
        if name in ("a.gif", "b.bmp"):
            Image.new("RGB", (80, 40), "red").save(images / name)
        else:
            (images / name).write_bytes(b"none")
    (images / "e.svg").write_text("<svg/>")
    Image.new("RGB", (9, 9)).save(images / "f.png")
    file.write_text(json.dumps(content))
    with serving(FakeServer(seed=3).app()) as url:
        done = steps(url, tmp_path, tmp_path / "bench", "--level", "parallel", "--json")
    told, held = json.loads(done.stdout), record(tmp_path / "bench")
    assert "1 image not kept: there are no annotations (f.png)." in done.stderr
    assert told["not_kept"] == held["not_kept"] == {"f.png": "there are no annotations"}
    assert sorted(told["left_out"]) == ["c.heic", "d.jpg", "e.svg"], "unreadable images, not unsuitable ones"
    assert held["left_out"] == told["left_out"]
    found = open_benchmark(tmp_path / "bench").dataset
    assert found.issues == ()
    sources = {sample.source.name for sample in found.samples if sample.source}
    assert sources == {"a-a.png", "b-b.png"}


def test_unusual_file_names(tmp_path: Path) -> None:
    annotated(tmp_path, [THREE] * 3)
    images = tmp_path / "images"
    long = "x" * 135 + ".jpg"
    os.rename(images / "000000000001.jpg", images / long)  # noqa: PTH104
    content = (tmp_path / "instances.json").read_text().replace("000000000001.jpg", long)
    content = content.replace("000000000003.jpg", "caf\\udce9.jpg")
    (tmp_path / "instances.json").write_text(content)
    os.rename(images / "000000000003.jpg", os.fsencode(images) + b"/caf\xe9.jpg")  # noqa: PTH104
    (images / "again").mkdir()
    shutil.copy(images / "000000000002.jpg", images / "again" / "2.jpg")
    shutil.copy(images / "000000000002.jpg", images / "again" / "000000000002.jpg")
    with serving(FakeServer(seed=3).app()) as url:
        more = ("--level", "two-chain", "--json")
        dry = steps(url, tmp_path, tmp_path / "bench", *more, "--dry-run")
        done = steps(url, tmp_path, tmp_path / "bench", *more)
    assert json.loads(dry.stdout)["samples"] == 3, "no call is planned for an image that cannot be stored"
    told = json.loads(done.stdout)
    assert told["made"] == 3, done.stderr
    why = "it would have the same key as 000000000002.jpg. Rename it."
    assert told["left_out"] == {"again/000000000002.jpg": why}
    assert len(open_benchmark(tmp_path / "bench").dataset.samples) == 3


def test_an_image_that_cannot_be_written_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotated(tmp_path, [THREE] * 2)

    def put(image: Path, path: Path) -> None:
        if image.stem.endswith("1"):
            raise OSError(36, "File name too long")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(image, path)

    monkeypatch.setattr("creval.building.complexbench.files.copy_image", put)
    with serving(FakeServer(seed=3).app()) as url:
        done = steps(url, tmp_path, tmp_path / "bench", "--level", "two-chain", "--json")
    told = json.loads(done.stdout)
    name = "two-chain: 000000000001.jpg"
    assert told["left_out"] == {name: "its image cannot be written: File name too long"}
    assert told["made"] == 1
    assert len(open_benchmark(tmp_path / "bench").dataset.samples) == 1


def test_another_benchmark_is_not_changed(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 2)
    annotated(tmp_path / "coco", [THREE])
    with serving(FakeServer().app()) as url:
        assert chains(url, images, tmp_path / "bench", "--retries", 9).returncode == 0
        into = steps(url, tmp_path / "coco", tmp_path / "bench")
        assert "already contains something else" in into.stderr
        for file in (tmp_path / "bench").glob("creval.*"):
            file.unlink()
        other = chains(url, images, tmp_path / "bench", "--seed", 3)
        assert "was started with another seed" in other.stderr, "according to its manifest"
        again = chains(url, images, tmp_path / "bench")
        assert "2 images already exist" in again.stderr
        for file in [*(tmp_path / "bench").glob("creval.*"), tmp_path / "bench" / "build.json"]:
            file.unlink()
        before = sorted(path.name for path in (tmp_path / "bench").rglob("*"))
        for done in (
            chains(url, images, tmp_path / "bench"),
            chains(url, images, tmp_path / "bench", "--dry-run"),
            steps(url, tmp_path / "coco", tmp_path / "bench"),
        ):
            assert done.returncode == 2
            assert "already contains another benchmark. Give another --out." in done.stderr
        assert before == sorted(path.name for path in (tmp_path / "bench").rglob("*"))
        assert chains(url, images, tmp_path / "bench" / "built" / "inside").returncode == 0


def test_an_unknown_cost_is_null(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 1)
    with serving(FakeServer().app()) as url:
        unknown = chains(url, images, tmp_path / "one", "--retries", 9, "--json")
        known = chains(url, images, tmp_path / "two", "--retries", 9, "--json", "--price", "1,1")
    assert json.loads(unknown.stdout)["cost"] is None
    assert json.loads(known.stdout)["cost"] > 0


def test_a_spent_budget_opens_no_review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Review] = []
    monkeypatch.setattr("creval.web.review.app.serve_review", opened.append)
    images = draw_images(tmp_path / "images", 6)
    with serving(FakeServer().app()) as url:
        more = ("--price", "1,1", "--concurrency", 1, "--retries", 9, "--review")
        stopped = chains(url, images, tmp_path / "bench", *more, "--budget", "0.02USD")
        assert (stopped.returncode, "the budget is spent" in stopped.stderr) == (1, True)
        assert opened == []
        assert chains(url, images, tmp_path / "bench", *more).returncode == 0
    assert len(opened) == 1


def test_no_table_without_samples(tmp_path: Path) -> None:
    annotated(tmp_path, [THREE])
    with serving(Refusing().app()) as url:
        done = steps(url, tmp_path, tmp_path / "bench", "--level", "two-chain", "--review")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Now: creval bench" not in done.stderr
