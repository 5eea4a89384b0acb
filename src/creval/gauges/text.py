"""Whether the text that an instruction wants is in the edit, and the text that is to go is gone.

What can be read is read by RapidOCR, which ships its models. Which texts are meant comes with the
measurement (`wanted`, `removed`), or from the instruction: they stand in quotation marks, or all
text of the source is to go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

from creval.core.card import Metric
from creval.gauges.card import GaugeCard, ModelCard
from creval.gauges.embedding import Embedder, Thing, Vector, Wish
from creval.gauges.exhibit import Exhibit, Picture, Unmeasured
from creval.gauges.gauge import Gauge, Tools
from creval.gauges.late import Late, library
from creval.gauges.lettering import Lettering, error_rate, lettering, plain

MODEL = ModelCard(
    "text", "RapidOCR's own", 27, "Apache-2.0", "https://github.com/RapidAI/RapidOCR", "shipped"
)
_GONE = 1 / 3
"""A text is gone where more than this share of it can no longer be read."""
_SHORTEST = 2  # characters of a line in the source that is to go; less is noise


class Reader(Embedder):
    """RapidOCR: of a picture it makes the lines that it reads, from top to bottom, as JSON."""

    batch = 1

    def __init__(self) -> None:
        self.name = f"rapidocr {_version()}"
        self._engine = Late(_engine)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        engine = self._engine.get()
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


def _lines(engine: Any, picture: Picture) -> list[str]:
    # It expects the order of colours that OpenCV has.
    found = engine(np.ascontiguousarray(np.asarray(picture.image)[..., ::-1]))
    return [str(line) for line in found.txts or ()]


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
        needs=("text",),
        models=(MODEL,),
        extra="text",
        packages=("rapidocr", "onnxruntime"),
        paper="RapidOCR; PP-OCR, arXiv 2009.09941",
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._reader = tools.share(Reader)

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        pictures = [exhibit.edit]
        if meant(exhibit).all_removed:
            pictures.append(exhibit.source)
        return [Wish(self._reader, picture) for picture in pictures]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:
        texts = meant(exhibit)
        edit, *source = [json.loads(bytes(lines)) for lines in made]
        removed = texts.removed
        if source:
            removed = tuple(line for line in source[0] if len(plain(line)) >= _SHORTEST)
            if not removed:
                raise Unmeasured("no text can be read in the source")
        read = "\n".join(edit)
        values = {}
        if texts.wanted:
            errors = [error_rate(text, read) for text in texts.wanted]
            values["text_there"] = sum(error == 0 for error in errors) / len(errors)
            values["text_error"] = sum(errors) / len(errors)
        if removed:
            gone = [error_rate(text, read) > _GONE for text in removed]
            values["text_gone"] = sum(gone) / len(gone)
        return values


def meant(exhibit: Exhibit) -> Lettering:
    """The texts that a measurement, or else the instruction, is about."""
    given = exhibit.parameters
    if "wanted" in given or "removed" in given:
        found = Lettering(tuple(given.get("wanted", ())), tuple(given.get("removed", ())))
    else:
        found = lettering(exhibit.sample.instruction)
    if not any(found):
        raise Unmeasured("the instruction names no text in quotation marks")
    return found
