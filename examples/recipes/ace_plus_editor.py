"""ACE++: the LoRAs for local editing, subjects and portraits.

Works in a clone of github.com/ali-vilab/ACE_plus, whose configurations have relative paths, with its requirements and
the environment variables of its README (commit 2f6a329).
API as in `inference/ace_plus_diffusers.py` and `predict.py` of a public copy, hardikdava/ACE_plus (commit 0346237).
"""

from functools import cache

from PIL import Image


def edit(
    source: Image.Image | None,
    instruction: str,
    seed: int = 0,
    mask: Image.Image | None = None,
    references: tuple[Image.Image, ...] = (),
    task: str = "",
    config: str = "config/ace_plus_diffuser_infer.yaml",
    steps: int = 28,
    guidance: float = 50.0,
    repainting: float = 1.0,
) -> Image.Image:
    """Edit with the LoRA of a task: LOCAL_EDITING, SUBJECT or PORTRAIT.

    By default SUBJECT if there are references. Only the first is used.
    """
    if source is not None and mask is None:
        mask = Image.new("L", source.size, 255)  # the whole image may change
    width, height = source.size if source is not None else (1024, 1024)
    image, _ = load(config)(
        reference_image=references[0] if references else None,
        edit_image=source,
        edit_mask=mask and mask.convert("L"),
        prompt=instruction,
        output_height=height,
        output_width=width,
        sampler="flow_euler",
        sample_steps=steps,
        guide_scale=guidance,
        seed=seed,
        repainting_scale=repainting,
        lora_path=lora_of(task or ("SUBJECT" if references else "LOCAL_EDITING")),
    )
    return image


@cache
def load(config: str):
    from inference.ace_plus_diffusers import ACEPlusDiffuserInference
    from scepter.modules.utils.config import Config
    from scepter.modules.utils.file_system import FS

    for name in ("HuggingfaceFs", "ModelscopeFs", "HttpFs", "LocalFs"):
        FS.init_fs_client(Config(cfg_dict={"NAME": name, "TEMP_DIR": "./cache"}, load=False))
    pipeline = ACEPlusDiffuserInference()
    pipeline.init_from_cfg(Config(load=True, cfg_file=config))
    return pipeline


@cache
def lora_of(task: str) -> str:
    from scepter.modules.utils.config import Config

    models = Config(load=True, cfg_file="models/model_zoo.yaml").MODEL
    return dict(models.items())[task]["MODEL_PATH"]
