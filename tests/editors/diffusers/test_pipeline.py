"""Tests of pipeline settings, and of the facts that images depend on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from creval.core.errors import CrevalError
from creval.editors.diffusers.pipeline import DiffusersPipeline, PipelineSettings

Tiny = Callable[[str], Path]
PIX2PIX = "StableDiffusionInstructPix2PixPipeline"


def facts(folder: Path, **settings: Any) -> Mapping[str, Any]:
    return DiffusersPipeline("diffusers:x", str(folder), PipelineSettings(settings)).manifest_entry


def test_facts_are_what_images_depend_on(tiny: Tiny) -> None:
    folder = tiny("QwenImageEditPipeline")
    plain = facts(folder, steps=5, guidance=3)
    assert plain["class"] == "QwenImageEditPipeline"
    assert plain["call"] == {"negative_prompt": " ", "num_inference_steps": 5, "true_cfg_scale": 3}
    assert plain["dtype"] == "float32"
    versions = [import_module(name).__version__ for name in ("diffusers", "transformers")]
    assert list(plain["versions"].values()) == versions
    same = facts(folder, num_inference_steps=5, true_cfg_scale=3, batch=2, device="cpu")
    assert same == plain
    for other in ({"dtype": "bfloat16"}, {"pixels": 10_000}, {"steps": 6}, {"variant": "fp16"}):
        assert facts(folder, **{"steps": 5, "guidance": 3} | other) != plain
    none = facts(folder, steps=5, guidance=3, negative_prompt=None)
    assert "negative_prompt" not in none["call"], "null removes a parameter"


def test_other_weights_are_another_model(tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny(PIX2PIX), folder)
    before = facts(folder)
    (folder / "README.md").write_text("Trained on cats.")
    (folder / "logs").mkdir()
    (folder / "logs" / "today.txt").write_text("step 1")
    assert facts(folder) == before, "the file is not part of the pipeline"
    (weights,) = (folder / "unet").glob("*.safetensors")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert facts(folder) != before


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"stpes": 4}, "there is no setting of .*Pix2PixPipeline 'stpes'; did you mean 'steps'"),
        ({"true_cfg_scale": 4}, "no setting .* 'true_cfg_scale'.* Known: .*guidance_scale"),
        ({"latents": 4}, "no setting"),
        ({"steps": 4, "num_inference_steps": 5}, "steps is an alias of num_inference_steps"),
        ({"offload": "model", "device": "cpu"}, "saves GPU memory"),
        ({"device": "toaster"}, "`settings` device=toaster"),
        ({"revision": "main"}, "is a folder"),
        ({"pipeline": "FluxKontxtPipeline"}, "did you mean 'FluxKontextPipeline'"),
        ({"pipeline": "WanImageToVideoPipeline"}, "generates videos"),
    ],
)
def test_settings_that_are_none(settings: dict[str, Any], reason: str, tiny: Tiny) -> None:
    with pytest.raises(CrevalError, match=reason):
        facts(tiny(PIX2PIX), **settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"batch": 0}, "batch takes a whole number from 1"),
        ({"batch": "two"}, "batch takes a whole number"),
        ({"steps": 2.5}, "steps takes a whole number"),
        ({"steps": True}, "steps takes a whole number"),
        ({"guidance": "much"}, "guidance takes a number"),
        ({"guidance": True}, "guidance takes a number"),
        ({"pixels": 9}, "pixels takes a whole number from 4096"),
        ({"dtype": "float8"}, "no `settings` dtype 'float8'"),
        ({"offload": "all"}, "no `settings` offload 'all'"),
        ({"prompt": "x"}, "`settings` prompt: creval sets this itself"),
        ({"generator": 1}, "`settings` generator"),
        ({"num_images_per_prompt": 2}, "`settings` num_images_per_prompt"),
    ],
)
def test_settings_that_no_model_takes(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(CrevalError, match=reason):
        PipelineSettings(settings)


def test_guidance_where_there_is_none(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = getattr(import_module("diffusers"), PIX2PIX)
    whole = kind.__call__

    def call(self: Any, prompt: str, image: Any, num_inference_steps: int = 5) -> Any:
        return whole(self, prompt=prompt, image=image, num_inference_steps=num_inference_steps)

    monkeypatch.setattr(kind, "__call__", call)
    with pytest.raises(CrevalError, match=r"no setting of .* 'guidance'"):
        facts(tiny(PIX2PIX), guidance=3)

    def needy(self: Any, prompt: str, depth: float) -> Any:
        return whole(self, prompt=prompt, eta=depth)

    monkeypatch.setattr(kind, "__call__", needy)
    with pytest.raises(CrevalError, match="needs depth"):
        facts(tiny(PIX2PIX))
    assert facts(tiny(PIX2PIX), depth=0.5)["call"] == {"depth": 0.5}
