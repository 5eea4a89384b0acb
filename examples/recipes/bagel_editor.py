"""BAGEL (BAGEL-7B-MoT), with or without thinking.

Needs a clone of github.com/ByteDance-Seed/Bagel on PYTHONPATH, its requirements, and the weights in `model`.
API as in `app.py` and `inferencer.py` of that repository (commits a384f61 and 5c4703e).
"""

from functools import cache
from pathlib import Path

from PIL import Image


def edit(
    source: Image.Image,
    instruction: str,
    seed: int = 0,
    think: bool = False,
    model: str = "models/BAGEL-7B-MoT",
    steps: int = 50,
    text_guidance: float = 4.0,
    image_guidance: float = 2.0,
) -> Image.Image:
    import torch

    torch.manual_seed(seed)
    output = load(model)(
        image=source,
        text=instruction,
        think=think,
        max_think_token_n=1024,
        do_sample=False,
        cfg_text_scale=text_guidance,
        cfg_img_scale=image_guidance,
        cfg_interval=[0.0, 1.0],
        timestep_shift=3.0,
        num_timesteps=steps,
        cfg_renorm_min=0.0,
        cfg_renorm_type="text_channel",
    )
    return output["image"]


@cache
def load(folder: str):
    """Return the inferencer, with all weights on one GPU."""
    import torch
    from accelerate import init_empty_weights, load_checkpoint_and_dispatch
    from data.data_utils import add_special_tokens
    from data.transforms import ImageTransform
    from inferencer import InterleaveInferencer
    from modeling import bagel
    from modeling.autoencoder import load_ae
    from modeling.qwen2 import Qwen2Tokenizer

    files = Path(folder)
    language = bagel.Qwen2Config.from_json_file(str(files / "llm_config.json"))
    language.qk_norm, language.tie_word_embeddings, language.layer_module = True, False, "Qwen2MoTDecoderLayer"
    vision = bagel.SiglipVisionConfig.from_json_file(str(files / "vit_config.json"))
    vision.rope, vision.num_hidden_layers = False, vision.num_hidden_layers - 1
    vae, vae_config = load_ae(local_path=str(files / "ae.safetensors"))
    config = bagel.BagelConfig(
        visual_gen=True,
        visual_und=True,
        llm_config=language,
        vit_config=vision,
        vae_config=vae_config,
        vit_max_num_patch_per_side=70,
        connector_act="gelu_pytorch_tanh",
        latent_patch_size=2,
        max_latent_size=64,
    )
    with init_empty_weights():
        model = bagel.Bagel(bagel.Qwen2ForCausalLM(language), bagel.SiglipVisionModel(vision), config)
        model.vit_model.vision_model.embeddings.convert_conv2d_to_linear(vision, meta=True)
    tokenizer, new_token_ids, _ = add_special_tokens(Qwen2Tokenizer.from_pretrained(folder))
    model = load_checkpoint_and_dispatch(
        model, checkpoint=str(files / "ema.safetensors"), device_map={"": 0}, dtype=torch.bfloat16, force_hooks=True
    ).eval()
    return InterleaveInferencer(
        model=model,
        vae_model=vae,
        tokenizer=tokenizer,
        vae_transform=ImageTransform(1024, 512, 16),
        vit_transform=ImageTransform(980, 224, 14),
        new_token_ids=new_token_ids,
    )
