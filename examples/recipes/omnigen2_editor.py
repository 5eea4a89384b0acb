"""OmniGen2, with references.

Needs a clone of github.com/VectorSpaceLab/OmniGen2 on PYTHONPATH and its requirements.
API as in `inference.py` of that repository (commit 10fc7b8).
"""

from functools import cache

from PIL import Image


def edit(
    source: Image.Image | None,
    instruction: str,
    seed: int = 0,
    references: tuple[Image.Image, ...] = (),
    model: str = "OmniGen2/OmniGen2",
    steps: int = 50,
    text_guidance: float = 5.0,
    image_guidance: float = 2.0,
    negative_prompt: str = "",
) -> Image.Image:
    import torch

    images = [image for image in (source, *references) if image is not None]
    width, height = size_of(images[0]) if images else (1024, 1024)
    output = load(model)(
        prompt=instruction,
        input_images=images or None,
        width=width,
        height=height,
        num_inference_steps=steps,
        max_sequence_length=1024,
        text_guidance_scale=text_guidance,
        image_guidance_scale=image_guidance,
        cfg_range=(0.0, 1.0),
        negative_prompt=negative_prompt,
        num_images_per_prompt=1,
        generator=torch.Generator(device="cuda").manual_seed(seed),
        output_type="pil",
    )
    return output.images[0]


def size_of(image: Image.Image, pixels: int = 1024 * 1024) -> tuple[int, int]:
    """Return the image's size in multiples of 16, reduced to at most `pixels`."""
    scale = min(1.0, (pixels / (image.width * image.height)) ** 0.5)
    width, height = (max(16, int(side * scale) // 16 * 16) for side in image.size)
    return width, height


@cache
def load(model: str):
    import torch
    from omnigen2.models.transformers.transformer_omnigen2 import OmniGen2Transformer2DModel
    from omnigen2.pipelines.omnigen2.pipeline_omnigen2 import OmniGen2Pipeline

    pipeline = OmniGen2Pipeline.from_pretrained(model, torch_dtype=torch.bfloat16, trust_remote_code=True)
    pipeline.transformer = OmniGen2Transformer2DModel.from_pretrained(
        model, subfolder="transformer", torch_dtype=torch.bfloat16
    )
    return pipeline.to("cuda")
