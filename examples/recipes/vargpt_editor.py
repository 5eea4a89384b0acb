"""VARGPT-v1.1, with the weights for editing.

Needs a clone of github.com/VARGPT-family/VARGPT-v1.1 on PYTHONPATH and its requirements. ComplexBench-Edit does not
name the version that it ran. That repository was not available for the look-up: the API is that of a public copy,
super-zhaoyi/MyVARGPT (commit 702907d), whose example for generation gets an image here.
"""

import tempfile
from functools import cache
from pathlib import Path

from PIL import Image


def edit(source: Image.Image, instruction: str, seed: int = 0, model: str = "VARGPT-family/VARGPT-v1.1-edit") -> bytes:
    import torch

    loaded, processor = load(model)
    chat = [{"role": "user", "content": [{"type": "text", "text": instruction}, {"type": "image"}]}]
    prompt = processor.apply_chat_template(chat, add_generation_prompt=True)
    inputs = processor(images=[source], text=prompt, return_tensors="pt").to(0, torch.float32)
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edit.png"
        loaded._IMAGE_GEN_PATH = str(path)  # the model writes its image to this file
        loaded.generate(**inputs, max_new_tokens=4096, do_sample=False)
        if not path.is_file():
            raise ValueError("the model replied without an image")
        return path.read_bytes()


@cache
def load(model: str):
    import torch
    from patching_utils.patching import patching
    from vargpt_qwen_v1_1.modeling_vargpt_qwen2_vl import VARGPTQwen2VLForConditionalGeneration
    from vargpt_qwen_v1_1.prepare_vargpt_v1_1 import prepare_vargpt_qwen2vl_v1_1
    from vargpt_qwen_v1_1.processing_vargpt_qwen2_vl import VARGPTQwen2VLProcessor

    prepare_vargpt_qwen2vl_v1_1(model)
    loaded = VARGPTQwen2VLForConditionalGeneration.from_pretrained(
        model, torch_dtype=torch.float32, low_cpu_mem_usage=True
    ).to(0)
    patching(loaded)
    return loaded, VARGPTQwen2VLProcessor.from_pretrained(model)
