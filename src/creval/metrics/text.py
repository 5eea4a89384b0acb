"""Whether the text that an instruction wants is in the edit, and the text that is to go is gone.

What can be read is read by RapidOCR, which ships its models. Which texts are meant comes with the measurement
(`wanted`, `removed`), or from the instruction: they stand in quotation marks, or all text of the source is to go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelPool
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureExtractor, FeatureRequest
from creval.metrics.metric_inputs import EMPTY_MASK, LazyImage, MetricInputs, NotMeasurable
from creval.metrics.model_loading import Lazy, ModelInfo, import_library
from creval.metrics.requested_text import (
    RequestedText,
    character_error_rate,
    find_requested_text,
    normalise_for_comparison,
)

MODEL = ModelInfo("text", "RapidOCR's own", 27, "Apache-2.0", "https://github.com/RapidAI/RapidOCR", "shipped")
_REMOVED_THRESHOLD = 1 / 3
"""A text is gone where more than this share of it can no longer be read."""
_NO_SOURCE = "the source is needed to see what is gone, and there is none"
_MIN_LINE_LENGTH = 2  # characters of a line in the source that is to go; less is noise


class TextReader(FeatureExtractor):
    """RapidOCR: of an image it makes the lines that it reads, from top to bottom, as JSON of texts and places."""

    batch_size = 1

    def __init__(self) -> None:
        self.name = f"rapidocr {_rapidocr_version()} lines"
        self._model = Lazy(_load_engine)

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        engine = self._model.get()
        read = [_read_lines(engine, thing) for thing in items if isinstance(thing, LazyImage)]
        return [np.frombuffer(json.dumps(lines).encode(), dtype=np.uint8) for lines in read]


def _rapidocr_version() -> str:
    try:
        return metadata.version("rapidocr")
    except metadata.PackageNotFoundError:
        return ""


def _load_engine() -> Any:
    import_library("onnxruntime", "text", "reading text")
    ocr = import_library("rapidocr", "text", "reading text")
    return ocr.RapidOCR(params={"Global.log_level": "critical"})


class TextLine(NamedTuple):
    """A line of text, and where its middle lies, as a share of width and height."""

    text: str
    x: float
    y: float


def _read_lines(engine: Any, image: LazyImage) -> list[TextLine]:
    # It expects the order of colours that OpenCV has.
    found = engine(np.ascontiguousarray(np.asarray(image.image)[..., ::-1]))
    if not found.txts:
        return []
    places = np.clip(np.mean(found.boxes, axis=1) / image.image.size, 0, 1).tolist()
    return [TextLine(str(text), *place) for text, place in zip(found.txts, places, strict=True)]


class TextAccuracy(ImageMetric):
    """Three values, as far as an instruction asks for them."""

    info = MetricInfo(
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

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self._reader = pool.get_or_create(TextReader)
        self.name += f"@{self._reader.name.removesuffix(' lines')}"

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        texts = get_requested_text(inputs)
        images = [inputs.edit]
        if texts.removed or texts.all_removed:
            if inputs.sample.source is not None:
                images.append(inputs.source)
            elif not texts.wanted:
                raise NotMeasurable(_NO_SOURCE)
        return [FeatureRequest(self._reader, image) for image in images]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:
        texts = get_requested_text(inputs)
        edit, *source = [[TextLine(*line) for line in json.loads(bytes(lines))] for lines in features]
        read = "\n".join(line.text for line in edit)
        values = {}
        if texts.wanted:
            errors = [character_error_rate(text, read) for text in texts.wanted]
            values["text_there"] = sum(error == 0 for error in errors) / len(errors)
            values["text_error"] = sum(errors) / len(errors)
        if texts.removed or texts.all_removed:
            try:
                if not source:
                    raise NotMeasurable(_NO_SOURCE)
                values["text_gone"] = _removed_share(texts, source[0], edit, inputs)
            except NotMeasurable as error:
                raise NotMeasurable(str(error), values=values) from error
        return values


def _removed_share(
    texts: RequestedText, source: Sequence[TextLine], edit: Sequence[TextLine], inputs: MetricInputs
) -> float:
    """Return the share of the texts to remove that are gone, of those that can be read in the source."""
    there = _lines_in_region(source, inputs)
    before, after = "\n".join(there), "\n".join(_lines_in_region(edit, inputs))
    if texts.all_removed:
        removed = [line for line in there if len(normalise_for_comparison(line)) >= _MIN_LINE_LENGTH]
    else:
        removed = [text for text in texts.removed if character_error_rate(text, before) <= _REMOVED_THRESHOLD]
    if not removed:
        where = "in the source" if inputs.mask is None else "in the mask's region of the source"
        raise NotMeasurable(f"what is to go cannot be read {where}")
    return sum(character_error_rate(text, after) > _REMOVED_THRESHOLD for text in removed) / len(removed)


def _lines_in_region(lines: Sequence[TextLine], inputs: MetricInputs) -> list[str]:
    """The lines whose middle lies where the mask lets edit; all of them without one."""
    region = None if inputs.mask is None else inputs.editable_region(inputs.mask.image.size)
    if region is None:
        return [line.text for line in lines]
    if not region.any():
        raise NotMeasurable(EMPTY_MASK)
    height, width = region.shape
    return [line.text for line in lines if region[int(line.y * (height - 1)), int(line.x * (width - 1))]]


def get_requested_text(inputs: MetricInputs) -> RequestedText:
    """The texts that a measurement, or else the instruction, is about."""
    given = inputs.parameters
    if "wanted" in given or "removed" in given:
        wanted, removed = (filter(normalise_for_comparison, given.get(name, ())) for name in ("wanted", "removed"))
        found = RequestedText(tuple(wanted), tuple(removed))
        lacking = "the texts to look for are empty"
    else:
        found = find_requested_text(inputs.sample.instruction)
        lacking = "the instruction names no text in quotation marks"
    if not any(found):
        raise NotMeasurable(lacking)
    return found
