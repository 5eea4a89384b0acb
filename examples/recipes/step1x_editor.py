"""Step1X-Edit: `edit` runs v1p2 and its preview, with or without thinking, and `edit_v1` the first version.

`edit` needs the diffusers of github.com/Peyton-Chen/diffusers (branch step1xedit_v1p2; for the preview
dev/MergeV1-2) and transformers 4.55.0. `edit_v1` needs a clone of github.com/stepfun-ai/Step1X-Edit on PYTHONPATH, its
requirements, and the weights in `model`. API as in that repository's `inference.py` (commit 055f808) and README.
"""

from functools import cache
from pathlib import Path

from PIL import Image


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    think: bool = False,
    model: str = "stepfun-ai/Step1X-Edit-v1p2",
    steps: int = 50,
    guidance: float = 6.0,
) -> Image.Image:
    """Edit with v1p2. The authors run the preview with steps=28 and guidance=4."""
    import torch

    output = load(model)(
        image=source,
        prompt=instruction,
        num_inference_steps=steps,
        true_cfg_scale=guidance,
        generator=torch.Generator().manual_seed(seed),
        enable_thinking_mode=think,
        enable_reflection_mode=think,
    )
    # With reflection, there are several images, and v1p2 names the best. The preview has no `final_images`.
    final = getattr(output, "final_images", None)
    return (final or output.images[-1:])[0]


@cache
def load(model: str):
    import torch
    from diffusers import Step1XEditPipelineV1P2

    return Step1XEditPipelineV1P2.from_pretrained(model, torch_dtype=torch.bfloat16).to("cuda")


def edit_v1(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    model: str = "models/Step1X-Edit",
    steps: int = 28,
    guidance: float = 6.0,
    size_level: int = 512,
) -> Image.Image:
    images = load_v1(model).generate_image(
        instruction,
        negative_prompt="",
        ref_images=source,
        num_steps=steps,
        cfg_guidance=guidance,
        seed=seed,
        num_samples=1,
        size_level=size_level,
    )
    return images[0]


@cache
def load_v1(folder: str):
    from inference import ImageGenerator

    files = Path(folder)
    return ImageGenerator(
        dit_path=str(files / "step1x-edit-i1258.safetensors"),
        ae_path=str(files / "vae.safetensors"),
        qwen2vl_model_path=str(files / "Qwen2.5-VL-7B-Instruct"),
        max_length=640,
    )
