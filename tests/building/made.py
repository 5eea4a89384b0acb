"""A scripted model, and images to write about."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

from aiohttp import web
from PIL import Image

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.parsing.written_instructions import dimension_reply_format, instruction_reply_format
from creval.parsing.written_questions import question_reply_format

TOLD = "Turn the cat into a green jade lamp with four brass feet beneath a paper moon."
Says = Callable[[str, str], str]
"""Returns the reply for a stage (instruction, dimension, IF, VC, VQ, blind) and the text of the request."""


def drawn(folder: Path, *names: str) -> Path:
    """Return a folder of small images, all of them different."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names, 1):
        image = Image.new("RGB", (32, 24), (number % 256, number // 256, 99))
        image.save(folder / f"{name}.png")
    return folder


def stage_of(text: str) -> str:
    forms = [instruction_reply_format(*which) for which in product((CLASS_DIMENSIONS, ()), (True, False))]
    if any(form in text for form in forms):
        return "instruction"
    if dimension_reply_format(CLASS_DIMENSIONS) in text:
        return "dimension"
    return next((metric for metric in ("IF", "VC", "VQ") if question_reply_format(metric) in text), "blind")


def questions(metric: str, *texts: str, weight: int | None = 2) -> str:
    asked = texts or tuple(f"Is the {metric} part {word}?" for word in ["red", "blue", "tall", "old", "new"])
    entries = [{"question": text, "answer": "Yes", "weight": weight} for text in asked]
    return json.dumps({"questions": entries})


def usual(stage: str, text: str) -> str:
    """Return valid replies: before the edit, IF questions are answered with No and VC questions with Yes."""
    if stage == "instruction":
        return json.dumps({"instruction": TOLD, "dimension": "Surreal Fantasy"})
    if stage == "dimension":
        return "Surreal Fantasy"
    if stage != "blind":
        return questions(stage)
    lines = [line for line in text.splitlines() if line.startswith("Q")]
    said = {line.split(":")[0]: "No" if "IF part" in line else "Yes" for line in lines}
    return json.dumps({label: {"answer": answer} for label, answer in said.items()})


class Model:
    """A server with a model whose replies come from `says`."""

    def __init__(self, says: Says = usual) -> None:
        self.says = says
        self.asked: list[tuple[str, str]] = []

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        text = body["messages"][-1]["content"][-1]["text"]
        stage = stage_of(text)
        self.asked.append((stage, text))
        message = {"role": "assistant", "content": self.says(stage, text)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]})

    def stages(self) -> list[str]:
        return [stage for stage, _ in self.asked]
