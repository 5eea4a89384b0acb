"""Tiny pipelines with random weights in the real format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from creval.editors.diffusers.model_files import import_libraries

torch: Any = import_module("torch")
diffusers: Any = import_module("diffusers")
transformers: Any = import_module("transformers")
tokenizers: Any = import_module("tokenizers")

_LAYERS: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
_READ = 77  # maximum tokens of CLIP


def write(folder: Path, kind: str) -> Path:
    """Write a pipeline of a class with all its components."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    import_libraries("tiny")  # silences them
    pipeline = _WRITERS[kind](getattr(diffusers, kind))
    with torch.no_grad():
        # Unscaled random weights give almost the same result for all images.
        pipeline.vae.encoder.conv_out.weight *= 10
        for name, weight in getattr(pipeline, "transformer", pipeline.vae).named_parameters():
            if ".to_" in name and name.endswith("weight"):
                weight *= 6
    pipeline.save_pretrained(folder)
    return folder


def _stable(channels: int, **more: Any) -> Callable[[Any], Any]:
    """Stable Diffusion: a UNet whose input is latents, and a source or a mask."""

    def write(kind: Any) -> Any:
        reader = _clip_reader()
        return kind(
            vae=_vae(),
            text_encoder=_clip(reader),
            tokenizer=reader,
            unet=_unet(channels),
            scheduler=diffusers.EulerAncestralDiscreteScheduler(),
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
            **more,
        )

    return write


def _larger(channels: int) -> Callable[[Any], Any]:
    """Stable Diffusion XL with its two text encoders."""

    def write(kind: Any) -> Any:
        reader = _clip_reader()
        unet = _unet(
            channels,
            cross_attention_dim=32,
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=16 + 6 * 8,
        )
        return kind(
            vae=_vae(),
            text_encoder=_clip(reader),
            tokenizer=reader,
            tokenizer_2=reader,
            text_encoder_2=_clip(reader, "CLIPTextModelWithProjection", projection_dim=16),
            unet=unet,
            scheduler=diffusers.EulerDiscreteScheduler(),
        )

    return write


def _flux(channels: int = 16) -> Callable[[Any], Any]:
    def write(kind: Any) -> Any:
        clip, t5 = _clip_reader(), _bytes_reader("PreTrainedTokenizerFast", 512)
        encoder = transformers.T5EncoderModel(
            transformers.T5Config(vocab_size=len(t5), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
        )
        transformer = diffusers.FluxTransformer2DModel(
            patch_size=1,
            in_channels=channels,
            out_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=16,
            pooled_projection_dim=16,
            axes_dims_rope=[4, 4, 8],
            guidance_embeds=True,
        )
        return kind(
            scheduler=_flow(),
            vae=_vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06, scaling_factor=1.5),
            text_encoder=_clip(clip),
            tokenizer=clip,
            text_encoder_2=encoder,
            tokenizer_2=t5,
            transformer=transformer,
        )

    return write


def _klein(kind: Any) -> Any:
    """FLUX.2 klein, with Qwen3 as text encoder and a list of images as input."""
    reader = _bytes_reader("Qwen2Tokenizer", 512)
    reader.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    config = transformers.Qwen3Config(**_LAYERS, num_key_value_heads=2, head_dim=8, vocab_size=len(reader))
    vae = diffusers.AutoencoderKLFlux2(
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(4, 4, 4, 4),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=1,
    )
    transformer = diffusers.Flux2Transformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        axes_dims_rope=[4, 4, 4, 4],
        guidance_embeds=False,
    )
    return kind(
        scheduler=_flow(),
        vae=vae,
        text_encoder=transformers.Qwen3ForCausalLM(config),
        tokenizer=reader,
        transformer=transformer,
    )


def _qwen(kind: Any) -> Any:
    """Qwen-Image-Edit, based on a Qwen2.5-VL that also sees the source."""
    reader = _bytes_reader("Qwen2Tokenizer", 4096)
    marks = ("vision_start", "vision_end", "image_pad", "video_pad")
    names = [f"<|{mark}|>" for mark in ("im_start", "im_end", *marks)]
    reader.add_special_tokens({"additional_special_tokens": names})
    number = dict(zip(names, reader.convert_tokens_to_ids(names), strict=True))
    processor = transformers.Qwen2VLProcessor(
        transformers.Qwen2VLImageProcessor(min_pixels=28 * 28, max_pixels=28 * 28 * 16),
        reader,
        transformers.Qwen2VLVideoProcessor(),
    )
    config = transformers.Qwen2_5_VLConfig(
        text_config=_LAYERS
        | {
            "num_key_value_heads": 2,
            "vocab_size": len(reader),
            "rope_theta": 1e6,
            "rope_scaling": {"mrope_section": [1, 1, 2], "rope_type": "default"},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_heads": 2,
            "out_hidden_size": 16,
            "fullatt_block_indexes": [1],
        },
        image_token_id=number["<|image_pad|>"],
        video_token_id=number["<|video_pad|>"],
        vision_start_token_id=number["<|vision_start|>"],
        vision_end_token_id=number["<|vision_end|>"],
    )
    vae = diffusers.AutoencoderKLQwenImage(
        base_dim=4,
        z_dim=4,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, False, False],
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    )
    transformer = diffusers.QwenImageTransformer2DModel(
        in_channels=16,
        out_channels=4,
        num_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        axes_dims_rope=(8, 4, 4),
    )
    return kind(
        scheduler=_flow(),
        vae=vae,
        transformer=transformer,
        tokenizer=reader,
        processor=processor,
        text_encoder=transformers.Qwen2_5_VLForConditionalGeneration(config),
    )


def _omnigen(kind: Any) -> Any:
    reader = _bytes_reader("PreTrainedTokenizerFast", 4096)
    transformer = diffusers.OmniGenTransformer2DModel(
        hidden_size=16,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        num_layers=1,
        pad_token_id=reader.pad_token_id,
        vocab_size=len(reader),
        rope_scaling={"long_factor": [1, 2, 3, 4], "short_factor": [1, 2, 3, 4]},
        time_step_dim=4,
    )
    return kind(transformer=transformer, scheduler=_flow(), vae=_vae(), tokenizer=reader)


def _chrono(kind: Any) -> Any:
    """ChronoEdit: a video model whose last frame is the edit."""
    reader = _bytes_reader("PreTrainedTokenizerFast", 512)
    config = transformers.UMT5Config(vocab_size=len(reader), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    vae = diffusers.AutoencoderKLWan(
        base_dim=4, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True]
    )
    transformer = diffusers.ChronoEditTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=36,
        out_channels=16,
        text_dim=16,
        ffn_dim=32,
        num_layers=1,
        rope_max_seq_len=32,
        image_dim=16,
    )
    vision = transformers.CLIPVisionConfig(**_LAYERS, image_size=32, patch_size=16)
    return kind(
        tokenizer=reader,
        text_encoder=transformers.UMT5EncoderModel(config),
        vae=vae,
        image_encoder=transformers.CLIPVisionModel(vision),
        transformer=transformer,
        image_processor=transformers.CLIPImageProcessor(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ),
        scheduler=_flow(),
    )


def _flow() -> Any:
    return diffusers.FlowMatchEulerDiscreteScheduler()


def _vae(**more: Any) -> Any:
    """An autoencoder with the usual factor of 8 between pixels and latents."""
    return diffusers.AutoencoderKL(
        block_out_channels=(4, 4, 4, 4),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        latent_channels=4,
        norm_num_groups=1,
        layers_per_block=1,
        **more,
    )


def _unet(channels: int, **more: Any) -> Any:
    settings = {"cross_attention_dim": 16, "attention_head_dim": 4} | more
    return diffusers.UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(8, 16),
        layers_per_block=1,
        in_channels=channels,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        norm_num_groups=4,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        **settings,
    )


def _clip(reader: Any, kind: str = "CLIPTextModel", **more: Any) -> Any:
    config = transformers.CLIPTextConfig(
        **_LAYERS,
        vocab_size=len(reader),
        max_position_embeddings=_READ,
        bos_token_id=reader.bos_token_id,
        eos_token_id=reader.eos_token_id,
        **more,
    )
    return getattr(transformers, kind)(config)


def _clip_reader() -> Any:
    """A tokenizer of single letters, with the start and end tokens last, as in CLIP."""
    letters = ["!", *"abcdefghijklmnopqrstuvwxyz"]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=_READ)


def _bytes_reader(kind: str, length: int) -> Any:
    """A tokenizer of single bytes."""
    bytewise = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = {letter: number for number, letter in enumerate(sorted(bytewise.alphabet()))}
    if kind != "PreTrainedTokenizerFast":
        return getattr(transformers, kind)(vocab=letters, merges=[], model_max_length=length)
    special = {"<pad>": len(letters), "</s>": len(letters) + 1}
    plain = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=letters | special, merges=[]))
    plain.pre_tokenizer, plain.decoder = bytewise, tokenizers.decoders.ByteLevel()
    plain.add_special_tokens(list(special))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="</s>", model_max_length=length
    )


_WRITERS: dict[str, Callable[[Any], Any]] = {
    "ChronoEditPipeline": _chrono,
    "StableDiffusionPipeline": _stable(4),
    "StableDiffusionImg2ImgPipeline": _stable(4),
    "StableDiffusionInpaintPipeline": _stable(9),
    "StableDiffusionInstructPix2PixPipeline": _stable(8),
    "StableDiffusionXLImg2ImgPipeline": _larger(4),
    "StableDiffusionXLInpaintPipeline": _larger(4),
    "StableDiffusionXLInstructPix2PixPipeline": _larger(8),
    "FluxFillPipeline": _flux(16 + 16 + 256),
    "FluxImg2ImgPipeline": _flux(),
    "FluxInpaintPipeline": _flux(),
    "FluxKontextInpaintPipeline": _flux(),
    "FluxKontextPipeline": _flux(),
    "Flux2KleinPipeline": _klein,
    "OmniGenPipeline": _omnigen,
    "QwenImageEditInpaintPipeline": _qwen,
    "QwenImageEditPipeline": _qwen,
    "QwenImageEditPlusPipeline": _qwen,
}
