"""GoT (GoT-6B), which writes a plan with positions before it edits.

Works in a clone of github.com/rongyaofang/GoT, whose configurations have relative paths, with its requirements and the
weights in `weights`. That repository was not available for the look-up: the API is that of public copies of its
`got/models/got_model.py` and of a program that loads the model as its notebook does.
"""

import json
from functools import cache
from pathlib import Path

from PIL import Image


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    weights: str = "pretrained/GoT-6B",
    steps: int = 50,
    guidance: float = 7.5,
    image_guidance: float = 1.0,
    position_guidance: float = 4.0,
) -> Image.Image:
    output = load(weights).generate(
        text_input=instruction,
        image=source,
        max_new_tokens=1024,
        num_inference_steps=steps,
        guidance_scale=guidance,
        image_guidance_scale=image_guidance,
        cond_image_guidance_scale=position_guidance,
        height=1024,
        width=1024,
        prompt_type="edit",
        random_seed=seed,
    )
    if not output["images"]:
        raise ValueError(f"the model replied without an image: {output['got_text'][:200]}")
    return output["images"][-1]


@cache
def load(weights: str):
    import hydra
    import torch
    from omegaconf import OmegaConf

    configs = "configs/clm_models"
    language = hydra.utils.instantiate(OmegaConf.load(f"{configs}/llm_qwen25_vl_3b_lora.yaml"), torch_dtype="bf16")
    model = hydra.utils.instantiate(OmegaConf.load(f"{configs}/agent_got.yaml"), mllm=language.eval())
    folder, state = Path(weights), {}
    index = json.loads((folder / "pytorch_model.bin.index.json").read_text())
    for shard in sorted(set(index["weight_map"].values())):
        state.update(torch.load(folder / shard, map_location="cpu"))
    model.load_state_dict(state, strict=False)
    return model.to(torch.bfloat16).to("cuda").eval()
