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
from contextlib import nullcontext as no_grad
import numpy
from recorder import record

bfloat16, float16, float32 = "bfloat16", "float16", "float32"

class Generator:
    def __init__(self, device="cpu"):
        self.device = device

    def manual_seed(self, seed):
        self.seed = seed
        return self

def manual_seed(seed):
    record(seed=seed)

class Tensor(numpy.ndarray):
    def to(self, device):
        assert device == "cuda"
        return self

def tensor(values):
    return numpy.array(values).view(Tensor)

def load(path, map_location):
    record(load=path.name)
    return {path.name: 1}
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
    "uniworld": {
        "qwen_vl_utils.py": """
def process_vision_info(chat):
    return [part["image"] for part in chat[0]["content"] if part["type"] == "image"], None
""",
        "transformers.py": """
from types import SimpleNamespace
from recorder import Weights, record

class Inputs(SimpleNamespace):
    def to(self, device):
        return self

class AutoProcessor:
    @classmethod
    def from_pretrained(cls, model, min_pixels, max_pixels):
        return cls()

    def apply_chat_template(self, chat, tokenize, add_generation_prompt):
        text = "".join(part.get("text", "<image>") for part in chat[0]["content"])
        return f"<|im_start|>system\\nBe good.<|im_end|>\\n<|im_start|>user\\n{text}<|im_end|>\\n<|im_start|>assistant"

    def __call__(self, text, images, videos, padding, return_tensors):
        assert text[0].startswith("<|im_start|>user")
        return Inputs(input_ids=text[0], pixel_values=images[0], attention_mask="mask", image_grid_thw="grid")

class SiglipImageProcessor:
    @classmethod
    def from_pretrained(cls, model):
        return cls()

    def preprocess(self, images, do_resize, return_tensors, do_convert_rgb):
        return SimpleNamespace(pixel_values=Inputs(image=images))

class SiglipVisionModel(Weights):
    def __call__(self, pixels):
        return SimpleNamespace(last_hidden_state=pixels.image)
""",
        "univa/models/qwen2p5vl/modeling_univa_qwen2p5vl.py": """
from types import SimpleNamespace
from recorder import Weights

class UnivaQwen2p5VLForConditionalGeneration(Weights):
    denoise_tower = SimpleNamespace(denoiser="denoiser")

    def __call__(
        self, input_ids, pixel_values, attention_mask, image_grid_thw, siglip_hidden_states, output_type
    ):
        assert (attention_mask, image_grid_thw, output_type) == ("mask", "grid", "denoise_embeds")
        assert siglip_hidden_states is pixel_values
        return pixel_values, input_ids
""",
        "univa/utils/denoiser_prompt_embedding_flux.py": """
def encode_prompt(text_encoders, tokenizers, prompt, max_sequence_length, device, num_images_per_prompt):
    assert (text_encoders, tokenizers, prompt, max_sequence_length) == (["e", "e2"], ["t", "t2"], "", 256)
    return "embedded", "pooled"
""",
        "univa/utils/flux_pipeline.py": """
from PIL import ImageOps
from recorder import Output, Weights, record

class FluxPipeline(Weights):
    text_encoder, text_encoder_2, tokenizer, tokenizer_2 = "e", "e2", "t", "t2"

    def __call__(
        self, prompt_embeds, pooled_prompt_embeds, height, width, num_inference_steps, guidance_scale, generator
    ):
        assert (self.options["transformer"], pooled_prompt_embeds) == ("denoiser", "pooled")
        image, text = prompt_embeds
        record(call=[image, text], steps=num_inference_steps, guidance=guidance_scale, generator=generator)
        return Output(ImageOps.invert(image.resize((width, height))))
""",
    },
    "seed_llama": {
        "omegaconf.py": """
class OmegaConf:
    load = staticmethod(lambda path: path)
""",
        "hydra/utils.py": """
from types import SimpleNamespace
import torch
from PIL import Image, ImageOps
from recorder import record

state = SimpleNamespace()
WORDS = {"<img>": 40000, "</img>": 40001}

class Tokenizer:
    bos_token = "<s>"

    def __call__(self, text, add_special_tokens, return_tensors=None):
        if return_tensors is None:
            return SimpleNamespace(input_ids=[WORDS[text]])
        state.text = text
        return SimpleNamespace(input_ids=torch.tensor([[1, 2, 3]]))

    def encode_image(self, image_path=None, image_pil=None, image_torch=None, image_size=224):
        return image_torch

    def decode_image(self, indices, negative_indices=None, guidance_scale=10):
        assert indices.tolist() == [[5, 6, 7]]
        return [ImageOps.invert(state.image)]

class Model:
    def eval(self):
        return self

    def to(self, device):
        record(load="seed_llama_8b", device=device)
        return self

    def generate(self, input_ids, temperature, num_beams, max_new_tokens, top_p, do_sample):
        start, end = "<s>USER: <img><img_00011><img_00012></img>", "\\nASSISTANT:"
        assert state.text.startswith(start) and state.text.endswith(end)
        record(call=[state.image, state.text], sampling=[temperature, top_p, do_sample])
        return torch.tensor([[1, 2, 3, 9, 40000, 32005, 32006, 32007, 40001, 8]])

def transform(image):
    state.image = image
    return torch.tensor([[11, 12]])

def instantiate(config, **options):
    record(load=config, options=options)
    made = {"seed_llama_tokenizer_hf": Tokenizer(), "clip_transform": transform, "seed_llama_8b": Model()}
    return made[config.rpartition("/")[2].removesuffix(".yaml")]
""",
        "hydra/__init__.py": "from hydra import utils",
    },
    "ace_plus": {
        "inference/ace_plus_diffusers.py": """
from PIL import ImageOps
from recorder import record
from scepter.modules.utils.file_system import clients

class ACEPlusDiffuserInference:
    def __init__(self, logger=None):
        pass

    def init_from_cfg(self, cfg):
        assert clients == ["HuggingfaceFs", "ModelscopeFs", "HttpFs", "LocalFs"]
        record(load=cfg.cfg_file)

    def __call__(
        self, reference_image=None, edit_image=None, edit_mask=None, prompt="", task=None, output_height=1024,
        output_width=1024, sampler="flow_euler", sample_steps=28, guide_scale=50, lora_path=None, seed=-1,
        tar_index=0, align=0, repainting_scale=0,
    ):
        record(call=[edit_image, prompt], steps=sample_steps, guidance=guide_scale, generator=seed, lora=lora_path,
               mask=[edit_mask.mode, edit_mask.getpixel((0, 0))], repainting=repainting_scale)
        return ImageOps.invert(edit_image), seed
""",
        "scepter/modules/utils/config.py": """
class Config:
    MODEL = {"LOCAL_EDITING": {"MODEL_PATH": "local.safetensors"}, "SUBJECT": {"MODEL_PATH": "subject.safetensors"}}

    def __init__(self, cfg_dict={}, load=True, cfg_file=None):
        self.cfg_dict, self.cfg_file = cfg_dict, cfg_file
""",
        "scepter/modules/utils/file_system.py": """
clients = []

class FS:
    @staticmethod
    def init_fs_client(config):
        clients.append(config.cfg_dict["NAME"])
""",
    },
    "ominicontrol": {
        "diffusers/pipelines.py": """
from recorder import Weights, record

class FluxPipeline(Weights):
    def load_lora_weights(self, model, weight_name, adapter_name):
        record(load=[model, weight_name, adapter_name])
""",
        "src/flux/condition.py": """
class Condition:
    def __init__(self, condition_type, raw_img=None, condition=None, mask=None, position_delta=None):
        self.condition_type, self.condition = condition_type, condition
""",
        "src/flux/generate.py": """
from PIL import ImageOps
from recorder import Output, record

def seed_everything(seed=42):
    record(seed=seed)

def generate(pipeline, prompt, conditions, height, width, num_inference_steps):
    (condition,) = conditions
    record(call=[condition.condition, prompt], control=condition.condition_type, steps=num_inference_steps)
    return Output(ImageOps.invert(condition.condition.resize((width, height))))
""",
    },
    "flux_control": {
        "diffusers.py": """
from PIL import ImageOps
from recorder import Output, Weights, record

class FluxControlPipeline(Weights):
    def __call__(
        self, prompt, control_image, height, width, num_inference_steps, guidance_scale, generator
    ):
        record(call=[control_image, prompt], steps=num_inference_steps, guidance=guidance_scale, generator=generator)
        return Output(ImageOps.invert(control_image.resize((width, height))))
"""
    },
    "ip_adapter": {
        "diffusers.py": """
from PIL import ImageOps
from recorder import Output, Weights, record

class StableDiffusionXLPipeline(Weights):
    def load_ip_adapter(self, model, subfolder, weight_name, image_encoder_folder="image_encoder"):
        record(load=[model, subfolder, weight_name])

    def set_ip_adapter_scale(self, scale):
        self.scale = scale

    def __call__(self, prompt, ip_adapter_image, num_inference_steps, guidance_scale, generator):
        record(call=[ip_adapter_image, prompt], steps=num_inference_steps, guidance=guidance_scale, scale=self.scale,
               generator=generator)
        return Output(ImageOps.invert(ip_adapter_image))
"""
    },
    "got": {
        "omegaconf.py": """
class OmegaConf:
    load = staticmethod(lambda path: path)
""",
        "hydra/utils.py": """
from PIL import ImageOps
from recorder import record

class Language:
    def eval(self):
        return self

class GenCot(Language):
    def load_state_dict(self, state, strict):
        self.state = state

    def to(self, where):
        return self

    def generate(
        self, text_input, image=None, max_new_tokens=1024, num_inference_steps=50, guidance_scale=7.5,
        image_guidance_scale=1.0, cond_image_guidance_scale=4.0, height=1024, width=1024, input_token_num=256,
        do_classifier_free_guidance=True, crops_coords_top_left=(0, 0), prompt_type="t2i", random_seed=42,
    ):
        assert (prompt_type, sorted(self.state)) == ("edit", ["model-1.bin", "model-2.bin"])
        record(call=[image, text_input], steps=num_inference_steps, generator=random_seed,
               scales=[guidance_scale, image_guidance_scale, cond_image_guidance_scale])
        return {"got_text": "a plan", "images": [ImageOps.invert(image)]}

def instantiate(config, torch_dtype=None, mllm=None):
    record(load=config)
    return Language() if mllm is None else GenCot()
""",
        "hydra/__init__.py": "from hydra import utils",
        "pretrained/GoT-6B/pytorch_model.bin.index.json": """
{"weight_map": {"a": "model-1.bin", "b": "model-2.bin", "c": "model-1.bin"}}
""",
    },
    "vargpt": {
        "patching_utils/patching.py": """
def patching(model):
    model.patched = True
""",
        "vargpt_qwen_v1_1/prepare_vargpt_v1_1.py": """
from recorder import record

def prepare_vargpt_qwen2vl_v1_1(model):
    record(load="prepared")
""",
        "vargpt_qwen_v1_1/processing_vargpt_qwen2_vl.py": """
from recorder import Weights

class Inputs(dict):
    def to(self, device, dtype):
        return self

class VARGPTQwen2VLProcessor(Weights):
    def apply_chat_template(self, chat, add_generation_prompt):
        return "".join(part.get("text", "<image>") for part in chat[0]["content"])

    def __call__(self, images, text, return_tensors):
        return Inputs(pixel_values=images[0], input_ids=text)
""",
        "vargpt_qwen_v1_1/modeling_vargpt_qwen2_vl.py": """
from PIL import ImageOps
from recorder import Weights, record

class VARGPTQwen2VLForConditionalGeneration(Weights):
    def generate(self, pixel_values, input_ids, max_new_tokens, do_sample):
        assert self.patched
        record(call=[pixel_values, input_ids], tokens=max_new_tokens)
        ImageOps.invert(pixel_values).save(self._IMAGE_GEN_PATH)
""",
    },
}


def write_stand_in(project: str, folder: Path) -> None:
    """Write the modules of a project, and those that all projects use, into a folder."""
    for name, text in (COMMON | STAND_INS[project]).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if "/" in name:  # a folder without this file has a lower priority than an installed package
            (folder / name.partition("/")[0] / "__init__.py").touch()
