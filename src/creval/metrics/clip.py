"""How near pictures and texts are to each other, for a model that embeds both (CLIP, SigLIP)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish, cosine, units
from creval.metrics.inputs import Exhibit, Picture, Unmeasured
from creval.metrics.model_loading import Model, check_shapes, identity, text_length

MODEL = ModelCard(
    "clip", "openai/clip-vit-large-patch14-336", 1710, "MIT", "https://github.com/openai/CLIP"
)
_ROUNDING = 1e-4  # how far apart vectors of one picture can be


class Clip(Embedder):
    """A model of the families CLIP and SigLIP, from the hub or a folder; its vectors have length 1.

    A text is cut where the model's text ends (77 tokens for CLIP).
    """

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"clip:{identity(self.model)}"
        self._model: Model = Model(
            self.model, "AutoModel", "get_text_features", chosen=model is not None
        )

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        pictures = [thing.image for thing in things if isinstance(thing, Picture)]
        texts = [thing for thing in things if isinstance(thing, str)]
        with self._model.in_use() as (processor, model):
            seen = iter(_units(_seen(processor, model, pictures)))
            read = iter(_units(_read(processor, model, texts)))
        return [next(seen if isinstance(thing, Picture) else read) for thing in things]


def _seen(processor: Any, model: Any, pictures: Sequence[Any]) -> Any:
    if not pictures:
        return None
    check_shapes(processor, pictures)
    inputs = processor(images=list(pictures), return_tensors="pt")
    return model.get_image_features(**inputs.to(model.device))


def _read(processor: Any, model: Any, texts: Sequence[str]) -> Any:
    if not texts:
        return None
    # SigLIP was trained on texts filled up; what follows the end is nothing to CLIP.
    inputs = processor(
        text=list(texts), return_tensors="pt", padding="max_length", truncation=True,
        max_length=text_length(processor, model),
    )  # fmt: skip
    return model.get_text_features(**inputs.to(model.device))


def _units(features: Any) -> list[Vector]:
    return [] if features is None else units(features.pooler_output.cpu().numpy())


class ClipGauge(Gauge):
    """One that measures with a CLIP; all share it, and what it makes."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.clip = tools.share(Clip, tools.chosen("clip"))


class ClipScores(ClipGauge):
    """How near an edit is to its source, and how far it went the way from one caption to the other.

    The second only where a sample has captions of its source and of its target.
    """

    card = GaugeCard(
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

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        things: list[Thing] = [exhibit.source, exhibit.edit]
        if exhibit.sample.is_captioned:
            things += [exhibit.caption(of) for of in ("source", "target")]
        return [Wish(self.clip, thing) for thing in things]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        source, edit, *captions = made
        values = {"CLIP_img": cosine(source, edit)}
        if captions:
            direction = directional_similarity(source, edit, *captions)
            if direction is not None:
                values["CLIP_dir"] = direction
        return values


def directional_similarity(
    source: Vector, edit: Vector, source_text: Vector, target_text: Vector
) -> float | None:
    """cos(edit - source, target_text - source_text); none where nothing changed in one of them.

    Vectors have length 1. A model makes slightly other ones of the same picture in another batch:
    what is no more than that is no change, and its direction would be chance.
    """
    change, wanted = edit - source, target_text - source_text
    if min(np.linalg.norm(change), np.linalg.norm(wanted)) < _ROUNDING:
        return None
    return cosine(change, wanted)


class ClipCaption(ClipGauge):
    """ICE-Bench's CLIP-cap. A caption is cut after the model's last token, 77 for CLIP."""

    card = GaugeCard(
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

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self.clip, exhibit.edit), Wish(self.clip, exhibit.caption("target"))]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"clip_cap": cosine(*made)}


class ClipDirection(ClipGauge):
    """The directional similarity of StyleGAN-NADA and InstructPix2Pix."""

    card = GaugeCard(
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

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        captions = [exhibit.caption(of) for of in ("source", "target")]
        things: list[Thing] = [exhibit.source, exhibit.edit, *captions]
        return [Wish(self.clip, thing) for thing in things]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        source, edit, before, after = made
        found = directional_similarity(source, edit, before, after)
        if found is None:
            raise Unmeasured("the picture, or its caption, has not changed at all")
        return {"clip_dir": found}


class ClipSource(ClipGauge):
    """ICE-Bench's CLIP-src."""

    card = GaugeCard(
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

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self.clip, exhibit.source), Wish(self.clip, exhibit.edit)]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"clip_src": cosine(*made)}
