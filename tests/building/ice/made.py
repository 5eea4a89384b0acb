"""Images for all of ICE-Bench's tasks, in folders with the tasks' names, and items built from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

from creval.benchmarks.ice_bench.item_lines import BLANK_PATTERN
from creval.benchmarks.ice_bench.tasks import TASKS, Task
from creval.building.ice.builder import IceBuilder, IceBuildOptions
from creval.building.ice.files import IceItems
from creval.calls.settings import Settings
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.release_files import drawn, mask, source_of


def draw_task(folder: Path, task: Task, name: str = "a", seed: int = 0) -> None:
    """Write the images that a task needs, under one name."""
    home = folder / task.name
    home.mkdir(parents=True, exist_ok=True)
    seed += 100 * task.number
    if task.has_source or not task.reference_metric:
        source_of(task, seed).save(home / f"{name}.png")
    if task.has_mask:
        mask().save(home / f"{name}_mask.png")
    if task.reference_metric:
        drawn(seed + 50).save(home / f"{name}_ref1.png")


def draw(folder: Path, *names: str) -> Path:
    """Write images with the given names and any content."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6)).save(folder / name)
    return folder


def draw_all(folder: Path, each: int = 1) -> Path:
    """Write images for all 31 tasks."""
    for task in TASKS.values():
        for number in range(each):
            draw_task(folder, task, f"p{number}", number)
    return folder


def draw_plain(folder: Path, count: int) -> Path:
    """Write images without a task."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        drawn(number).save(folder / f"p{number:02d}.png")
    return folder


def building(images: Path, out: Path, url: str, wish: IceBuildOptions | None = None, **settings: Any) -> IceBuilder:
    spec = f"openai:w@{url}/v1"
    return IceBuilder(
        images,
        out,
        {"writer": spec, "captioner": spec},
        wish or IceBuildOptions(),
        Settings(**{"retries": 4, **settings}),
    )


def entries(out: Path) -> list[dict[str, Any]]:
    """Return the entries of a benchmark."""
    path = IceItems.items_file(out)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def put(out: Path, *lines: dict[str, object]) -> None:
    """Write the entries of a benchmark, as edited by hand."""
    (out / "dataset" / "data.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


class Unwilling(FakeServer):
    """A model for which no task suits."""

    def _write_reply(self, asked: Any, choice: int) -> str:
        said = super()._write_reply(asked, choice)
        return '{"unsuited": "why"}' if "Template: " in asked.text else said


class Heard(FakeServer):
    """A server that fills in templates correctly, records its requests, and counts their images."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)
        self.heard: list[str] = []
        self.shown = 0

    def _write_reply(self, asked: Any, choice: int) -> str:
        self.heard.append(asked.text)
        self.shown += len(asked.images_key.split("|")) if asked.images_key else 0
        if template := re.search(r"^Template: (.*)$", asked.text, re.MULTILINE):
            return json.dumps({"instruction": BLANK_PATTERN.sub("something red", template[1])})
        return super()._write_reply(asked, choice)
