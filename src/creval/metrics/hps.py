"""Human preference score of an edit for its target caption, by a CLIP model tuned on human choices (HPS v2.1).

HPS = cos(edit, caption), mostly between 0.2 and 0.35. The network (ViT-H/14) and the scaling of images come from the
package hpsv2x, because hpsv2 on PyPI lacks some files. The caption is truncated to 77 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.checkpoints import find_weights, load_weights
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor, images_of, unit_vectors
from creval.metrics.metric_inputs import LazyImage, MetricInputs
from creval.metrics.model_loading import ModelInfo, import_library
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "hps", "xswu/HPSv2", 3940, "Apache-2.0", "https://github.com/tgxs002/HPSv2", file="HPS_v2.1_compressed.pt"
)
_WEIGHT_FILES = (MODEL.file, "HPS_v2_compressed.pt")
_NETWORK = "ViT-H-14"


class HpsNetwork(ModelExtractor):
    """The CLIP model of HPS v2.1. Its weights come from the hub, a file or a folder. Vectors have length 1."""

    info, kind, batch_size = MODEL, "hps", 4

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, model, preprocess, tokenise, device = self._model.get()
        images, texts = images_of(items), [item for item in items if isinstance(item, str)]
        with torch.inference_mode():
            of_images = model.encode_image(torch.stack([preprocess(i) for i in images]).to(device)) if images else None
            of_texts = model.encode_text(tokenise(texts).to(device)) if texts else None
        vectors = [iter([] if v is None else unit_vectors(v.float().cpu().numpy())) for v in (of_images, of_texts)]
        return [next(vectors[not isinstance(item, LazyImage)]) for item in items]

    def _load(self) -> tuple[Any, Any, Any, Any, str]:
        torch = import_library("torch", "hps", "HPS v2")
        library = import_library("hpsv2.src.open_clip", "hps", "HPS v2")
        weights = load_weights(find_weights(self.model, _WEIGHT_FILES))
        device = str(best_device(torch))
        try:
            model, _, preprocess = library.create_model_and_transforms(
                _NETWORK, device=device, light_augmentation=True, output_dict=True
            )
            model.load_state_dict(weights)
        except Exception as error:  # the weights may belong to another network
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"hpsv2 cannot load {self.model}: {reason}") from error
        return torch, model.eval(), preprocess, library.get_tokenizer(_NETWORK), device


class HumanPreferenceScore(ModelMetric):
    """The cosine of the edit and its target caption."""

    info = MetricInfo(
        "hps",
        "predicted human preference for the edit as an image of its target caption",
        (Metric("hps", "HPS v2.1", -1.0, 1.0),),
        "cosine",
        needs=("caption",),
        models=(MODEL,),
        extra="hps",
        packages=("torch", "hpsv2"),
        paper="Wu et al., arXiv 2306.09341",
    )
    extractor_class = HpsNetwork

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.edit, inputs.caption("target")]
