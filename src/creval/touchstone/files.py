"""Touchstone on disk: a benchmark in the layout of CREval's release. Each PNG file contains its scene as text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS
from creval.core.errors import CrevalError
from creval.core.files import read_json
from creval.touchstone.render import draw_scene
from creval.touchstone.samples import Requirement, TouchstoneQuestion, TouchstoneSample
from creval.touchstone.scene import IMAGE_SIDE, Extra, Scene, SmallObject
from creval.touchstone.scene_questions import parse_check

SCENES_FILE = "touchstone.json"
"""File in a benchmark's folder with the scenes of the sources and the requirements of the instructions."""
_PNG_TEXT_KEY = "creval scene"  # of the text chunk in a PNG file


def write_touchstone_sample(folder: Path, sample: TouchstoneSample) -> None:
    """Write the questions of a sample and draw its source."""
    for metric in METRICS:
        path = folder / "questions_all" / metric / f"{sample.id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = [_question_entry(at, asked) for at, asked in enumerate(sample.questions[metric], 1)]
        _write_json(path, {"quality_check_questions": entries})
    save_scene(sample.source, folder / "image" / f"{sample.id}.png")


def _question_entry(position: int, asked: TouchstoneQuestion) -> dict[str, object]:
    return {
        "question_id": f"Q{position}",
        "question": asked.check.text,
        "choices": ["Yes", "No"],
        "answer": "Yes" if asked.answer else "No",
        "weight": asked.weight,
        "kind": asked.check.kind,
    }


def write_sample_list(folder: Path, samples: Iterable[TouchstoneSample]) -> None:
    """Write the list of samples. This comes last, because it makes the folder a benchmark."""
    entries, scenes = [], []
    for number, sample in enumerate(samples, 1):
        entries.append(
            {
                "id": number,
                "input_prompt": sample.instruction,
                "input_image": [f"image/{sample.id}.png"],
                "input_image_resolution": [IMAGE_SIDE, IMAGE_SIDE],
                "class_id": 1 + CLASS_DIMENSIONS.index(sample.dimension),
                "steps": list(sample.steps),
            }
        )
        required = [
            {"words": required.words, "changes": _changes_to_json(required.changes)} for required in sample.requirements
        ]
        scenes.append(
            {
                "id": sample.id,
                "dimension": sample.dimension,
                "instruction": sample.instruction,
                "source": sample.source.as_json(),
                "requirements": required,
            }
        )
    _write_json(folder / SCENES_FILE, scenes)
    _write_json(folder / "instruction.json", entries)


def _changes_to_json(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: [asdict(thing) for thing in value] if isinstance(value, tuple) else value
        for name, value in changes.items()
    }


def read_touchstone_samples(folder: Path) -> list[TouchstoneSample]:
    """Read the samples of a benchmark written by `write_sample_list`."""
    path = folder / SCENES_FILE
    if not path.is_file():
        raise CrevalError(
            f"{folder} has no {SCENES_FILE}: this needs a touchstone benchmark (`creval build touchstone` creates one)."
        )
    return [_parse_sample(folder, entry) for entry in read_json(path)]


def _parse_sample(folder: Path, entry: Mapping[str, Any]) -> TouchstoneSample:
    things = {"extras": Extra, "others": SmallObject}
    requirements = tuple(
        Requirement(
            required["words"],
            {
                name: tuple(things[name](**thing) for thing in value) if name in things else value
                for name, value in required["changes"].items()
            },
        )
        for required in entry["requirements"]
    )
    asked: dict[str, tuple[TouchstoneQuestion, ...]] = {}
    for metric in METRICS:
        content = read_json(folder / "questions_all" / metric / f"{entry['id']}.json")
        found = []
        for question in content["quality_check_questions"]:
            check = parse_check(question["question"])
            if check is not None:
                found.append(TouchstoneQuestion(check, question["answer"] == "Yes", question["weight"]))
        asked[metric] = tuple(found)
    return TouchstoneSample(
        entry["id"], entry["dimension"], Scene.from_json(entry["source"]), requirements, entry["instruction"], asked
    )


def save_scene(scene: Scene, path: Path) -> None:
    """Draw a scene and save it as a PNG file."""
    save_image(draw_scene(scene), scene, path)


def save_image(image: Image.Image, scene: Scene, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_png(image, scene))


def encode_png(image: Image.Image, scene: Scene) -> bytes:
    """Return a PNG file that contains the scene as text."""
    text = PngImagePlugin.PngInfo()
    text.add_text(_PNG_TEXT_KEY, json.dumps(scene.as_json()))
    content = io.BytesIO()
    image.save(content, "PNG", pnginfo=text, compress_level=3)
    return content.getvalue()


def read_scene(content: bytes) -> Scene | None:
    """Return the scene stored in an image file by `save_scene`. Returns None for other files."""
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            text = image.info.get(_PNG_TEXT_KEY)
        return Scene.from_json(json.loads(text)) if isinstance(text, str) else None
    except Exception:  # the file may be of any kind and malformed in any way
        return None


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")
