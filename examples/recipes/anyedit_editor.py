"""AnyEdit (AnySD), with its general expert.

Needs a clone of github.com/weichow23/AnySD on PYTHONPATH and its requirements. The pipeline has one generator for all
images and takes no seed, so `edit` sets the generator before each call.
API as in `anysd/src/model.py` and `anysd/infer.py` of that repository (commit bf39b45).
"""

from functools import cache

from PIL import Image


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    steps: int = 100,
    guidance: float = 3.0,
    image_guidance: float = 3.0,
) -> Image.Image:
    pipeline = load()
    pipeline.general_sd_pipe.generator.manual_seed(seed)
    images = pipeline(
        prompt=instruction,
        original_image=source,
        guidance_scale=guidance,
        num_inference_steps=steps,
        original_image_guidance_scale=image_guidance,
        adapter_name="general",
    )
    return images[0].resize(source.size)


@cache
def load():
    from anysd.src.model import AnySDPipeline
    from anysd.src.utils import get_experts_dir

    experts = get_experts_dir(repo_id="WeiChow/AnySD")
    adapters = {"global": f"{experts}global.bin"}
    return AnySDPipeline(adapters_list=adapters, task_embs_checkpoints=f"{experts}task_embs.bin")
