"""Whether the text that an instruction wants is in the edit, and the text that is to go is gone.

What can be read is read by RapidOCR, which ships its models. Which texts are meant comes with the
measurement (`wanted`, `removed`), or from the instruction: they stand in quotation marks, or all
text of the source is to go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish
from creval.metrics.inputs import NO_REGION, Exhibit, Picture, Unmeasured
from creval.metrics.model_loading import Late, library
from creval.metrics.requested_text import Lettering, error_rate, lettering, plain

MODEL = ModelCard(
    "text", "RapidOCR's own", 27, "Apache-2.0", "https://github.com/RapidAI/RapidOCR", "shipped"
)
_GONE = 1 / 3
"""A text is gone where more than this share of it can no longer be read."""
_NO_SOURCE = "the source is needed to see what is gone, and there is none"
_SHORTEST = 2  # characters of a line in the source that is to go; less is noise


class Reader(Embedder):
    """RapidOCR: of a picture it makes the lines that it reads, from top to bottom, as JSON of what
    they say and where they are."""

    batch = 1

    def __init__(self) -> None:
        self.name = f"rapidocr {_version()} lines"
        self._model = Late(_engine)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        engine = self._model.get()
        read = [_lines(engine, thing) for thing in things if isinstance(thing, Picture)]
        return [np.frombuffer(json.dumps(lines).encode(), dtype=np.uint8) for lines in read]


def _version() -> str:
    try:
        return metadata.version("rapidocr")
    except metadata.PackageNotFoundError:
        return ""


def _engine() -> Any:
    library("onnxruntime", "text", "reading text")
    ocr = library("rapidocr", "text", "reading text")
    return ocr.RapidOCR(params={"Global.log_level": "critical"})


class Line(NamedTuple):
    """A line of text, and where its middle lies, as a share of width and height."""

    text: str
    x: float
    y: float


def _lines(engine: Any, picture: Picture) -> list[Line]:
    # It expects the order of colours that OpenCV has.
    found = engine(np.ascontiguousarray(np.asarray(picture.image)[..., ::-1]))
    if not found.txts:
        return []
    places = np.clip(np.mean(found.boxes, axis=1) / picture.image.size, 0, 1).tolist()
    return [Line(str(text), *place) for text, place in zip(found.txts, places, strict=True)]


class Text(Gauge):
    """Three values, as far as an instruction asks for them."""

    card = GaugeCard(
        "text",
        "whether wanted text is in the edit, and unwanted text is gone",
        (
            Metric("text_there", "share of the wanted texts that can be read", 0.0, 1.0),
            Metric("text_error", "character error rate of the wanted texts", 0.0, 1.0, False),
            Metric("text_gone", "share of the removed texts that are gone", 0.0, 1.0),
        ),
        "share",
        needs=("text", "mask"),
        models=(MODEL,),
        extra="text",
        packages=("rapidocr", "onnxruntime"),
        paper="RapidOCR; PP-OCR, arXiv 2009.09941",
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._reader = tools.share(Reader)
        self.name += f"@{self._reader.name.removesuffix(' lines')}"

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        texts = meant(exhibit)
        pictures = [exhibit.edit]
        if texts.removed or texts.all_removed:
            if exhibit.sample.source is not None:
                pictures.append(exhibit.source)
            elif not texts.wanted:
                raise Unmeasured(_NO_SOURCE)
        return [Wish(self._reader, picture) for picture in pictures]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:
        texts = meant(exhibit)
        edit, *source = [[Line(*line) for line in json.loads(bytes(lines))] for lines in made]
        read = "\n".join(line.text for line in edit)
        values = {}
        if texts.wanted:
            errors = [error_rate(text, read) for text in texts.wanted]
            values["text_there"] = sum(error == 0 for error in errors) / len(errors)
            values["text_error"] = sum(errors) / len(errors)
        if texts.removed or texts.all_removed:
            try:
                if not source:
                    raise Unmeasured(_NO_SOURCE)
                values["text_gone"] = _gone(texts, source[0], edit, exhibit)
            except Unmeasured as error:
                raise Unmeasured(str(error), values=values) from error
        return values


def _gone(
    texts: Lettering, source: Sequence[Line], edit: Sequence[Line], exhibit: Exhibit
) -> float:
    """The share of the texts to remove that are gone, of those that can be read in the source:
    what cannot be read there would be gone whatever the edit is."""
    there = _inside(source, exhibit)
    before, after = "\n".join(there), "\n".join(_inside(edit, exhibit))
    if texts.all_removed:
        removed = [line for line in there if len(plain(line)) >= _SHORTEST]
    else:
        removed = [text for text in texts.removed if error_rate(text, before) <= _GONE]
    if not removed:
        where = "in the source" if exhibit.mask is None else "in the mask's region of the source"
        raise Unmeasured(f"what is to go cannot be read {where}")
    return sum(error_rate(text, after) > _GONE for text in removed) / len(removed)


def _inside(lines: Sequence[Line], exhibit: Exhibit) -> list[str]:
    """The lines whose middle lies where the mask lets edit; all of them without one."""
    region = None if exhibit.mask is None else exhibit.region(exhibit.mask.image.size)
    if region is None:
        return [line.text for line in lines]
    if not region.any():
        raise Unmeasured(NO_REGION)
    height, width = region.shape
    return [
        line.text for line in lines if region[int(line.y * (height - 1)), int(line.x * (width - 1))]
    ]


def meant(exhibit: Exhibit) -> Lettering:
    """The texts that a measurement, or else the instruction, is about."""
    given = exhibit.parameters
    if "wanted" in given or "removed" in given:
        wanted, removed = (filter(plain, given.get(name, ())) for name in ("wanted", "removed"))
        found = Lettering(tuple(wanted), tuple(removed))
        lacking = "the texts to look for are empty"
    else:
        found = lettering(exhibit.sample.instruction)
        lacking = "the instruction names no text in quotation marks"
    if not any(found):
        raise Unmeasured(lacking)
    return found
