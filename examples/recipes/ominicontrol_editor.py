"""OminiControl: FLUX.1 with a control image (the source), or a subject (the first reference).

Needs a clone of github.com/Yuanshi9815/OminiControl on PYTHONPATH and its requirements. Edits are 512 x 512.
API as in `src/flux/condition.py` of that repository (commit a2a666c), its README (e0453bb) and the notebooks it names.
"""

from functools import cache

from PIL import Image

SIZE = 512


def edit(
    source: Image.Image | None,
    instruction: str,
    seed: int = 0,
    references: tuple[Image.Image, ...] = (),
    control: str = "canny",
    steps: int = 0,
) -> Image.Image:
    """Generate with a `control`: canny, depth, coloring, deblurring, fill or subject.

    The source is a control image already, such as an edge map. Steps by default: 8 for subjects, otherwise 28.
    """
    from src.flux.condition import Condition
    from src.flux.generate import generate, seed_everything

    is_subject = control == "subject"
    image = (references[0] if is_subject and references else source).resize((SIZE, SIZE))
    seed_everything(seed)
    output = generate(
        load(is_subject, control),
        prompt=instruction,
        conditions=[Condition(control, condition=image)],
        height=SIZE,
        width=SIZE,
        num_inference_steps=steps or (8 if is_subject else 28),
    )
    return output.images[0]


@cache
def load(is_subject: bool, control: str):
    import torch
    from diffusers.pipelines import FluxPipeline

    base = "black-forest-labs/FLUX.1-schnell" if is_subject else "black-forest-labs/FLUX.1-dev"
    pipeline = FluxPipeline.from_pretrained(base, torch_dtype=torch.bfloat16).to("cuda")
    weights = "omini/subject_512.safetensors" if is_subject else f"experimental/{control}.safetensors"
    pipeline.load_lora_weights("Yuanshi/OminiControl", weight_name=weights, adapter_name=control)
    return pipeline
