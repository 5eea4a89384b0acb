"""SEED-LLaMA 8B, which writes images as tokens.

Works in a clone of github.com/AILab-CVC/SEED, whose configurations have relative paths, with its requirements and
weights.
API as in `scripts/seed_llama_inference_8B.py` (commit 2f22a2b) and `models/seed_llama_tokenizer.py` (0ea88d1).
"""

from functools import cache

from PIL import Image

IMAGE_START, IMAGE_END = "<img>", "</img>"
FIRST_IMAGE_ID = 32000


def edit(source: Image.Image, instruction: str, seed: int = 0, temperature: float = 1.0, top_p: float = 0.5):
    import torch

    tokenizer, transform, model = load()
    torch.manual_seed(seed)
    ids = tokenizer.encode_image(image_torch=transform(source).to("cuda")).reshape(-1).tolist()
    image = IMAGE_START + "".join(f"<img_{token:05d}>" for token in ids) + IMAGE_END
    prompt = f"{tokenizer.bos_token}USER: {image}{instruction}\nASSISTANT:"
    asked = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids.to("cuda")
    written = model.generate(
        input_ids=asked, temperature=temperature, num_beams=1, max_new_tokens=512, top_p=top_p, do_sample=True
    )
    reply = written[0][asked.shape[1] :].tolist()
    start, end = (tokenizer(mark, add_special_tokens=False).input_ids[0] for mark in (IMAGE_START, IMAGE_END))
    if start not in reply or end not in reply:
        raise ValueError("the model replied without an image")
    tokens = reply[reply.index(start) + 1 : reply.index(end)]
    return tokenizer.decode_image(torch.tensor([[token - FIRST_IMAGE_ID for token in tokens]]))[0]


@cache
def load():
    """Return the tokenizer, the transform of images, and the model."""
    import hydra
    import torch
    from omegaconf import OmegaConf

    def build(config: str, **options: object):
        return hydra.utils.instantiate(OmegaConf.load(f"configs/{config}.yaml"), **options)

    tokenizer = build("tokenizer/seed_llama_tokenizer_hf", device="cuda", load_diffusion=True)
    model = build("llm/seed_llama_8b", torch_dtype=torch.float16)
    return tokenizer, build("transform/clip_transform"), model.eval().to("cuda")
