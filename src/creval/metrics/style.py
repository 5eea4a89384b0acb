"""Similarity of the styles of an edit and its reference: cosine of CSD style descriptors.

CSD is a CLIP ViT-L/14 whose last projection was trained for style. Its checkpoint uses OpenAI's names of weights. The
weights are renamed and loaded into CLIP of the library transformers. This avoids another dependency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.checkpoints import find_weights, load_weights
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor, images_of
from creval.metrics.metric_inputs import MetricInputs
from creval.metrics.model_loading import ModelInfo, check_shape, import_library
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "style",
    "tomg-group-umd/CSD-ViT-L",
    2440,
    "CC-BY-4.0 (its code MIT)",
    "https://huggingface.co/tomg-group-umd/CSD-ViT-L",
    file="pytorch_model.bin",
)
_WEIGHT_FILES = ("pytorch_model.bin", "csd_vit_l.pth", "csd_vit-l.pth", "model.safetensors")
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_HEAD_WIDTH = 64  # values per attention head of CLIP
_WEIGHT_NAMES = {
    "class_embedding": "embeddings.class_embedding",
    "positional_embedding": "embeddings.position_embedding.weight",
    "conv1.weight": "embeddings.patch_embedding.weight",
    "ln_pre": "pre_layrnorm",
    "ln_post": "post_layernorm",
    "transformer.resblocks.": "encoder.layers.",
    "ln_1": "layer_norm1",
    "ln_2": "layer_norm2",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}


class Csd(ModelExtractor):
    """CSD's network with its style projection, from a checkpoint."""

    info, kind = MODEL, "csd"

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, network, style, side = self._model.get()
        pixels = torch.from_numpy(np.stack([preprocess_image(image, side) for image in images_of(items)]))
        with torch.inference_mode():
            vectors = network(pixel_values=pixels.to(style.device)).pooler_output @ style
            return list(torch.nn.functional.normalize(vectors, dim=1).cpu().numpy())

    def _load(self) -> tuple[Any, Any, Any, int]:
        torch = import_library("torch", "local", "CSD")
        import_library("transformers", "local", "CSD")
        path = find_weights(self.model, _WEIGHT_FILES)
        return torch, *_build_network(load_weights(path), str(path), best_device(torch))


def _build_network(weights: Mapping[str, Any], where: str, device: str) -> tuple[Any, Any, int]:
    """Return the network, the style projection and the side of its input images."""
    transformers = import_module("transformers")
    inside = {k.removeprefix("backbone."): v for k, v in weights.items() if k[:9] == "backbone."}
    try:
        style, patches = weights["last_layer_style"].float(), inside["conv1.weight"]
        width, side = patches.shape[0], patches.shape[-1]
        grid = round((inside["positional_embedding"].shape[0] - 1) ** 0.5)
        layers = 1 + max(int(k.split(".")[2]) for k in inside if k.startswith("transformer."))
        config = transformers.CLIPVisionConfig(
            hidden_size=width,
            intermediate_size=inside["transformer.resblocks.0.mlp.c_fc.weight"].shape[0],
            num_hidden_layers=layers,
            num_attention_heads=max(1, width // _HEAD_WIDTH),
            image_size=grid * side,
            patch_size=side,
            hidden_act="quick_gelu",
        )
        network = transformers.CLIPVisionModel(config)
        wanted = network.state_dict()
        start = "vision_model." if any(k.startswith("vision_model.") for k in wanted) else ""
        named = {start + name: one for name, one in _rename_weights(inside, width).items()}
        # transformers creates position_ids itself, and the checkpoint lacks CLIP's own projection.
        network.load_state_dict({k: named[k].float() for k in wanted if not k.endswith("position_ids")}, strict=False)
    except (KeyError, ValueError, RuntimeError, IndexError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{where} is not a CSD checkpoint: {reason}") from error
    return network.to(device).eval(), style.to(device), grid * side


def _rename_weights(inside: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Rename weights from OpenAI's to transformers' names. OpenAI's joint query, key and value matrix is split."""
    found = {}
    for name, one in inside.items():
        for old, new in _WEIGHT_NAMES.items():
            name = name.replace(old, new)
        if ".attn.in_proj_" in name:
            before, _, kind = name.partition(".attn.in_proj_")
            for at, part in enumerate("qkv"):
                rows = slice(at * width, (at + 1) * width)
                found[f"{before}.self_attn.{part}_proj.{kind}"] = one[rows]
        else:
            found[name] = one
    return found


def preprocess_image(image: Image.Image, side: int) -> NDArray[np.float32]:
    """Return an image as CLIP's input: scaled, cropped to a square with this side, normalised, with channels first."""
    check_shape(image, side)
    width, height = image.size
    short = min(width, height)
    size = (side * width // short, side * height // short)
    image = image.resize(size, Image.Resampling.BICUBIC)
    left, top = round((size[0] - side) / 2), round((size[1] - side) / 2)
    centre = image.crop((left, top, left + side, top + side))
    pixels = np.asarray(centre, dtype=np.float32) / 255
    mean, spread = (np.array(given, dtype=np.float32) for given in (_MEAN, _STD))
    return np.ascontiguousarray(((pixels - mean) / spread).transpose(2, 0, 1))


class StyleSimilarity(ModelMetric):
    """The similarity of the styles of the edit and the first reference."""

    info = MetricInfo(
        "style",
        "similarity of the styles of edit and reference",
        (Metric("style", "cosine of edit and reference", -1.0, 1.0),),
        "cosine",
        needs=("reference",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="Somepalli et al., arXiv 2404.01292; ICE-Bench",
    )
    extractor_class = Csd

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.reference, inputs.edit]
