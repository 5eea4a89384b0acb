"""Similarity of images and texts by a model that embeds both (CLIP, SigLIP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.features import (
    ExtractorInput,
    FeatureArray,
    TransformersExtractor,
    cosine_similarity,
    images_of,
    unit_vectors,
)
from creval.metrics.metric_inputs import LazyImage, MetricInputs, NotMeasurable
from creval.metrics.model_loading import ModelInfo, check_processor_shapes, max_text_tokens

MODEL = ModelInfo("clip", "openai/clip-vit-large-patch14-336", 1710, "MIT", "https://github.com/openai/CLIP")
_ROUNDING_ERROR = 1e-4  # largest distance between vectors of the same image in different batches
_DIRECTION = "cosine of the change and the change of captions"
_DIRECTION_PAPERS = "arXiv 2108.00946, 2211.09800"


class Clip(TransformersExtractor):
    """A model of the CLIP and SigLIP families. Vectors have length 1. Long texts are truncated (CLIP: 77 tokens)."""

    info, kind = MODEL, "clip"
    required_method, processor_class = "get_text_features", "AutoProcessor"

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        texts = [item for item in items if isinstance(item, str)]
        with self.session() as (processor, model):
            image_vectors = iter(_unit_features(_image_features(processor, model, images_of(items))))
            text_vectors = iter(_unit_features(_text_features(processor, model, texts)))
        return [next(image_vectors if isinstance(item, LazyImage) else text_vectors) for item in items]


def _image_features(processor: Any, model: Any, images: Sequence[Any]) -> Any:
    if not images:
        return None
    check_processor_shapes(processor, images)
    inputs = processor(images=list(images), return_tensors="pt")
    return model.get_image_features(**inputs.to(model.device))


def _text_features(processor: Any, model: Any, texts: Sequence[str]) -> Any:
    if not texts:
        return None
    # SigLIP was trained on padded texts; CLIP ignores the padding.
    inputs = processor(
        text=list(texts),
        return_tensors="pt",
        padding="max_length",
        truncation=True,
        max_length=max_text_tokens(processor, model),
    )
    return model.get_text_features(**inputs.to(model.device))


def _unit_features(features: Any) -> list[FeatureArray]:
    return [] if features is None else unit_vectors(features.pooler_output.cpu().numpy())


def _cosines(name: str, title: str, values: Mapping[str, str], needs: tuple[str, ...], paper: str) -> MetricInfo:
    """Return the description of a metric whose values are cosines of CLIP vectors. `values` maps names to titles."""
    return MetricInfo(
        name,
        title,
        tuple(Metric(value, label, -1.0, 1.0) for value, label in values.items()),
        "cosine",
        needs=needs,
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper=paper,
    )


class ClipCaption(ModelMetric):
    """ICE-Bench's CLIP-cap: the cosine of the edit and the target caption.

    Captions are truncated to the model's maximum, 77 tokens for CLIP.
    """

    info = _cosines(
        "clip_cap",
        "similarity of the edit and the target caption",
        {"clip_cap": "cosine of edit and target caption"},
        ("caption",),
        "ICE-Bench; Hessel et al., arXiv 2104.08718",
    )
    extractor_class = Clip

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.edit, inputs.caption("target")]


class ClipSource(ModelMetric):
    """ICE-Bench's CLIP-src: the cosine of the edit and its source."""

    info = _cosines(
        "clip_src",
        "semantic similarity of the edit and its source",
        {"clip_src": "cosine of edit and source"},
        ("source",),
        "ICE-Bench; Radford et al., arXiv 2103.00020",
    )
    extractor_class = Clip

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.source, inputs.edit]


class ClipDirection(ModelMetric):
    """The directional similarity of StyleGAN-NADA and InstructPix2Pix.

    It is the cosine of the change from source to edit and the change from source caption to target caption.
    """

    info = _cosines(
        "clip_dir",
        "agreement of the change in the image with the change in the captions",
        {"clip_dir": _DIRECTION},
        ("source", "captions"),
        _DIRECTION_PAPERS,
    )
    extractor_class = Clip

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        captions = [inputs.caption(of) for of in ("source", "target")]
        return [inputs.source, inputs.edit, *captions]

    def value(self, features: Sequence[FeatureArray]) -> float:
        return directional_similarity(*features)


class ClipScores(ClipSource):
    """`clip_src` and, if the sample has captions of source and target, `clip_dir`."""

    info = _cosines(
        "clip",
        "similarity to the source, and agreement of the change with the captions",
        {"CLIP_img": "cosine of edit and source", "CLIP_dir": _DIRECTION},
        ("source",),
        _DIRECTION_PAPERS,
    )

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        captions = [inputs.caption(of) for of in ("source", "target")] if inputs.sample.has_captions else []
        return [*super().model_inputs(inputs), *captions]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        source, edit, *captions = features
        values = {"CLIP_img": cosine_similarity(source, edit)}
        if captions:
            with suppress(NotMeasurable):
                values["CLIP_dir"] = directional_similarity(source, edit, *captions)
        return values


def directional_similarity(
    source: FeatureArray, edit: FeatureArray, source_text: FeatureArray, target_text: FeatureArray
) -> float:
    """Return cos(edit - source, target_text - source_text) of vectors of length 1.

    Raises `NotMeasurable` if the image or the caption has not changed. This includes tiny changes: the vectors of an
    image differ slightly between batches, so a tiny change would have a random direction.
    """
    change, wanted = edit - source, target_text - source_text
    if min(np.linalg.norm(change), np.linalg.norm(wanted)) < _ROUNDING_ERROR:
        raise NotMeasurable("the image or its caption has not changed")
    return cosine_similarity(change, wanted)
