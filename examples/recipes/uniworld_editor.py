"""UniWorld-V1.

Needs a clone of github.com/PKU-YuanGroup/UniWorld (folder UniWorld-V1) on PYTHONPATH and its requirements.
API as in `app.py` of a public copy of that project, aniweave-ai/UniWorld-V1 (commit 7270588). The original was not
available for the look-up.
"""

from functools import cache
from types import SimpleNamespace

from PIL import Image

PIXELS = 448 * 448  # of the image that the language model reads
END_OF_MESSAGE = "<|im_end|>\n"


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    model: str = "LanguageBind/UniWorld-V1",
    flux: str = "black-forest-labs/FLUX.1-dev",
    siglip: str = "google/siglip2-so400m-patch16-512",
    steps: int = 30,
    guidance: float = 4.0,
) -> Image.Image:
    import torch
    from qwen_vl_utils import process_vision_info
    from univa.utils.denoiser_prompt_embedding_flux import encode_prompt

    parts = load(model, flux, siglip)
    image = {"type": "image", "image": source, "min_pixels": PIXELS, "max_pixels": PIXELS}
    chat = [{"role": "user", "content": [{"type": "text", "text": instruction}, image]}]
    text = parts.processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    text = text.split(END_OF_MESSAGE, 1)[1]  # without the system prompt
    images, videos = process_vision_info(chat)
    inputs = parts.processor(text=[text], images=images, videos=videos, padding=True, return_tensors="pt").to("cuda")
    pixels = parts.siglip_processor.preprocess(images=source, do_resize=True, return_tensors="pt", do_convert_rgb=True)
    pipeline = parts.pipeline
    width, height = size_of(source)
    with torch.no_grad():
        details = parts.siglip(pixels.pixel_values.to("cuda")).last_hidden_state
        embeddings = parts.model(
            inputs.input_ids,
            pixel_values=inputs.pixel_values,
            attention_mask=inputs.attention_mask,
            image_grid_thw=inputs.image_grid_thw,
            siglip_hidden_states=details,
            output_type="denoise_embeds",
        )
        encoders, tokenizers = (
            [getattr(pipeline, name), getattr(pipeline, f"{name}_2")] for name in ("text_encoder", "tokenizer")
        )
        # The project's demo gives the text to the language model only.
        _, pooled = encode_prompt(encoders, tokenizers, "", 256, "cuda", 1)
        output = pipeline(
            prompt_embeds=embeddings,
            pooled_prompt_embeds=pooled,
            height=height,
            width=width,
            num_inference_steps=steps,
            guidance_scale=guidance,
            generator=torch.Generator("cuda").manual_seed(seed),
        )
    return output.images[0]


def size_of(image: Image.Image, pixels: int = 1024 * 1024) -> tuple[int, int]:
    """Return about a megapixel in the image's shape, in multiples of 32."""
    scale = (pixels / (image.width * image.height)) ** 0.5
    width, height = (max(1, round(side * scale / 32)) * 32 for side in image.size)
    return width, height


@cache
def load(model: str, flux: str, siglip: str) -> SimpleNamespace:
    import torch
    from transformers import AutoProcessor, SiglipImageProcessor, SiglipVisionModel
    from univa.models.qwen2p5vl.modeling_univa_qwen2p5vl import UnivaQwen2p5VLForConditionalGeneration
    from univa.utils.flux_pipeline import FluxPipeline

    dtype = torch.bfloat16
    loaded = UnivaQwen2p5VLForConditionalGeneration.from_pretrained(
        model, torch_dtype=dtype, attn_implementation="flash_attention_2"
    ).to("cuda")
    pipeline = FluxPipeline.from_pretrained(flux, transformer=loaded.denoise_tower.denoiser, torch_dtype=dtype)
    return SimpleNamespace(
        model=loaded,
        processor=AutoProcessor.from_pretrained(model, min_pixels=PIXELS, max_pixels=PIXELS),
        pipeline=pipeline.to("cuda"),
        siglip_processor=SiglipImageProcessor.from_pretrained(siglip),
        siglip=SiglipVisionModel.from_pretrained(siglip, torch_dtype=dtype).to("cuda"),
    )
