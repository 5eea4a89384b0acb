"""How near pictures and texts are to each other, for a model that embeds both (CLIP, SigLIP)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelInfo, ModelPool
from creval.metrics.features import (
    ExtractorInput,
    FeatureArray,
    FeatureExtractor,
    FeatureRequest,
    cosine_similarity,
    unit_vectors,
)
from creval.metrics.metric_inputs import LazyImage, MetricInputs, NotMeasurable
from creval.metrics.model_loading import TransformersModel, check_processor_shapes, max_text_tokens, model_identity

MODEL = ModelInfo("clip", "openai/clip-vit-large-patch14-336", 1710, "MIT", "https://github.com/openai/CLIP")
_ROUNDING_ERROR = 1e-4  # how far apart vectors of one picture can be


class Clip(FeatureExtractor):
    """A model of the families CLIP and SigLIP, from the hub or a folder; its vectors have length 1.

    A text is cut where the model's text ends (77 tokens for CLIP).
    """

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"clip:{model_identity(self.model)}"
        self._model: TransformersModel = TransformersModel(
            self.model, "AutoModel", "get_text_features", explicit=model is not None
        )

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        images = [thing.image for thing in items if isinstance(thing, LazyImage)]
        texts = [thing for thing in items if isinstance(thing, str)]
        with self._model.session() as (processor, model):
            seen = iter(_unit_features(_image_features(processor, model, images)))
            read = iter(_unit_features(_text_features(processor, model, texts)))
        return [next(seen if isinstance(thing, LazyImage) else read) for thing in items]


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


class ClipMetric(ImageMetric):
    """One that measures with a CLIP; all share it, and what it makes."""

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self.clip = pool.get_or_create(Clip, pool.chosen_model("clip"))


class ClipScores(ClipMetric):
    """How near an edit is to its source, and how far it went the way from one caption to the other.

    The second only where a sample has captions of its source and of its target.
    """

    info = MetricInfo(
        "clip",
        "how near the edit stayed to its source, and whether it went the captions' way",
        (
            Metric("CLIP_img", "cosine of edit and source", -1.0, 1.0),
            Metric("CLIP_dir", "cosine of the change and the change of captions", -1.0, 1.0),
        ),
        "cosine",
        needs=("source",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="arXiv 2108.00946, 2211.09800",
    )

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        things: list[ExtractorInput] = [inputs.source, inputs.edit]
        if inputs.sample.has_captions:
            things += [inputs.caption(of) for of in ("source", "target")]
        return [FeatureRequest(self.clip, thing) for thing in things]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        source, edit, *captions = features
        values = {"CLIP_img": cosine_similarity(source, edit)}
        if captions:
            direction = directional_similarity(source, edit, *captions)
            if direction is not None:
                values["CLIP_dir"] = direction
        return values


def directional_similarity(
    source: FeatureArray, edit: FeatureArray, source_text: FeatureArray, target_text: FeatureArray
) -> float | None:
    """cos(edit - source, target_text - source_text); none where nothing changed in one of them.

    Vectors have length 1. A model makes slightly other ones of the same picture in another batch:
    what is no more than that is no change, and its direction would be chance.
    """
    change, wanted = edit - source, target_text - source_text
    if min(np.linalg.norm(change), np.linalg.norm(wanted)) < _ROUNDING_ERROR:
        return None
    return cosine_similarity(change, wanted)


class ClipCaption(ClipMetric):
    """ICE-Bench's CLIP-cap. A caption is cut after the model's last token, 77 for CLIP."""

    info = MetricInfo(
        "clip_cap",
        "how near the edit is to the caption of what it is to show",
        (Metric("clip_cap", "cosine of edit and target caption", -1.0, 1.0),),
        "cosine",
        needs=("caption",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="ICE-Bench; Hessel et al., arXiv 2104.08718",
    )

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        return [FeatureRequest(self.clip, inputs.edit), FeatureRequest(self.clip, inputs.caption("target"))]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"clip_cap": cosine_similarity(*features)}


class ClipDirection(ClipMetric):
    """The directional similarity of StyleGAN-NADA and InstructPix2Pix."""

    info = MetricInfo(
        "clip_dir",
        "whether the picture changed as its captions do",
        (Metric("clip_dir", "cosine of the change and the change of captions", -1.0, 1.0),),
        "cosine",
        needs=("source", "captions"),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="arXiv 2108.00946, 2211.09800",
    )

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        captions = [inputs.caption(of) for of in ("source", "target")]
        things: list[ExtractorInput] = [inputs.source, inputs.edit, *captions]
        return [FeatureRequest(self.clip, thing) for thing in things]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        source, edit, before, after = features
        found = directional_similarity(source, edit, before, after)
        if found is None:
            raise NotMeasurable("the picture, or its caption, has not changed at all")
        return {"clip_dir": found}


class ClipSource(ClipMetric):
    """ICE-Bench's CLIP-src."""

    info = MetricInfo(
        "clip_src",
        "how near the edit stayed to its source in meaning",
        (Metric("clip_src", "cosine of edit and source", -1.0, 1.0),),
        "cosine",
        needs=("source",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="ICE-Bench; Radford et al., arXiv 2103.00020",
    )

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        return [FeatureRequest(self.clip, inputs.source), FeatureRequest(self.clip, inputs.edit)]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"clip_src": cosine_similarity(*features)}
