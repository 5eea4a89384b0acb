"""A small benchmark in the layout of CREval's release, with edits and answers of simulated models.

It is used by tests and measurements. The images are drawn. Each model has a given skill in each metric, which is the
probability that a recorded answer is right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS

MODELS: Mapping[str, tuple[float, float, float]] = {
    "Follower": (0.90, 0.60, 0.85),
    "Keeper": (0.45, 0.90, 0.85),
    "Careful": (0.85, 0.80, 0.90),
}
"""Probability that each model is right in IF, VC and VQ."""

_SUBJECTS = ("cat", "teapot", "bicycle", "lighthouse", "guitar", "owl", "bridge", "cactus")
_COLOURS = ("crimson", "teal", "gold", "navy", "olive", "orchid")
_TARGETS = (
    "a chibi figurine on a round base",
    "a postage stamp with a perforated edge",
    "a winged creature above the clouds",
    "a woodcut print with three colours",
    "a figure in festival dress",
    "a sculpture of clear glass",
    "a scene inside a snow globe",
    "the front of a cereal box",
    "a comic of two panels with a caption",
)
_ASKED = {
    "IF": (
        "Is the {subject} shown as {target}?",
        "Is the background {colour}?",
        "Is there exactly one {subject}?",
        "Is a thin {colour} frame drawn around the picture?",
        "Does the {subject} cast a shadow to the right?",
    ),
    "VC": (
        "Is the main subject still recognisable as a {subject}?",
        "Does the {subject} keep its proportions?",
        "Does the {subject} face the same way as before?",
        "Is the {subject} still in the middle of the picture?",
        "Is the light still from the left?",
    ),
    "VQ": (
        "Are the outlines of the {subject} unbroken?",
        "Is the picture free of noise and banding?",
        "Do all parts of the {subject} join where they should?",
        "Is the surface of the {subject} drawn evenly?",
        "Is the shadow plausible?",
    ),
}
_WEIGHTS = {"IF": (1, 1, 1, 1, 1), "VC": (3, 3, 2, 2, 1), "VQ": (1, 1, 1, 1, 1)}


def write_miniature(
    folder: Path, *, samples: int = 36, seed: int = 0, models: Mapping[str, tuple[float, float, float]] = MODELS
) -> Path:
    """Write `folder/bench`, edits in `folder/edits/MODEL` and recorded `folder/answers`."""
    generator, pencil = np.random.default_rng(seed), np.random.default_rng((seed, 1))
    entries = []
    for number in range(1, samples + 1):
        class_id = 1 + (number - 1) % len(CLASS_DIMENSIONS)
        words = {
            "subject": str(generator.choice(_SUBJECTS)),
            "colour": str(generator.choice(_COLOURS)),
            "target": _TARGETS[class_id - 1],
        }
        stem = f"mini_{number:03d}"
        _draw(folder / "bench" / "image" / f"{stem}.png", generator)
        for model in models:
            _draw(folder / "edits" / model / f"{stem}.png", pencil)
        entries.append(
            {
                "id": number,
                "input_prompt": "Turn the {subject} into {target} on a {colour} background, with a "
                "thin {colour} frame and a shadow to the right.".format(**words),
                "input_image": [f"image/{stem}.png"],
                "input_image_resolution": [96, 96],
                "class_id": class_id,
            }
        )
        for metric in METRICS:
            questions = _questions(metric, words)
            path = folder / "bench" / "questions_all" / metric / f"{stem}.json"
            _write(path, {"quality_check_questions": questions})
            for model, skill in models.items():
                right = generator.random(len(questions)) < skill[METRICS.index(metric)]
                path = folder / "answers" / metric / model / f"{stem}.json"
                _write(path, _answers(stem, questions, right.tolist()))
    _write(folder / "bench" / "instruction.json", entries)
    return folder


def _questions(metric: str, words: Mapping[str, str]) -> list[dict[str, object]]:
    asked = zip(_ASKED[metric], _WEIGHTS[metric], strict=True)
    return [
        {
            "question_id": f"Q{position}",
            "thinking_process": "",
            "question": question.format(**words),
            "choices": ["Yes", "No"],
            "answer": "Yes",
            "weight": weight,
        }
        for position, (question, weight) in enumerate(asked, 1)
    ]


def _answers(stem: str, questions: list[dict[str, object]], right: list[bool]) -> dict[str, object]:
    answered = [
        {
            "question_id": question["question_id"],
            "question": question["question"],
            "choices": question["choices"],
            "correct_answer": question["answer"],
            "explanation": "As the picture shows." if good else "The picture does not show it.",
            "weight": question["weight"],
            "model_answer": "Yes" if good else "No",
            "is_correct": good,
        }
        for question, good in zip(questions, right, strict=True)
    ]
    weights = [float(str(question["weight"])) for question in questions]
    score = sum(w for w, good in zip(weights, right, strict=True) if good) / sum(weights)
    return {"filename": stem, "questions": answered, "final_score": score}


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")


def _draw(path: Path, generator: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shades = [tuple(map(int, generator.integers(40, 220, 3))) for _ in range(3)]
    image = Image.new("RGB", (96, 96), shades[0])
    draw = ImageDraw.Draw(image)
    draw.ellipse((20, 20, 76, 76), fill=shades[1], outline=shades[2], width=3)
    image.save(path)
