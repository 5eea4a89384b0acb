"""How near images and texts are to each other, for a model that embeds both (CLIP, SigLIP)."""

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
_ROUNDING_ERROR = 1e-4  # how far apart vectors of one image can be
_DIRECTION = "cosine of the change and the change of captions"
_DIRECTION_PAPERS = "arXiv 2108.00946, 2211.09800"


class Clip(TransformersExtractor):
    """A model of the families CLIP and SigLIP; vectors have length 1, texts are cut (CLIP: at 77 tokens)."""

    info, kind = MODEL, "clip"
    required_method, processor_class = "get_text_features", "AutoProcessor"

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        texts = [item for item in items if isinstance(item, str)]
        with self.session() as (processor, model):
            seen = iter(_unit_features(_image_features(processor, model, images_of(items))))
            read = iter(_unit_features(_text_features(processor, model, texts)))
        return [next(seen if isinstance(item, LazyImage) else read) for item in items]


def _image_features(processor: Any, model: Any, images: Sequence[Any]) -> Any:
    if not images:
        return None
    check_processor_shapes(processor, images)
    inputs = processor(images=list(images), return_tensors="pt")
    return model.get_image_features(**inputs.to(model.device))


def _text_features(processor: Any, model: Any, texts: Sequence[str]) -> Any:
    if not texts:
        return None
    # SigLIP was trained on texts filled up; what follows the end is nothing to CLIP.
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
    """Return what there is to know of a metric that takes cosines with CLIP; values are titles by name."""
    return MetricInfo(
        name,
        title,
        tuple(Metric(value, words, -1.0, 1.0) for value, words in values.items()),
        "cosine",
        needs=needs,
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper=paper,
    )


class ClipCaption(ModelMetric):
    """ICE-Bench's CLIP-cap. A caption is cut after the model's last token, 77 for CLIP."""

    info = _cosines(
        "clip_cap",
        "how near the edit is to the caption of what it is to show",
        {"clip_cap": "cosine of edit and target caption"},
        ("caption",),
        "ICE-Bench; Hessel et al., arXiv 2104.08718",
    )
    extractor_class = Clip

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.edit, inputs.caption("target")]


class ClipSource(ModelMetric):
    """ICE-Bench's CLIP-src."""

    info = _cosines(
        "clip_src",
        "how near the edit stayed to its source in meaning",
        {"clip_src": "cosine of edit and source"},
        ("source",),
        "ICE-Bench; Radford et al., arXiv 2103.00020",
    )
    extractor_class = Clip

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.source, inputs.edit]


class ClipDirection(ModelMetric):
    """The directional similarity of StyleGAN-NADA and InstructPix2Pix."""

    info = _cosines(
        "clip_dir",
        "whether the picture changed as its captions do",
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
    """What `clip_src` gives and, where a sample has captions of source and target, what `clip_dir` gives."""

    info = _cosines(
        "clip",
        "how near the edit stayed to its source, and whether it went the captions' way",
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

    A model makes slightly other vectors of the same image in another batch: what is no more than
    that is no change, and its direction would be chance.
    """
    change, wanted = edit - source, target_text - source_text
    if min(np.linalg.norm(change), np.linalg.norm(wanted)) < _ROUNDING_ERROR:
        raise NotMeasurable("the picture, or its caption, has not changed at all")
    return cosine_similarity(change, wanted)
