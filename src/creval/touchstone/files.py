"""Touchstone on disk: a benchmark in the layout of CREval's release, and pictures that carry the
scene that they show."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin

from creval.benchmarks.creval.release import CLASSES, METRICS
from creval.core.errors import CrevalError
from creval.core.files import read_json
from creval.touchstone.questions import read_check
from creval.touchstone.render import draw
from creval.touchstone.samples import Asked, Requirement, Touchstone
from creval.touchstone.scene import SIDE, Extra, Scene, Small

SCENES = "touchstone.json"
"""The file in a benchmark's folder that says what its sources show and what is asked for."""
_KEY = "creval scene"  # of the text in a PNG file


def write_sample(folder: Path, sample: Touchstone) -> None:
    """Write the questions of a sample and draw its source."""
    for metric in METRICS:
        path = folder / "questions_all" / metric / f"{sample.id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = [_entry(at, asked) for at, asked in enumerate(sample.asked[metric], 1)]
        _write(path, {"quality_check_questions": entries})
    save_scene(sample.source, folder / "image" / f"{sample.id}.png")


def _entry(position: int, asked: Asked) -> dict[str, object]:
    return {
        "question_id": f"Q{position}",
        "question": asked.check.text,
        "choices": ["Yes", "No"],
        "answer": "Yes" if asked.answer else "No",
        "weight": asked.weight,
        "kind": asked.check.kind,
    }


def write_list(folder: Path, samples: Iterable[Touchstone]) -> None:
    """Write what makes a folder of samples a benchmark; the last thing to be written."""
    entries, scenes = [], []
    for number, sample in enumerate(samples, 1):
        entries.append(
            {
                "id": number,
                "input_prompt": sample.instruction,
                "input_image": [f"image/{sample.id}.png"],
                "input_image_resolution": [SIDE, SIDE],
                "class_id": 1 + CLASSES.index(sample.dimension),
                "steps": list(sample.steps),
            }
        )
        required = [
            {"words": required.words, "changes": _plain(required.changes)}
            for required in sample.requirements
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
    _write(folder / SCENES, scenes)
    _write(folder / "instruction.json", entries)


def _plain(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: [asdict(thing) for thing in value] if isinstance(value, tuple) else value
        for name, value in changes.items()
    }


def read_samples(folder: Path) -> list[Touchstone]:
    """The samples of a benchmark that `write_list` wrote."""
    path = folder / SCENES
    if not path.is_file():
        raise CrevalError(
            f"{folder} holds no {SCENES}: only touchstone knows what its pictures show "
            "(creval build touchstone --out DIR)."
        )
    return [_sample(folder, entry) for entry in read_json(path)]


def _sample(folder: Path, entry: Mapping[str, Any]) -> Touchstone:
    things = {"extras": Extra, "others": Small}
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
    asked: dict[str, tuple[Asked, ...]] = {}
    for metric in METRICS:
        content = read_json(folder / "questions_all" / metric / f"{entry['id']}.json")
        found = []
        for question in content["quality_check_questions"]:
            check = read_check(question["question"])
            if check is not None:
                found.append(Asked(check, question["answer"] == "Yes", question["weight"]))
        asked[metric] = tuple(found)
    return Touchstone(
        entry["id"],
        entry["dimension"],
        Scene.from_json(entry["source"]),
        requirements,
        entry["instruction"],
        asked,
    )


def save_scene(scene: Scene, path: Path) -> None:
    """Draw a scene into a file."""
    save_picture(draw(scene), scene, path)


def save_picture(picture: Image.Image, scene: Scene, path: Path) -> None:
    """Write a PNG file that also says, in a text beside the pixels, what it shows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = PngImagePlugin.PngInfo()
    text.add_text(_KEY, json.dumps(scene.as_json()))
    picture.save(path, "PNG", pnginfo=text, compress_level=3)


def scene_in(content: bytes) -> Scene | None:
    """The scene that a file of `save_scene` shows, as it says itself."""
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as picture:
            text = picture.info.get(_KEY)
        return Scene.from_json(json.loads(text)) if isinstance(text, str) else None
    except Exception:  # a file of any kind; none but ours says anything
        return None


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")
