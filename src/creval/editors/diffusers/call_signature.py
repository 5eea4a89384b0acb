"""The parameters of diffusers pipelines, and the arguments built from an edit request."""

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
"""Maximum number of pixels of an output in the source's shape. Most models are trained at this size."""

_IMAGE_PARAMETERS = ("image", "images", "input_images")
_MASK_PARAMETERS = ("mask_image", "mask")
_REFERENCE_PARAMETER = "image_reference"
_RESERVED = frozenset(
    {"prompt", "generator", "num_images_per_prompt", "num_videos_per_prompt", "output_type", "return_dict"}
    | {_REFERENCE_PARAMETER, *_IMAGE_PARAMETERS, *_MASK_PARAMETERS}
)
# Parameters whose values cannot be given on a command line.
_NOT_SETTABLE = ("callback", "latents", "embeds", "ip_adapter", "kwargs")
_GUIDANCE_PARAMETERS = ("guidance_scale", "true_cfg_scale", "distilled_guidance_scale")
# These take several images for one instruction, as a list. All other pipelines take one image.
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
# These take a list of images as a batch: each is a source with its own instruction and noise, and its result is
# the same as without a batch. Each pipeline was tested for this. (Qwen-Image-Edit's text encoder scales the
# images of a list to another size, so it is not included.)
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
# These generate a short video whose last frame is the edited image.
_VIDEO_EDITORS = frozenset({"ChronoEditPipeline"})


@dataclass(frozen=True)
class CallSignature:
    """The parameters of a pipeline.

    - `settable`: the parameters that users may set.
    - `required`: the parameters that users must set.
    - `image_parameter`: the parameter of the source, or empty.
    - `supports_references`: the pipeline takes references together with the source.
    - `supports_batches`: one call takes several requests.
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
        """The maximum number of input images."""
        if self.supports_references:
            return math.inf
        return bool(self.image_parameter) + (_REFERENCE_PARAMETER in self.parameters)

    @property
    def is_inpainting(self) -> bool:
        """True if the pipeline repaints the area of a mask. The mask is then a required argument."""
        return self.mask_parameter == _MASK_PARAMETERS[0]

    @property
    def has_size(self) -> bool:
        return {"height", "width"} <= self.parameters

    def defaults(self) -> dict[str, Any]:
        """Return the arguments that creval adds: a blank negative prompt for Qwen's pipelines.

        Without a negative prompt, they do not use guidance.
        """
        blank = self.class_name.startswith("QwenImage") and "negative_prompt" in self.parameters
        return {"negative_prompt": " "} if blank else {}

    def format_instruction(self, instruction: str, images: int) -> str:
        """Return the instruction in the pipeline's format. OmniGen needs a tag for each image in the text."""
        if self.class_name != "OmniGenPipeline":
            return instruction
        named = [f"<img><|image_{number}|></img>" for number in range(1, images + 1)]
        return " ".join([*named, instruction])


def read_call_signature(kind: type[Any]) -> CallSignature:
    """Return the parameters of a pipeline class. Raises `CrevalError` if the class cannot edit images."""
    name = kind.__name__
    all_ = dict(list(inspect.signature(kind.__call__).parameters.items())[1:])  # without self
    named = {n: p for n, p in all_.items() if p.kind is not p.VAR_KEYWORD}
    if "prompt" not in named:
        raise CrevalError(f"{name} takes no prompt, so it cannot follow instructions.")
    if {"num_frames", "video_length"} & named.keys() and name not in _VIDEO_EDITORS:
        raise CrevalError(f"{name} generates videos, not images.")
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
    """Return the parameter that sets the guidance, or an empty string.

    If a pipeline has several, those with the default None are skipped, because they only apply to distilled models.
    """
    available = [name for name in _GUIDANCE_PARAMETERS if name in named]
    used = [name for name in available if named[name].default is not None]
    return next(iter(used or available), "")


def check_not_reserved(settings: Collection[str]) -> None:
    for name in sorted(_RESERVED & set(settings)):
        raise CrevalError(f"`settings` {name}: creval sets this itself. Remove it.")


class PipelineInput(NamedTuple):
    """The input of a pipeline for one request. With `exact_size`, the user set the `size` of the result."""

    instruction: str
    images: tuple[Image.Image, ...]
    mask: Image.Image | None
    size: Size | None
    source_size: Size | None
    exact_size: bool
    seed: int

    @property
    def batch_key(self) -> tuple[object, ...]:
        """The shape of the input. Requests with equal keys can share a batch."""
        return self.size, self.source_size, len(self.images), self.mask is None


def build_input(
    job: EditRequest, form: CallSignature, step: int, pixels: int | None, size: Size | None
) -> PipelineInput:
    """Return the pipeline input for a request, with images turned upright.

    By default, the result has the source's size in multiples of `step`, with at most `MAX_OUTPUT_PIXELS`. `pixels`
    sets another number of pixels and `size` an exact size. A pipeline with `max_area` chooses the size itself.
    """
    images = [open_image(path) for path in (job.source, *job.references) if path is not None]
    before = images[0].size if images else None
    exact = pixels is not None or size is not None
    if not exact and "max_area" in form.parameters:
        size = before
    elif before is not None and size is None:
        size = size_for_aspect(before, pixels or min(math.prod(before), MAX_OUTPUT_PIXELS), step, math.inf)
    if before is not None and size is not None and not form.has_size:
        # Without size parameters, the result has the size of the input.
        images[0] = images[0].resize(size, Image.Resampling.LANCZOS)
    words = form.format_instruction(job.instruction, len(images))
    mask = _build_mask(job, form, images[0].size) if images else None
    return PipelineInput(words, tuple(images), mask, size, before, exact, job.seed)


def _build_mask(job: EditRequest, form: CallSignature, size: Size) -> Image.Image | None:
    """Return the mask, white where the image may change.

    If the request has no mask, an inpainting pipeline gets one that is all white.
    """
    if job.mask is not None and form.mask_parameter:
        mask = open_image(job.mask).convert("L").resize(size, Image.Resampling.NEAREST)
        return mask.point(lambda value: 255 if value > 128 else 0)
    return Image.new("L", size, 255) if form.is_inpainting else None


def build_arguments(
    form: CallSignature, inputs: Sequence[PipelineInput], settings: Mapping[str, Any], generators: Sequence[Any]
) -> dict[str, Any]:
    """Return the arguments of a pipeline call for one input, or for a batch of inputs of the same shape."""
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
