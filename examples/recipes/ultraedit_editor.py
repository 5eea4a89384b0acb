"""UltraEdit (Stable Diffusion 3), with a mask or without.

Needs the diffusers in github.com/HaozheZhao/UltraEdit (folder `diffusers`). Images are 512 x 512, as in training.
API as in `example.py` of that repository (commit 70e8ce5).
"""

from functools import cache

from PIL import Image

SIZE = (512, 512)


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    mask: Image.Image | None = None,
    model: str = "BleachNick/SD3_UltraEdit_w_mask",
    steps: int = 50,
    guidance: float = 7.5,
    image_guidance: float = 1.5,
) -> Image.Image:
    import torch

    # A blank mask lets the whole image change.
    region = Image.new("RGB", SIZE, "white") if mask is None else mask.resize(SIZE)
    output = load(model)(
        instruction,
        image=source.resize(SIZE),
        mask_img=region,
        negative_prompt="",
        num_inference_steps=steps,
        image_guidance_scale=image_guidance,
        guidance_scale=guidance,
        generator=torch.Generator("cpu").manual_seed(seed),
    )
    return output.images[0].resize(source.size)


@cache
def load(model: str):
    import torch
    from diffusers import StableDiffusion3InstructPix2PixPipeline

    return StableDiffusion3InstructPix2PixPipeline.from_pretrained(model, torch_dtype=torch.float16).to("cuda")
