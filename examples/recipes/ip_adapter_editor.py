"""IP-Adapter for Stable Diffusion XL: images in the style, or of the subject, of the first reference.

Needs diffusers. API as in diffusers 0.42. ICE-Bench does not name the base model that it used.
"""

from functools import cache

from PIL import Image


def edit(
    source: Image.Image | None,
    instruction: str,
    seed: int = 0,
    references: tuple[Image.Image, ...] = (),
    model: str = "stabilityai/stable-diffusion-xl-base-1.0",
    weights: str = "ip-adapter_sdxl.safetensors",
    scale: float = 0.6,
    steps: int = 50,
    guidance: float = 5.0,
) -> Image.Image:
    import torch

    pipeline = load(model, weights)
    pipeline.set_ip_adapter_scale(scale)
    output = pipeline(
        prompt=instruction,
        ip_adapter_image=references[0] if references else source,
        num_inference_steps=steps,
        guidance_scale=guidance,
        generator=torch.Generator("cpu").manual_seed(seed),
    )
    return output.images[0]


@cache
def load(model: str, weights: str):
    import torch
    from diffusers import StableDiffusionXLPipeline

    pipeline = StableDiffusionXLPipeline.from_pretrained(model, torch_dtype=torch.float16)
    pipeline.load_ip_adapter("h94/IP-Adapter", subfolder="sdxl_models", weight_name=weights)
    return pipeline.to("cuda")
