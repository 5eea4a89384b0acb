"""ICEdit: a LoRA for FLUX.1 Fill, which fills the right half of a diptych.

Needs diffusers with peft, and access to the gated weights of FLUX.1 Fill. Edits are 512 pixels wide, as in training.
API as in `scripts/gradio_demo.py` of github.com/River-Zhang/ICEdit (commit 2ff9fb2).
"""

from functools import cache

from PIL import Image

WIDTH = 512
# The wording with which the LoRA was trained.
PROMPT = (
    "A diptych with two side-by-side images of the same scene. "
    "On the right, the scene is exactly the same as on the left but {instruction}"
)


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    model: str = "black-forest-labs/FLUX.1-Fill-dev",
    lora: str = "sanaka87/ICEdit-MoE-LoRA",
    steps: int = 28,
    guidance: float = 50.0,
) -> Image.Image:
    import torch

    height = max(8, int(source.height * WIDTH / source.width) // 8 * 8)
    diptych = Image.new("RGB", (2 * WIDTH, height))
    diptych.paste(source.resize((WIDTH, height)))
    mask = Image.new("L", diptych.size)
    mask.paste(255, (WIDTH, 0, 2 * WIDTH, height))
    output = load(model, lora)(
        prompt=PROMPT.format(instruction=instruction),
        image=diptych,
        mask_image=mask,
        width=2 * WIDTH,
        height=height,
        guidance_scale=guidance,
        num_inference_steps=steps,
        generator=torch.Generator("cpu").manual_seed(seed),
    )
    return output.images[0].crop((WIDTH, 0, 2 * WIDTH, height))


@cache
def load(model: str, lora: str):
    import torch
    from diffusers import FluxFillPipeline

    pipeline = FluxFillPipeline.from_pretrained(model, torch_dtype=torch.bfloat16)
    pipeline.load_lora_weights(lora)
    return pipeline.to("cuda")
