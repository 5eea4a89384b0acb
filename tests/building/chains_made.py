"""Images, their objects, and scripted models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from creval.benchmarks.complexbench_edit.coco_boxes import AnnotatedObject, read_objects_by_filename
from creval.building.complex_edit.builder import ComplexEditBuilder
from creval.building.complexbench.builder import ComplexBenchBuilder
from creval.building.complexbench.objects import Detections
from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationFailedError

CATEGORIES = ("cat", "cup", "vase", "tv")
FITTING = [("cat", "cup", "vase", "cat"), ("cat", "cup", "tv"), ("tv", "cup", "vase")] * 2
"""Objects of images that are suitable for chains."""


class Script:
    """A model with scripted replies. `said` contains its requests."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.said = list(texts), list[str]()

    async def generate(self, _role: str, stage: str, prompt: Any, **places: Any) -> str:
        self.said.append(f"{stage}: {prompt.fill(**places)}")
        text = self.texts.pop(0)
        if not text:
            raise GenerationFailedError(f"{stage}: the model wrote nothing")
        return text


def draw_images(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        Image.new("RGB", (48, 36), (number * 9 % 255, 90, 140)).save(folder / f"p{number}.png")
    return folder


def annotated(folder: Path, objects: Sequence[Sequence[str]], crowds: Sequence[int] = ()) -> Path:
    """Write images, and a file of annotations with these objects in each of them, from left to right."""
    images = folder / "images"
    images.mkdir(parents=True)
    listed, found = [], []
    for number, names in enumerate(objects, 1):
        name = f"{number:012d}.jpg"
        Image.new("RGB", (80, 40), (number * 20, 90, 90)).save(images / name)
        listed.append({"id": number, "file_name": name, "width": 80, "height": 40})
        found += [
            {
                "image_id": number,
                "category_id": CATEGORIES.index(one),
                "bbox": [10 * at, 4, 8, 20],
                "iscrowd": int(number in crowds),
            }
            for at, one in enumerate(names)
        ]
    named = [{"id": at, "name": name} for at, name in enumerate(CATEGORIES)]
    path = folder / "instances.json"
    path.write_text(json.dumps({"images": listed, "annotations": found, "categories": named}))
    return path


def objects(*names: str) -> list[AnnotatedObject]:
    return [AnnotatedObject(name, (at / 10, 0.1, at / 10 + 0.1, 0.5)) for at, name in enumerate(names)]


def complex_edit(
    images: Path, out: Path, url: str, *, steps: int = 2, model: str = "m", **settings: Any
) -> ComplexEditBuilder:
    writer = f"openai:{model}@{url}/v1"
    return ComplexEditBuilder(images, out, writer, Settings(**settings), steps=steps)


def complexbench(
    folder: Path, out: Path, url: str, *, levels: Sequence[str] = ("parallel",), types: str = "", **settings: Any
) -> ComplexBenchBuilder:
    """Return a function that finds the objects in a folder of `annotated`."""
    roles = {"writer": f"openai:w@{url}/v1", "checker": f"openai:c@{url}/v1"}
    return ComplexBenchBuilder(
        folder / "images",
        out,
        roles,
        Settings(retries=4, **settings),
        lambda _: Detections(read_objects_by_filename(folder / "instances.json"), {}),
        levels=levels,
        types=types,
    )


def rows(bench: Path) -> dict[str, Any]:
    """Return the rows of a built Complex-Edit benchmark."""
    return {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted((bench / "built").glob("*.json"))
    }


def entries(bench: Path) -> dict[str, Any]:
    """Return the subsets of a built ComplexBench-Edit benchmark."""
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((bench / "data" / "instructions").glob("*/*.json"))
    }
