"""FLUX.1 Canny and Depth [dev] ("FLUX-Control"): images from a control image, the source.

Needs diffusers, and access to the gated weights. API as in diffusers 0.42.
"""

from functools import cache

from PIL import Image


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    model: str = "black-forest-labs/FLUX.1-Canny-dev",
    steps: int = 50,
    guidance: float = 30.0,
) -> Image.Image:
    """Generate from an edge map; from a depth map with model=black-forest-labs/FLUX.1-Depth-dev and guidance=10."""
    import torch

    width, height = (max(16, side // 16 * 16) for side in source.size)
    output = load(model)(
        prompt=instruction,
        control_image=source,
        height=height,
        width=width,
        num_inference_steps=steps,
        guidance_scale=guidance,
        generator=torch.Generator("cpu").manual_seed(seed),
    )
    return output.images[0]


@cache
def load(model: str):
    import torch
    from diffusers import FluxControlPipeline

    return FluxControlPipeline.from_pretrained(model, torch_dtype=torch.bfloat16).to("cuda")
