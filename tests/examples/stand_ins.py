"""Stand-ins of the projects that recipes call: modules with the same names, signatures and kinds of results.

A wrong name or argument raises. Each load and each call is recorded in the file `$STAND_IN_LOG`, a JSON object a line.
The "edit" of an image is its negative.
"""

from __future__ import annotations

from pathlib import Path

RECORDER = '''
import json, os
from PIL import ImageOps

def describe(value):
    if hasattr(value, "mode"):
        return [value.mode, *value.size]
    return vars(value) if hasattr(value, "__dict__") else str(value)

def record(**facts):
    with open(os.environ["STAND_IN_LOG"], "a") as file:
        file.write(json.dumps(facts, default=describe) + "\\n")

class Output:
    def __init__(self, *images, **more):
        self.images = list(images)
        vars(self).update(more)

class Weights:
    """Something that is loaded, and moved to a device."""

    def to(self, device):
        record(load=type(self).__name__, device=device)
        return self

    @classmethod
    def from_pretrained(cls, model, **options):
        found = cls()
        found.model, found.options = model, options
        record(load=cls.__name__, model=model, options=options)
        return found
'''
TORCH = """
from recorder import record

bfloat16, float16 = "bfloat16", "float16"

class Generator:
    def __init__(self, device="cpu"):
        self.device = device

    def manual_seed(self, seed):
        self.seed = seed
        return self

def manual_seed(seed):
    record(seed=seed)
"""
COMMON = {"recorder.py": RECORDER, "torch.py": TORCH}
STAND_INS = {
    "bagel": {
        "accelerate.py": """
from contextlib import nullcontext as init_empty_weights
from recorder import record

def load_checkpoint_and_dispatch(model, checkpoint, device_map, dtype, force_hooks):
    record(load="Bagel", checkpoint=checkpoint, dtype=dtype)
    return model
""",
        "data/data_utils.py": """
def add_special_tokens(tokenizer):
    return tokenizer, {"start": 1}, 1
""",
        "data/transforms.py": """
class ImageTransform:
    def __init__(self, max_image_size, min_image_size, image_stride):
        self.sizes = max_image_size, min_image_size, image_stride
""",
        "inferencer.py": """
from PIL import ImageOps
from recorder import record

class InterleaveInferencer:
    def __init__(self, model, vae_model, tokenizer, vae_transform, vit_transform, new_token_ids):
        assert model.evaluating and (vae_transform.sizes, vit_transform.sizes) == ((1024, 512, 16), (980, 224, 14))

    def __call__(self, image=None, text=None, **options):
        return {"text": None, "image": self.interleave_inference([image, text], **options)}

    def interleave_inference(
        self, input_lists, think=False, understanding_output=False, max_think_token_n=1000, do_sample=False,
        text_temperature=0.3, cfg_text_scale=3.0, cfg_img_scale=1.5, cfg_interval=[0.4, 1.0], timestep_shift=3.0,
        num_timesteps=50, cfg_renorm_min=0.0, cfg_renorm_type="global", image_shapes=(1024, 1024),
    ):
        record(call=input_lists, think=think, scales=[cfg_text_scale, cfg_img_scale], renorm=cfg_renorm_type,
               interval=cfg_interval, steps=num_timesteps)
        return ImageOps.invert(input_lists[0])
""",
        "modeling/autoencoder.py": """
def load_ae(local_path):
    return object(), {"vae": local_path}
""",
        "modeling/bagel.py": """
from types import SimpleNamespace

class Qwen2Config(SimpleNamespace):
    @classmethod
    def from_json_file(cls, path):
        return cls(file=path, num_hidden_layers=27)

SiglipVisionConfig = Qwen2Config

class BagelConfig:
    def __init__(
        self, visual_gen, visual_und, llm_config, vit_config, vae_config, latent_patch_size, max_latent_size,
        vit_max_num_patch_per_side, connector_act,
    ):
        assert (llm_config.layer_module, vit_config.num_hidden_layers) == ("Qwen2MoTDecoderLayer", 26)

class Qwen2ForCausalLM:
    def __init__(self, config):
        pass

class SiglipVisionModel:
    def __init__(self, config):
        embeddings = SimpleNamespace(convert_conv2d_to_linear=lambda config, meta: None)
        self.vision_model = SimpleNamespace(embeddings=embeddings)

class Bagel:
    def __init__(self, language_model, vit_model, config):
        self.vit_model = vit_model

    def eval(self):
        self.evaluating = True
        return self
""",
        "modeling/qwen2.py": """
from recorder import Weights

class Qwen2Tokenizer(Weights):
    pass
""",
    },
    "step1x": {
        "diffusers.py": """
from PIL import ImageOps
from recorder import Output, Weights, record

class Step1XEditPipelineV1P2(Weights):
    def __call__(
        self, image, prompt, num_inference_steps, true_cfg_scale, generator, enable_thinking_mode,
        enable_reflection_mode,
    ):
        record(call=[image, prompt], steps=num_inference_steps, guidance=true_cfg_scale, generator=generator,
               think=[enable_thinking_mode, enable_reflection_mode])
        best = {} if self.model.endswith("preview") else {"final_images": [ImageOps.invert(image)]}
        return Output(image, ImageOps.invert(image), **best)
""",
        "inference.py": """
from PIL import ImageOps
from recorder import record

class ImageGenerator:
    def __init__(
        self, dit_path=None, ae_path=None, qwen2vl_model_path=None, device="cuda", max_length=640, dtype="bfloat16",
        quantized=False, offload=False, lora=None,
    ):
        record(load="ImageGenerator", files=[dit_path, ae_path, qwen2vl_model_path])

    def generate_image(
        self, prompt, negative_prompt, ref_images, num_steps, cfg_guidance, seed, num_samples=1, init_image=None,
        image2image_strength=0.0, show_progress=False, size_level=512,
    ):
        record(call=[ref_images, prompt], steps=num_steps, guidance=cfg_guidance, generator=seed, size=size_level)
        return [ImageOps.invert(ref_images)]
""",
    },
    "omnigen2": {
        "omnigen2/models/transformers/transformer_omnigen2.py": """
from recorder import Weights

class OmniGen2Transformer2DModel(Weights):
    pass
""",
        "omnigen2/pipelines/omnigen2/pipeline_omnigen2.py": """
from PIL import ImageOps
from recorder import Output, Weights, record

class OmniGen2Pipeline(Weights):
    def __call__(
        self, prompt, input_images, width, height, num_inference_steps, max_sequence_length, text_guidance_scale,
        image_guidance_scale, cfg_range, negative_prompt, num_images_per_prompt, generator, output_type,
    ):
        assert self.transformer.options["subfolder"] == "transformer"
        record(call=[*input_images, prompt], steps=num_inference_steps, size=[width, height], generator=generator,
               scales=[text_guidance_scale, image_guidance_scale])
        return Output(ImageOps.invert(input_images[0].resize((width, height))))
""",
    },
    "icedit": {
        "diffusers.py": """
from PIL import Image, ImageOps
from recorder import Output, Weights, record

class FluxFillPipeline(Weights):
    def load_lora_weights(self, lora):
        record(load=lora)

    def __call__(self, prompt, image, mask_image, width, height, guidance_scale, num_inference_steps, generator):
        record(call=[image, prompt], mask=mask_image, steps=num_inference_steps, size=[width, height],
               generator=generator, guidance=guidance_scale)
        left = image.crop((0, 0, width // 2, height))
        filled = image.copy()
        filled.paste(ImageOps.invert(left), (width // 2, 0))
        return Output(Image.composite(filled, image, mask_image))
"""
    },
    "ultraedit": {
        "diffusers.py": """
from PIL import Image, ImageOps
from recorder import Output, Weights, record

class StableDiffusion3InstructPix2PixPipeline(Weights):
    def __call__(
        self, prompt, image, mask_img, negative_prompt, num_inference_steps, image_guidance_scale, guidance_scale,
        generator,
    ):
        record(call=[image, prompt], mask=[*mask_img.size, *mask_img.getpixel((0, 0))], steps=num_inference_steps,
               scales=[guidance_scale, image_guidance_scale], generator=generator)
        return Output(ImageOps.invert(image))
"""
    },
    "anyedit": {
        "anysd/src/model.py": """
from types import SimpleNamespace
import torch
from PIL import ImageOps
from recorder import record

class AnySDPipeline:
    def __init__(self, adapters_list, task_embs_checkpoints):
        record(load="AnySDPipeline", files=[*adapters_list.values(), task_embs_checkpoints])
        self.general_sd_pipe = SimpleNamespace(generator=torch.Generator("cuda").manual_seed(0))

    def __call__(
        self, reference_image=None, original_image=None, prompt=None, guidance_scale=7.5,
        original_image_guidance_scale=2.5, reference_image_guidance_scale=0.8, num_inference_steps=30,
        adapter_name=None, e_code=None,
    ):
        record(call=[original_image, prompt], steps=num_inference_steps, adapter=adapter_name,
               scales=[guidance_scale, original_image_guidance_scale], generator=self.general_sd_pipe.generator)
        return [ImageOps.invert(original_image.resize((512, 512)))]
""",
        "anysd/src/utils.py": """
def get_experts_dir(repo_id):
    assert repo_id == "WeiChow/AnySD"
    return "experts/"
""",
    },
}


def write_stand_in(project: str, folder: Path) -> None:
    """Write the modules of a project, and those that all projects use, into a folder."""
    for name, text in (COMMON | STAND_INS[project]).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
