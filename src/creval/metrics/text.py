"""Accuracy of text in an edit: wanted text is present, and text to remove is gone.

Text is read by RapidOCR, which includes its models. The texts to add and remove come from the parameters `wanted` and
`removed` of the measurement. Without these, they come from the instruction: the texts in quotation marks, or all text
of the source if the instruction says to remove it.
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
"""A text counts as gone if its character error rate exceeds this."""
_NO_SOURCE = "the sample has no source, which is needed to measure removed text"
_MIN_LINE_LENGTH = 2  # characters; shorter lines in the source are noise


class TextReader(FeatureExtractor):
    """RapidOCR. Its feature is the list of lines of an image, from top to bottom, as JSON of texts and positions."""

    batch_size = 1

    def __init__(self) -> None:
        self.name = f"rapidocr {_rapidocr_version()} lines"
        self._model = Lazy(_load_engine)

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        engine = self._model.get()
        read = [_read_lines(engine, item) for item in items if isinstance(item, LazyImage)]
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
    """A line of text and the position of its centre, as shares of the image's width and height."""

    text: str
    x: float
    y: float


def _read_lines(engine: Any, image: LazyImage) -> list[TextLine]:
    # RapidOCR expects BGR.
    found = engine(np.ascontiguousarray(np.asarray(image.image)[..., ::-1]))
    if not found.txts:
        return []
    centres = np.clip(np.mean(found.boxes, axis=1) / image.image.size, 0, 1).tolist()
    return [TextLine(str(text), *centre) for text, centre in zip(found.txts, centres, strict=True)]


class TextAccuracy(ImageMetric):
    """Accuracy of wanted and removed text. A value is omitted if there is no text to add or to remove."""

    info = MetricInfo(
        "text",
        "presence of wanted text and absence of removed text in the edit",
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
    """Return the share of texts to remove that are gone. Texts that cannot be read in the source do not count."""
    source_lines = _lines_in_region(source, inputs)
    before, after = "\n".join(source_lines), "\n".join(_lines_in_region(edit, inputs))
    if texts.all_removed:
        removed = [line for line in source_lines if len(normalise_for_comparison(line)) >= _MIN_LINE_LENGTH]
    else:
        removed = [text for text in texts.removed if character_error_rate(text, before) <= _REMOVED_THRESHOLD]
    if not removed:
        where = "in the source" if inputs.mask is None else "in the mask's region of the source"
        raise NotMeasurable(f"the text to remove cannot be read {where}")
    return sum(character_error_rate(text, after) > _REMOVED_THRESHOLD for text in removed) / len(removed)


def _lines_in_region(lines: Sequence[TextLine], inputs: MetricInputs) -> list[str]:
    """Return the lines whose centre is in the mask's region, or all lines if there is no mask."""
    region = None if inputs.mask is None else inputs.editable_region(inputs.mask.image.size)
    if region is None:
        return [line.text for line in lines]
    if not region.any():
        raise NotMeasurable(EMPTY_MASK)
    height, width = region.shape
    return [line.text for line in lines if region[int(line.y * (height - 1)), int(line.x * (width - 1))]]


def get_requested_text(inputs: MetricInputs) -> RequestedText:
    """Return the texts in the parameters of the measurement, or else those in the instruction."""
    given = inputs.parameters
    if "wanted" in given or "removed" in given:
        wanted, removed = (filter(normalise_for_comparison, given.get(name, ())) for name in ("wanted", "removed"))
        found = RequestedText(tuple(wanted), tuple(removed))
        problem = "the texts to look for are empty"
    else:
        found = find_requested_text(inputs.sample.instruction)
        problem = "the instruction names no text in quotation marks"
    if not any(found):
        raise NotMeasurable(problem)
    return found
