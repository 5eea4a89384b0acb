"""Tests of call signatures: the parameters of pipeline classes, and the arguments built from requests."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.editors.base import EditRequest
from creval.editors.diffusers.call_signature import (
    MAX_OUTPUT_PIXELS,
    CallSignature,
    build_arguments,
    build_input,
    read_call_signature,
)

diffusers: Any = import_module("diffusers")


def form(kind: str) -> CallSignature:
    return read_call_signature(getattr(diffusers, kind))


def test_known_editors() -> None:
    """Return the number of images, support for mask, size and batches, and the guidance parameter."""
    many = float("inf")
    expected = {
        "Flux2Pipeline": ("image", many, "", True, "guidance_scale"),
        "FluxFillPipeline": ("image", 1, "mask_image", True, "guidance_scale"),
        "FluxKontextInpaintPipeline": ("image", 2, "mask_image", True, "guidance_scale"),
        "FluxKontextPipeline": ("image", 1, "", True, "guidance_scale"),
        "FluxPipeline": ("", 0, "", True, "guidance_scale"),
        "JoyImageEditPlusPipeline": ("images", many, "", True, "guidance_scale"),
        "LongCatImageEditPipeline": ("image", 1, "", False, "guidance_scale"),
        "OmniGenPipeline": ("input_images", many, "", True, "guidance_scale"),
        "QwenImage21Pipeline": ("image", many, "", True, "true_cfg_scale"),
        "QwenImageEditPipeline": ("image", 1, "", True, "true_cfg_scale"),
        "QwenImageEditPlusPipeline": ("image", many, "", True, "true_cfg_scale"),
        "StableDiffusionInstructPix2PixPipeline": ("image", 1, "", False, "guidance_scale"),
        "StableDiffusionXLInstructPix2PixPipeline": ("image", 1, "", True, "guidance_scale"),
        "BriaFiboEditPipeline": ("image", 1, "mask", True, "guidance_scale"),
    }
    for kind, (images, most, mask, sized, guidance) in expected.items():
        if hasattr(diffusers, kind):  # some are not in the oldest supported version of diffusers
            found = form(kind)
            taken = (
                found.image_parameter,
                found.max_images,
                found.mask_parameter,
                found.has_size,
                found.guidance_parameter,
            )
            assert taken == (images, most, mask, sized, guidance), kind


def test_names_are_the_calls_own() -> None:
    found = form("StableDiffusionInstructPix2PixPipeline")
    assert {"num_inference_steps", "guidance_scale", "image_guidance_scale", "negative_prompt", "eta"} == set(
        found.settable
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("MarigoldDepthPipeline", "takes no prompt"),
        ("WanImageToVideoPipeline", "generates videos"),
        ("DDPMPipeline", "takes no prompt"),
    ],
)
def test_pipelines_that_cannot_edit(kind: str, reason: str) -> None:
    with pytest.raises(CrevalError, match=reason):
        form(kind)


def test_a_custom_pipeline_class() -> None:
    class OwnPipeline:
        def __call__(self, prompt: str, image: Any = None, spice: Any = ..., **more: Any) -> None:
            del prompt, image, spice, more

    class NeedyPipeline:
        def __call__(self, image: Any, prompt: str, depth: Any) -> None:
            del image, prompt, depth

    found = read_call_signature(OwnPipeline)
    assert (found.settable, found.required, found.supports_batches) == (("spice",), (), False)
    assert read_call_signature(NeedyPipeline).required == ("depth",)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.png"
    Image.new("RGB", (90, 70), "red").save(path)
    return path


def test_sizes_are_the_sources_in_multiples(source: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.png"
    Image.new("1", (4000, 3000)).save(large)
    pix2pix, xl = form("StableDiffusionInstructPix2PixPipeline"), form("FluxImg2ImgPipeline")
    kontext = form("FluxKontextPipeline")

    def size(path: Path, taken: CallSignature, step: int, **more: Any) -> Any:
        given = {"pixels": None, "size": None} | more
        return build_input(EditRequest("a", "x", path), taken, step, **given).size

    assert size(source, pix2pix, 8) == (88, 72)
    assert size(source, xl, 16) == (96, 64)
    assert size(source, xl, 16, pixels=1024 * 1024) == (1168, 896)
    assert size(source, xl, 16, size=(32, 48)) == (32, 48)
    assert size(source, kontext, 16) == (90, 70), "it uses its own area in that shape"
    width, height = size(large, pix2pix, 8)
    assert abs(width * height / MAX_OUTPUT_PIXELS - 1) < 0.01
    assert abs(width / height / (4 / 3) - 1) < 0.01
    seen = build_input(EditRequest("a", "x", large), pix2pix, 8, None, None).images[0]
    assert seen.size == (width, height), "the output has the size of the input"
    seen = build_input(EditRequest("a", "x", large), xl, 16, None, None).images[0]
    assert seen.size == (4000, 3000), "the output has the given size"


def test_masks_are_black_and_white_and_as_large_as_the_source(source: Path, tmp_path: Path) -> None:
    mask = tmp_path / "mask.png"
    grey = Image.new("L", (45, 35), 100)
    grey.paste(200, (0, 0, 20, 35))
    grey.save(mask)
    fill = form("FluxFillPipeline")
    found = build_input(EditRequest("a", "x", source, mask), fill, 16, None, None).mask
    assert found is not None
    assert found.size == (90, 70)
    assert (found.getpixel((10, 10)), found.getpixel((80, 10))) == (255, 0)
    everywhere = build_input(EditRequest("a", "x", source), fill, 16, None, None).mask
    assert everywhere is not None
    assert everywhere.getextrema() == (255, 255)
    bria = form("BriaFiboEditPipeline")
    assert build_input(EditRequest("a", "x", source), bria, 16, None, None).mask is None, "it needs no mask"


def test_arguments_of_different_pipelines(source: Path) -> None:
    omnigen = form("OmniGenPipeline")
    job = EditRequest("a", "put <it> on", source, references=(source,), seed=3)
    (one,) = inputs = [build_input(job, omnigen, 16, None, None)]
    found = build_arguments(omnigen, inputs, {"guidance_scale": 2}, ["noise"])
    assert found.pop("input_images") == list(one.images)
    assert found == {
        "prompt": "<img><|image_1|></img> <img><|image_2|></img> put <it> on",
        "guidance_scale": 2,
        "width": 96,
        "height": 64,
        "generator": "noise",
        "output_type": "pil",
    }
    kontext = form("FluxKontextPipeline")
    two = [build_input(EditRequest("a", words, source), kontext, 16, 64 * 48, None) for words in "xy"]
    found = build_arguments(kontext, two, {"negative_prompt": "dull", "sigmas": [1.0]}, ["n1", "n2"])
    assert found["prompt"] == ["x", "y"]
    assert found["negative_prompt"] == ["dull", "dull"]
    assert found["sigmas"] == [1.0]
    assert found["generator"] == ["n1", "n2"]
    assert found["max_area"] == found["width"] * found["height"]
    assert len(found["image"]) == 2
    words = [build_input(EditRequest("a", "x"), kontext, 16, None, None)]
    found = build_arguments(kontext, words, {}, ["n"])
    assert found == {"prompt": "x", "generator": "n", "output_type": "pil"}


def test_qwens_guidance_is_not_left_out() -> None:
    assert form("QwenImageEditPlusPipeline").defaults() == {"negative_prompt": " "}
    assert form("FluxKontextPipeline").defaults() == {}
