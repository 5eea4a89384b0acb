"""How a pipeline of the diffusers library is called: what it takes, and what of a request goes where."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import open_image
from creval.editors.base import EditRequest
from creval.editors.remote.payload import Size, size_for_aspect

MAX_OUTPUT_PIXELS = 1024 * 1024
"""The pixels of a picture that is as large as its source, at most: most models are made for it."""

_IMAGE_PARAMETERS = ("image", "images", "input_images")
_MASK_PARAMETERS = ("mask_image", "mask")
_REFERENCE_PARAMETER = "image_reference"
_RESERVED = frozenset(
    {"prompt", "generator", "num_images_per_prompt", "num_videos_per_prompt", "output_type", "return_dict"}
    | {_REFERENCE_PARAMETER, *_IMAGE_PARAMETERS, *_MASK_PARAMETERS}
)
# What no word on a command line can give.
_NOT_SETTABLE = ("callback", "latents", "embeds", "ip_adapter", "kwargs")
_GUIDANCE_PARAMETERS = ("guidance_scale", "true_cfg_scale", "distilled_guidance_scale")
# For these a list of pictures is what one instruction is about. All others take one picture.
_TAKES_REFERENCES = frozenset(
    {
        "Flux2KleinKVPipeline",
        "Flux2KleinPipeline",
        "Flux2Pipeline",
        "GlmImagePipeline",
        "JoyImageEditPlusPipeline",
        "OmniGenPipeline",
        "QwenImage21Pipeline",
        "QwenImageEditPlusPipeline",
        "ZImageOmniPipeline",
    }
)
# For these a list of pictures is as many sources, each with its own instruction and noise, and each
# comes out as it does alone: that was tried, one by one. (Qwen-Image-Edit's text encoder sees the
# pictures of a list in another size.)
_SUPPORTS_BATCHES = frozenset(
    {
        "FluxFillPipeline",
        "FluxImg2ImgPipeline",
        "FluxInpaintPipeline",
        "FluxKontextInpaintPipeline",
        "FluxKontextPipeline",
        "StableDiffusionImg2ImgPipeline",
        "StableDiffusionInpaintPipeline",
        "StableDiffusionInstructPix2PixPipeline",
        "StableDiffusionXLImg2ImgPipeline",
        "StableDiffusionXLInpaintPipeline",
        "StableDiffusionXLInstructPix2PixPipeline",
    }
)
# These make a short video, at whose end the edited picture stands.
_VIDEO_EDITORS = frozenset({"ChronoEditPipeline"})


@dataclass(frozen=True)
class CallSignature:
    """What a pipeline's call takes: `settable` parameters may be set by users, `required` ones must be.

    `image_parameter` is for the source, if there is one. With `supports_references` it takes references beside the
    source, with `supports_batches` several requests at once.
    """

    class_name: str
    parameters: frozenset[str]
    settable: tuple[str, ...]
    required: tuple[str, ...]
    image_parameter: str
    supports_references: bool
    supports_batches: bool
    mask_parameter: str
    guidance_parameter: str

    @property
    def max_images(self) -> float:
        """How many pictures it takes."""
        if self.supports_references:
            return math.inf
        return bool(self.image_parameter) + (_REFERENCE_PARAMETER in self.parameters)

    @property
    def is_inpainting(self) -> bool:
        """Whether it paints inside a mask, and needs one."""
        return self.mask_parameter == _MASK_PARAMETERS[0]

    @property
    def has_size(self) -> bool:
        return {"height", "width"} <= self.parameters

    def defaults(self) -> dict[str, Any]:
        """What creval itself sets: without a negative prompt, if only a blank, Qwen's pipelines use no guidance."""
        blank = self.class_name.startswith("QwenImage") and "negative_prompt" in self.parameters
        return {"negative_prompt": " "} if blank else {}

    def format_instruction(self, instruction: str, images: int) -> str:
        """The instruction as the pipeline reads it: OmniGen wants each picture named in it."""
        if self.class_name != "OmniGenPipeline":
            return instruction
        named = [f"<img><|image_{number}|></img>" for number in range(1, images + 1)]
        return " ".join([*named, instruction])


def read_call_signature(kind: type[Any]) -> CallSignature:
    """What the pipelines of a class take; those that cannot edit get a sentence."""
    name = kind.__name__
    all_ = dict(list(inspect.signature(kind.__call__).parameters.items())[1:])  # without self
    named = {n: p for n, p in all_.items() if p.kind is not p.VAR_KEYWORD}
    if "prompt" not in named:
        raise CrevalError(f"{name} takes no prompt: it does not follow instructions.")
    if {"num_frames", "video_length"} & named.keys() and name not in _VIDEO_EDITORS:
        raise CrevalError(f"{name} makes videos, not pictures.")
    settable = [n for n in named if n not in _RESERVED and not any(part in n for part in _NOT_SETTABLE)]
    return CallSignature(
        class_name=name,
        parameters=frozenset(named),
        settable=tuple(settable),
        required=tuple(n for n, p in named.items() if p.default is p.empty and n not in _RESERVED),
        image_parameter=next((n for n in _IMAGE_PARAMETERS if n in named), ""),
        supports_references=name in _TAKES_REFERENCES,
        supports_batches=name in _SUPPORTS_BATCHES,
        mask_parameter=next((n for n in _MASK_PARAMETERS if n in named), ""),
        guidance_parameter=_find_guidance_parameter(named),
    )


def _find_guidance_parameter(named: Mapping[str, inspect.Parameter]) -> str:
    """The parameter of guidance by the instruction; of two, one that is unset is for distilled models alone."""
    there = [name for name in _GUIDANCE_PARAMETERS if name in named]
    used = [name for name in there if named[name].default is not None]
    return next(iter(used or there), "")


def check_not_reserved(settings: Collection[str]) -> None:
    for name in sorted(_RESERVED & set(settings)):
        raise CrevalError(f"`settings` {name}: the pipeline is given that by creval itself.")


class PipelineInput(NamedTuple):
    """What one request puts into a pipeline; with `exact_size`, a user wants just this `size` of the result."""

    instruction: str
    images: tuple[Image.Image, ...]
    mask: Image.Image | None
    size: Size | None
    source_size: Size | None
    exact_size: bool
    seed: int

    @property
    def batch_key(self) -> tuple[object, ...]:
        """What jobs that are done together have in common."""
        return self.size, self.source_size, len(self.images), self.mask is None


def build_input(
    job: EditRequest, form: CallSignature, step: int, pixels: int | None, size: Size | None
) -> PipelineInput:
    """A request's images, upright, and its instruction. The result is as large as the source, in multiples of `step`
    up to `MAX_OUTPUT_PIXELS`; or has `pixels`, or `size`, or a pipeline's own area in the source's shape."""
    images = [open_image(path) for path in (job.source, *job.references) if path is not None]
    before = images[0].size if images else None
    exact = pixels is not None or size is not None
    if not exact and "max_area" in form.parameters:
        size = before
    elif before is not None and size is None:
        size = size_for_aspect(before, pixels or min(math.prod(before), MAX_OUTPUT_PIXELS), step, math.inf)
    if before is not None and size is not None and not form.has_size:
        # Such a pipeline makes a picture as large as the one that it gets.
        images[0] = images[0].resize(size, Image.Resampling.LANCZOS)
    words = form.format_instruction(job.instruction, len(images))
    mask = _build_mask(job, form, images[0].size) if images else None
    return PipelineInput(words, tuple(images), mask, size, before, exact, job.seed)


def _build_mask(job: EditRequest, form: CallSignature, size: Size) -> Image.Image | None:
    """White where the picture may change; where an inpainting pipeline gets none, everywhere."""
    if job.mask is not None and form.mask_parameter:
        mask = open_image(job.mask).convert("L").resize(size, Image.Resampling.NEAREST)
        return mask.point(lambda value: 255 if value > 128 else 0)
    return Image.new("L", size, 255) if form.is_inpainting else None


def build_arguments(
    form: CallSignature, inputs: Sequence[PipelineInput], settings: Mapping[str, Any], generators: Sequence[Any]
) -> dict[str, Any]:
    """What a pipeline is called with, for one job or for several of one shape at once."""
    first = inputs[0]

    def each(values: Sequence[Any]) -> Any:
        return list(values) if len(inputs) > 1 else values[0]

    found = {
        name: each([value] * len(inputs)) if "prompt" in name and isinstance(value, str) else value
        for name, value in settings.items()
    }
    found["prompt"] = each([one.instruction for one in inputs])
    if first.size is not None and form.has_size:
        found.setdefault("width", first.size[0])
        found.setdefault("height", first.size[1])
        if first.exact_size and "max_area" in form.parameters:
            found.setdefault("max_area", math.prod(first.size))
    if first.images and form.supports_references:
        found[form.image_parameter] = list(first.images)
    elif first.images:
        found[form.image_parameter] = each([one.images[0] for one in inputs])
        if len(first.images) > 1:
            found[_REFERENCE_PARAMETER] = each([one.images[1] for one in inputs])
    if first.mask is not None:
        found[form.mask_parameter] = each([one.mask for one in inputs])
    if "generator" in form.parameters:
        found["generator"] = each(generators)
    if "output_type" in form.parameters:
        found["output_type"] = "pil"
    return found
