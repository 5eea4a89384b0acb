"""A small version of ICE-Bench's release: all 31 tasks with drawn images, and models' edits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from creval.benchmarks.ice_bench.tasks import TASKS, Task

SIZE = (96, 73)  # real images also have odd heights
COLOURS = ("crimson", "teal", "gold", "navy", "olive", "orchid")


def identity(task: Task, number: int) -> str:
    """Return an item's id, which looks like a digest as in the release."""
    return hashlib.md5(f"{task.number}/{number}".encode(), usedforsecurity=False).hexdigest()


def drawn(seed: int, size: tuple[int, int] = SIZE) -> Image.Image:
    """Draw a sky, a ground and some shapes."""
    chance = np.random.default_rng(seed)
    wide, high = size
    sky, ground, *shapes = chance.permutation(COLOURS).tolist()
    image = Image.new("RGB", size, sky)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, high * 2 // 3, wide, high), ground)
    for shape in shapes:
        x, y, r = chance.integers((0, 0, 8), (wide, high, 20)).tolist()
        (draw.ellipse if r % 2 else draw.rectangle)((x - r, y - r, x + r, y + r), shape)
    return image


def mask() -> Image.Image:
    """Return a mask with a white centre."""
    made = Image.new("L", SIZE, 0)
    wide, high = SIZE
    ImageDraw.Draw(made).rectangle((wide // 4, high // 4, wide // 2, high // 2), 255)
    return made


def source_of(task: Task, seed: int) -> Image.Image:
    """Return the source of a task: an image or a control map."""
    image = drawn(seed)
    made = {
        "pose": lambda: image.convert("L").point(lambda v: 255 * (v > 128)),
        "canny": lambda: image.convert("L").filter(ImageFilter.FIND_EDGES),
        "depth": lambda: image.convert("L").filter(ImageFilter.GaussianBlur(6)),
        "grey": lambda: image.convert("L"),
        "ssim": lambda: image.filter(ImageFilter.GaussianBlur(2)),
    }.get(task.control_metric, lambda: image)()
    return made.convert("RGB")


def write_release(folder: Path, each: int = 3, *, inside: str = "dataset", start: str = "") -> Path:
    """Write a release with a number of items per task. Image paths begin with `start`."""
    home = folder / inside
    lines = []
    for task in TASKS.values():
        for number in range(each):
            name = identity(task, number)
            where = f"images/{task.group}/{task.name}".lower().replace(" ", "_")
            (home / where).mkdir(parents=True, exist_ok=True)
            seed = 100 * task.number + number
            images = {
                "src": source_of(task, seed) if task.has_source else None,
                "mask": mask() if task.has_mask else None,
                "ref1": drawn(seed + 50) if task.reference_metric else None,
            }
            paths = dict.fromkeys(images, "")
            for kind, image in images.items():
                if image is not None:
                    paths[kind] = f"{start}{where}/{name}_{kind}.png"
                    image.save(home / where / f"{name}_{kind}.png")
            words = f"Make it {COLOURS[number % len(COLOURS)]}"
            words += " in <SOURCE>" * task.has_source + " as in <REF_1>" * bool(task.reference_metric) + "."
            lines.append(
                {
                    "ItemID": name,
                    "TaskLevel1": task.category,
                    "TaskLevel2": task.group,
                    "Task": task.release_name,
                    "SourceImageType": ("Real Image", "Generated Image")[number % 2] if task.has_source else "",
                    "RegionBased": task.has_mask,
                    "SourceImage": paths["src"],
                    "SourceMask": paths["mask"],
                    "ReferenceImages": [paths["ref1"]] if paths["ref1"] else [],
                    "Instruction": words,
                    "SourceCaption": "some shapes" if task.has_source else "",
                    "TargetCaption": f"some {COLOURS[number % len(COLOURS)]} shapes",
                }
            )
    write_lines(home / "data.jsonl", lines)
    return folder


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_edits(
    release: Path, folder: Path, *, supports: Callable[[Task], bool] = bool, listed: bool = False, seed: int = 1
) -> Path:
    """Write a model's edits: the sources with one more shape, named by id or `listed` as by the authors.

    Unsupported tasks are declared in a file.
    """
    chance = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    entries = {}
    lines = read_lines(release / "dataset" / "data.jsonl")
    tasks = {task.release_name: task for task in TASKS.values()}
    for at, line in enumerate(lines):
        if not supports(tasks[line["Task"]]):
            continue
        path = release / "dataset" / line["SourceImage"]
        image = Image.open(path).convert("RGB") if line["SourceImage"] else drawn(seed + at)
        x, y = chance.integers((0, 0), SIZE).tolist()
        ImageDraw.Draw(image).ellipse((x - 9, y - 9, x + 9, y + 9), COLOURS[at % len(COLOURS)])
        name = f"{at}.png" if listed else f"{line['ItemID']}.png"
        image.save(folder / "images" / name)
        entries[line["ItemID"]] = f"results/{folder.name}/images/{name}"
    if listed:
        (folder / "gen_info.json").write_text(json.dumps(entries))
    unsupported = [task.name for task in TASKS.values() if not supports(task)]
    (folder / "unsupported.txt").write_text("# cannot be done\n" + "\n".join(unsupported))
    return folder
