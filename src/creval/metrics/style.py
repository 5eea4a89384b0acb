"""Whether an edit has the style of its reference: cos of CSD's style descriptors.

CSD is a CLIP ViT-L/14 whose last projection was trained for style. Its checkpoint holds the
network in OpenAI's naming; it is read into transformers' CLIP, so that nothing else is needed.
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
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.checkpoints import find_weights, load_weights
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish, cosine
from creval.metrics.inputs import Exhibit, Picture
from creval.metrics.model_loading import Late, check_shape, identity, library
from creval.providers.huggingface import best_device

MODEL = ModelCard(
    "style", "tomg-group-umd/CSD-ViT-L", 2440, "CC-BY-4.0 (its code MIT)",
    "https://huggingface.co/tomg-group-umd/CSD-ViT-L", file="pytorch_model.bin",
)  # fmt: skip
_FILES = ("pytorch_model.bin", "csd_vit_l.pth", "csd_vit-l.pth", "model.safetensors")
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_HEAD = 64  # values in each of a CLIP's attention heads
_RENAMED = {
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


class Csd(Embedder):
    """CSD's network and its projection for style, from a checkpoint."""

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"csd:{identity(self.model)}"
        self._model = Late(self._load, chosen=model is not None)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        torch, network, style, side = self._model.get()
        pictures = [thing.image for thing in things if isinstance(thing, Picture)]
        pixels = torch.from_numpy(np.stack([prepared(picture, side) for picture in pictures]))
        with torch.inference_mode():
            made = network(pixel_values=pixels.to(style.device)).pooler_output @ style
            return list(torch.nn.functional.normalize(made, dim=1).cpu().numpy())

    def _load(self) -> tuple[Any, Any, Any, int]:
        torch = library("torch", "local", "CSD")
        library("transformers", "local", "CSD")
        path = find_weights(self.model, _FILES)
        return torch, *_network(load_weights(path), str(path), best_device(torch))


def _network(weights: Mapping[str, Any], where: str, device: str) -> tuple[Any, Any, int]:
    """The network, the projection for style, and the side of its pictures."""
    transformers = import_module("transformers")
    inside = {k.removeprefix("backbone."): v for k, v in weights.items() if k[:9] == "backbone."}
    try:
        style, patches = weights["last_layer_style"].float(), inside["conv1.weight"]
        width, side = patches.shape[0], patches.shape[-1]
        grid = round((inside["positional_embedding"].shape[0] - 1) ** 0.5)
        layers = 1 + max(int(k.split(".")[2]) for k in inside if k.startswith("transformer."))
        config = transformers.CLIPVisionConfig(
            hidden_size=width, intermediate_size=inside[f"{_BLOCK}.mlp.c_fc.weight"].shape[0],
            num_hidden_layers=layers, num_attention_heads=max(1, width // _HEAD),
            image_size=grid * side, patch_size=side, hidden_act="quick_gelu",
        )  # fmt: skip
        network = transformers.CLIPVisionModel(config)
        wanted = network.state_dict()
        start = "vision_model." if any(k.startswith("vision_model.") for k in wanted) else ""
        named = {start + name: one for name, one in _renamed(inside, width).items()}
        # Positions are numbers that transformers keeps, and the projection was taken away.
        network.load_state_dict(
            {k: named[k].float() for k in wanted if not k.endswith("position_ids")}, strict=False
        )
    except (KeyError, ValueError, RuntimeError, IndexError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{where} is no CSD checkpoint: {reason}") from error
    return network.to(device).eval(), style.to(device), grid * side


_BLOCK = "transformer.resblocks.0"


def _renamed(inside: Mapping[str, Any], width: int) -> dict[str, Any]:
    """OpenAI's names as transformers'; there one matrix holds what here are three."""
    found = {}
    for name, one in inside.items():
        for old, new in _RENAMED.items():
            name = name.replace(old, new)
        if ".attn.in_proj_" in name:
            before, _, kind = name.partition(".attn.in_proj_")
            for at, part in enumerate("qkv"):
                rows = slice(at * width, (at + 1) * width)
                found[f"{before}.self_attn.{part}_proj.{kind}"] = one[rows]
        else:
            found[name] = one
    return found


def prepared(picture: Image.Image, side: int) -> NDArray[np.float32]:
    """A picture as CLIP was trained on: the middle of it, of this side, with channels in front."""
    check_shape(picture, side)
    width, height = picture.size
    short = min(width, height)
    size = (side * width // short, side * height // short)
    picture = picture.resize(size, Image.Resampling.BICUBIC)
    left, top = round((size[0] - side) / 2), round((size[1] - side) / 2)
    middle = picture.crop((left, top, left + side, top + side))
    pixels = np.asarray(middle, dtype=np.float32) / 255
    mean, spread = (np.array(given, dtype=np.float32) for given in (_MEAN, _STD))
    return np.ascontiguousarray(((pixels - mean) / spread).transpose(2, 0, 1))


class Style(Gauge):
    """How alike the styles of the edit and of the first reference are."""

    card = GaugeCard(
        "style",
        "how alike the styles of edit and reference are",
        (Metric("style", "cosine of edit and reference", -1.0, 1.0),),
        "cosine",
        needs=("reference",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="Somepalli et al., arXiv 2404.01292; ICE-Bench",
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._csd = tools.share(Csd, tools.chosen("style"))

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._csd, exhibit.reference), Wish(self._csd, exhibit.edit)]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"style": cosine(*made)}
