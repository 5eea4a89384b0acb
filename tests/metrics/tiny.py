"""Tiny detectors and embedding models with random weights in the real format."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_IMAGE = {"height": 32, "width": 32}
_LAYERS: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
_VISION = _LAYERS | {"image_size": 32, "patch_size": 8}


def write_grounding_dino(folder: Path) -> Path:
    """Write a Grounding DINO with its processor, based on a Swin and a BERT."""
    transformers = _library()
    # The model refers to these four tokens by their ids in BERT's vocabulary.
    numbers = {101: "[CLS]", 102: "[SEP]", 1012: ".", 1029: "?", 0: "[PAD]", 100: "[UNK]"}
    words = {numbers.get(number, f"[unused{number}]"): number for number in range(1030)}
    words |= {word: 1030 + at for at, word in enumerate(["a", "cat", "red", "hat"])}
    tokenizer = transformers.BertTokenizer(vocab=words, model_max_length=64)
    images = transformers.GroundingDinoImageProcessorPil(size={"shortest_edge": 32, "longest_edge": 64})
    transformers.GroundingDinoProcessor(images, tokenizer).save_pretrained(folder)
    config = transformers.GroundingDinoConfig(
        backbone_config=transformers.SwinConfig(
            image_size=32,
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=4,
            out_indices=[2, 3, 4],
        ),
        text_config=transformers.BertConfig(**_LAYERS, vocab_size=len(words), max_position_embeddings=64),
        d_model=64,
        num_queries=12,
        max_text_len=64,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
    )
    transformers.GroundingDinoForObjectDetection(config).save_pretrained(folder)
    return folder


def write_owl(folder: Path, family: str = "OwlViT") -> Path:
    """Write an OWL-ViT, or an OWLv2 (`family="Owlv2"`), with its processor."""
    transformers = _library()
    tokenizer = _clip_tokenizer(transformers, length=16)
    images = getattr(transformers, f"{family}ImageProcessorPil")(size=_IMAGE)
    getattr(transformers, f"{family}Processor")(images, tokenizer).save_pretrained(folder)
    config = getattr(transformers, f"{family}Config")(
        text_config=_LAYERS | _ends(tokenizer) | {"max_position_embeddings": 16},
        vision_config=_VISION,
        projection_dim=16,
    )
    getattr(transformers, f"{family}ForObjectDetection")(config).save_pretrained(folder)
    return folder


def write_clip(folder: Path, **larger: int) -> Path:
    """Write a CLIP for 20 tokens with its processor. The size of its layers can be set."""
    transformers = _library()
    tokenizer = _clip_tokenizer(transformers, length=20)
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=_IMAGE)
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)
    config = transformers.CLIPConfig(
        text_config=_LAYERS | _ends(tokenizer) | {"max_position_embeddings": 20} | larger,
        vision_config=_VISION | larger,
        projection_dim=12,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    return folder


def write_siglip(folder: Path) -> Path:
    """Write a SigLIP for 20 tokens, whose tokenizer has no limit, as in SigLIP 2."""
    transformers = _library()
    clip = _clip_tokenizer(transformers, length=20)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=clip.backend_tokenizer,
        pad_token="!",
        eos_token="<|endoftext|>",
        model_input_names=["input_ids"],
    )
    images = transformers.SiglipImageProcessorPil(size=_IMAGE)
    transformers.SiglipProcessor(images, tokenizer).save_pretrained(folder)
    config = transformers.SiglipConfig(
        text_config=_LAYERS | _ends(clip) | {"max_position_embeddings": 20, "projection_size": 16},
        vision_config=_VISION,
    )
    transformers.SiglipModel(config).save_pretrained(folder)
    return folder


def _library() -> Any:
    import_module("torch").manual_seed(0)
    return import_module("transformers")


def _clip_tokenizer(transformers: Any, length: int) -> Any:
    """Return a tokenizer of single letters, with the start and end tokens last, as in CLIP."""
    letters = ["!", *"abcdefghijklmnopqrstuvwxyz"]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    return transformers.CLIPTokenizer(
        vocab={token: number for number, token in enumerate(tokens)}, merges=[], model_max_length=length
    )


def _ends(tokenizer: Any) -> dict[str, int]:
    return {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }


def write_dino(folder: Path) -> Path:
    """Write a DINOv2 with its processor, which crops the centre."""
    transformers = _library()
    transformers.BitImageProcessorPil(
        size={"shortest_edge": 36}, crop_size={"height": 28, "width": 28}
    ).save_pretrained(folder)
    config = transformers.Dinov2Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=28, patch_size=7
    )
    transformers.Dinov2Model(config).save_pretrained(folder)
    return folder


def write_depth(folder: Path) -> Path:
    """Write a DPT with its processor."""
    transformers = _library()
    transformers.DPTImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    config = transformers.DPTConfig(
        **_LAYERS | {"num_hidden_layers": 4},
        image_size=64,
        patch_size=16,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
    )
    transformers.DPTForDepthEstimation(config).save_pretrained(folder)
    return folder
