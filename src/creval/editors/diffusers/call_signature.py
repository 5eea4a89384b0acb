"""How a pipeline of the diffusers library is called: what it takes, by its class and the names of
its call's parameters, and what of a job goes where."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import open_image
from creval.editors.base import Job
from creval.editors.remote.payload import Size, shaped

LARGEST = 1024 * 1024
"""The pixels of a picture that is as large as its source, at most: most models are made for it."""

_PICTURES = ("image", "images", "input_images")
_MASKS = ("mask_image", "mask")
_REFERENCE = "image_reference"
_GIVEN = frozenset({
    "prompt", "generator", "num_images_per_prompt", "num_videos_per_prompt", "output_type",
    "return_dict", _REFERENCE, *_PICTURES, *_MASKS,
})  # fmt: skip
# What no word on a command line can give.
_UNSAYABLE = ("callback", "latents", "embeds", "ip_adapter", "kwargs")
_GUIDANCE = ("guidance_scale", "true_cfg_scale", "distilled_guidance_scale")
# For these a list of pictures is what one instruction is about. All others take one picture.
_SEVERAL = frozenset({
    "Flux2KleinKVPipeline", "Flux2KleinPipeline", "Flux2Pipeline", "GlmImagePipeline",
    "JoyImageEditPlusPipeline", "OmniGenPipeline", "QwenImage21Pipeline",
    "QwenImageEditPlusPipeline", "ZImageOmniPipeline",
})  # fmt: skip
# For these a list of pictures is as many sources, each with its own instruction and noise, and each
# comes out as it does alone: that was tried, one by one. (Qwen-Image-Edit's text encoder sees the
# pictures of a list in another size.)
_BATCHES = frozenset({
    "FluxFillPipeline", "FluxImg2ImgPipeline", "FluxInpaintPipeline", "FluxKontextInpaintPipeline",
    "FluxKontextPipeline", "StableDiffusionImg2ImgPipeline", "StableDiffusionInpaintPipeline",
    "StableDiffusionInstructPix2PixPipeline", "StableDiffusionXLImg2ImgPipeline",
    "StableDiffusionXLInpaintPipeline", "StableDiffusionXLInstructPix2PixPipeline",
})  # fmt: skip
# These make a short video, at whose end the edited picture stands.
_LAST_FRAMES = frozenset({"ChronoEditPipeline"})


@dataclass(frozen=True)
class Form:
    """What a pipeline's call takes: of its parameters `settable` are those that a user may set,
    `needs` those that somebody has to give; `pictures` is the one for the source, if there is one.

    `several` says that it takes references beside the source, `batches` that it takes several jobs
    at once.
    """

    kind: str
    takes: frozenset[str]
    settable: tuple[str, ...]
    needs: tuple[str, ...]
    pictures: str
    several: bool
    batches: bool
    mask: str
    guidance: str

    @property
    def most(self) -> float:
        """How many pictures it takes."""
        if self.several:
            return math.inf
        return bool(self.pictures) + (_REFERENCE in self.takes)

    @property
    def paints(self) -> bool:
        """Whether it paints inside a mask, and needs one."""
        return self.mask == _MASKS[0]

    @property
    def sized(self) -> bool:
        return {"height", "width"} <= self.takes

    def defaults(self) -> dict[str, Any]:
        """What creval itself sets. Without a negative prompt Qwen's pipelines leave their guidance
        out; a blank is what their authors give."""
        blank = self.kind.startswith("QwenImage") and "negative_prompt" in self.takes
        return {"negative_prompt": " "} if blank else {}

    def words(self, instruction: str, pictures: int) -> str:
        """The instruction as the pipeline reads it: OmniGen wants each picture named in it."""
        if self.kind != "OmniGenPipeline":
            return instruction
        named = [f"<img><|image_{number}|></img>" for number in range(1, pictures + 1)]
        return " ".join([*named, instruction])


def form_of(kind: type[Any]) -> Form:
    """What the pipelines of a class take; those that cannot edit get a sentence."""
    name = kind.__name__
    all_ = dict(list(inspect.signature(kind.__call__).parameters.items())[1:])  # without self
    named = {n: p for n, p in all_.items() if p.kind is not p.VAR_KEYWORD}
    if "prompt" not in named:
        raise CrevalError(f"{name} takes no prompt: it does not follow instructions.")
    if {"num_frames", "video_length"} & named.keys() and name not in _LAST_FRAMES:
        raise CrevalError(f"{name} makes videos, not pictures.")
    settable = [n for n in named if n not in _GIVEN and not any(part in n for part in _UNSAYABLE)]
    return Form(
        kind=name,
        takes=frozenset(named),
        settable=tuple(settable),
        needs=tuple(n for n, p in named.items() if p.default is p.empty and n not in _GIVEN),
        pictures=next((n for n in _PICTURES if n in named), ""),
        several=name in _SEVERAL,
        batches=name in _BATCHES,
        mask=next((n for n in _MASKS if n in named), ""),
        guidance=_guidance(named),
    )


def _guidance(named: Mapping[str, inspect.Parameter]) -> str:
    """The parameter that says how closely the instruction is followed. Where two are there and one
    is unset, that one is for distilled models alone."""
    there = [name for name in _GUIDANCE if name in named]
    used = [name for name in there if named[name].default is not None]
    return next(iter(used or there), "")


def check_reserved(settings: Collection[str]) -> None:
    for name in sorted(_GIVEN & set(settings)):
        raise CrevalError(f"--set {name}: the pipeline is given that by creval itself.")


class Input(NamedTuple):
    """What one job puts into a pipeline; `size` is that of the picture to be made, `before` the
    source's as it came; `exact` says that a user wants just that size."""

    words: str
    pictures: tuple[Image.Image, ...]
    mask: Image.Image | None
    size: Size | None
    before: Size | None
    exact: bool
    seed: int

    @property
    def shape(self) -> tuple[object, ...]:
        """What jobs that are done together have in common."""
        return self.size, self.before, len(self.pictures), self.mask is None


def input_of(job: Job, form: Form, step: int, pixels: int | None, size: Size | None) -> Input:
    """A job's pictures, upright, and its instruction. The result is to be as large as the source,
    in multiples of `step` and of at most `LARGEST`; or of `pixels`; or of just that `size`. A
    pipeline with an area of its own makes that of the source's shape."""
    pictures = [open_image(path) for path in (job.source, *job.references) if path is not None]
    before = pictures[0].size if pictures else None
    exact = pixels is not None or size is not None
    if not exact and "max_area" in form.takes:
        size = before
    elif before is not None and size is None:
        size = shaped(before, pixels or min(math.prod(before), LARGEST), step, math.inf)
    if before is not None and size is not None and not form.sized:
        # Such a pipeline makes a picture as large as the one that it gets.
        pictures[0] = pictures[0].resize(size, Image.Resampling.LANCZOS)
    words = form.words(job.instruction, len(pictures))
    mask = _mask(job, form, pictures[0].size) if pictures else None
    return Input(words, tuple(pictures), mask, size, before, exact, job.seed)


def _mask(job: Job, form: Form, size: Size) -> Image.Image | None:
    """White where the picture may change; where an inpainting pipeline gets none, everywhere."""
    if job.mask is not None and form.mask:
        mask = open_image(job.mask).convert("L").resize(size, Image.Resampling.NEAREST)
        return mask.point(lambda value: 255 if value > 128 else 0)
    return Image.new("L", size, 255) if form.paints else None


def arguments(
    form: Form, inputs: Sequence[Input], settings: Mapping[str, Any], generators: Sequence[Any]
) -> dict[str, Any]:
    """What a pipeline is called with, for one job or for several of one shape at once."""
    first = inputs[0]

    def each(values: Sequence[Any]) -> Any:
        return list(values) if len(inputs) > 1 else values[0]

    found = {
        name: each([value] * len(inputs)) if "prompt" in name and isinstance(value, str) else value
        for name, value in settings.items()
    }
    found["prompt"] = each([one.words for one in inputs])
    if first.size is not None and form.sized:
        found.setdefault("width", first.size[0])
        found.setdefault("height", first.size[1])
        if first.exact and "max_area" in form.takes:
            found.setdefault("max_area", math.prod(first.size))
    if first.pictures and form.several:
        found[form.pictures] = list(first.pictures)
    elif first.pictures:
        found[form.pictures] = each([one.pictures[0] for one in inputs])
        if len(first.pictures) > 1:
            found[_REFERENCE] = each([one.pictures[1] for one in inputs])
    if first.mask is not None:
        found[form.mask] = each([one.mask for one in inputs])
    if "generator" in form.takes:
        found["generator"] = each(generators)
    if "output_type" in form.takes:
        found["output_type"] = "pil"
    return found
