"""A pipeline of the diffusers library: its settings, loading it, and generating images with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL import Image

from creval.core.errors import CrevalError, require_known
from creval.core.images import encode_png
from creval.editors.base import EditOutput
from creval.editors.diffusers.call_signature import (
    CallSignature,
    PipelineInput,
    build_arguments,
    check_not_reserved,
    read_call_signature,
)
from creval.editors.diffusers.model_files import (
    DTYPES,
    OFFLOADS,
    choose_placement,
    download_model,
    find_pipeline_class,
    import_libraries,
    load_pipeline,
    locate_model,
    memory_hint,
    truncated_token_count,
)
from creval.editors.remote.payload import Size
from creval.providers.call_errors import CallError, ProviderUnusable

OUT_OF_MEMORY = "out of memory"
_CREVAL_SETTINGS = (
    "batch",
    "device",
    "dtype",
    "guidance",
    "offload",
    "pipeline",
    "pixels",
    "revision",
    "steps",
    "variant",
)
_MIN_PIXELS = 64 * 64


class PipelineSettings:
    """The user's settings, validated as far as possible without the model."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        check_not_reserved(values)
        self.values = dict(values)
        self.batch = self._get_whole_number("batch", 1) or 1
        self.pixels = self._get_whole_number("pixels", _MIN_PIXELS)
        self._get_whole_number("steps", 1)
        guidance = values.get("guidance")
        if guidance is not None and (isinstance(guidance, bool) or not isinstance(guidance, int | float)):
            raise CrevalError(f"`settings` guidance takes a number, not {guidance!r}.")
        self.dtype, self.offload = self.get_text("dtype"), self.get_text("offload") or OFFLOADS[0]
        require_known("`settings` dtype", self.dtype or DTYPES[0], DTYPES)
        require_known("`settings` offload", self.offload, OFFLOADS)

    def get_text(self, name: str) -> str:
        value = self.values.get(name)
        return "" if value is None else str(value)

    def _get_whole_number(self, name: str, least: int) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise CrevalError(f"`settings` {name} takes a whole number from {least}, not {value!r}.")
        return value

    def call_arguments(self, form: CallSignature) -> dict[str, Any]:
        """Return the arguments of the pipeline call that come from settings and defaults."""
        found = {name: value for name, value in self.values.items() if name not in _CREVAL_SETTINGS}
        what = f"setting of {form.class_name}"
        for name in found:
            require_known(what, name, [*form.settable, *_CREVAL_SETTINGS])
        for short, name in (("steps", "num_inference_steps"), ("guidance", form.guidance_parameter)):
            value = self.values.get(short)
            if value is None:
                continue
            require_known(what, name or short, form.settable)
            if found.setdefault(name, value) != value:
                raise CrevalError(f"`settings` {short} is an alias of {name}. Give only one of them.")
        missing = [name for name in form.required if name not in found]
        if missing:
            raise CrevalError(
                f"{form.class_name} needs {', '.join(missing)}, which creval does not set. Set it "
                "with `settings`, or call the pipeline with python:MODULE:FUNCTION."
            )
        both = form.defaults() | found
        return {name: value for name, value in both.items() if value is not None}


class _PipelineStoppedError(Exception):
    """The editor was closed while a batch was running."""


class DiffusersPipeline:
    """A located model, which is downloaded and loaded later. Once loaded, it stays in memory.

    `manifest_entry` contains everything that the images depend on. Device, batch size and offloading are not
    included, because they only change rounding: noise is drawn on the CPU, separately for each image.
    """

    def __init__(self, name: str, model: str, settings: PipelineSettings) -> None:
        self._libraries = import_libraries(name)
        self._model = locate_model(model, settings.get_text("revision"))
        self._pipeline_class = find_pipeline_class(
            self._model, self._libraries.diffusers, settings.get_text("pipeline")
        )
        self.signature = read_call_signature(self._pipeline_class)
        self._arguments = settings.call_arguments(self.signature)
        self._placement = choose_placement(
            self._libraries.torch, settings.get_text("device"), settings.dtype, settings.offload
        )
        self._variant = settings.get_text("variant")
        self.manifest_entry: dict[str, Any] = {
            "class": self.signature.class_name,
            **self._model.fingerprint(),
            "dtype": self._placement.dtype,
            "call": self._arguments,
            "versions": self._libraries.versions,
        }
        for setting in ("pixels", "variant"):
            if settings.get_text(setting):
                self.manifest_entry[setting] = settings.values[setting]
        self._loaded: Any = None
        self._load_error = ""

    def fetch(self) -> None:
        """Download all files of the model."""
        self._model = download_model(self._model, self._pipeline_class, self._variant)

    @property
    def fixed_size(self) -> Size | None:
        """The output size that the user has set, or None."""
        width, height = self._arguments.get("width"), self._arguments.get("height")
        return None if width is None or height is None else (int(width), int(height))

    @property
    def size_step(self) -> int:
        """The sides of output images must be multiples of this number of pixels."""
        config = getattr(getattr(self._loaded, "image_processor", None), "config", None)
        return int(getattr(config, "vae_scale_factor", None) or 16)

    def editing_class(self) -> str:
        """Return the name of the pipeline class that edits images with this model's weights, or an empty string."""
        tasks = self._libraries.diffusers.pipelines.auto_pipeline
        generators = tasks.AUTO_TEXT2IMAGE_PIPELINES_MAPPING
        family = next((name for name, kind in generators.items() if kind is self._pipeline_class), "")
        other = tasks.AUTO_IMAGE2IMAGE_PIPELINES_MAPPING.get(family)
        return "" if other is None else str(other.__name__)

    def load(self) -> None:
        """Load the model at the first call. Raises `ProviderUnusable` if that failed, also at later calls."""
        if self._loaded is None and not self._load_error:
            try:
                self._loaded = load_pipeline(
                    self._model, self._pipeline_class, self._placement, self._libraries.torch, self._variant
                )
            except CrevalError as error:
                self._load_error = str(error)
        if self._load_error:
            raise ProviderUnusable(self._load_error)

    def generate(
        self, inputs: Sequence[PipelineInput], stopped: Callable[[], bool]
    ) -> list[EditOutput | CallError] | CallError:
        """Return the results of a batch of inputs of the same shape, or the error of the whole batch.

        Errors of the library are returned as `CallError`, because their traceback would keep the failed batch in
        memory.
        """
        torch = self._libraries.torch

        def step(_: Any, number: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            del number, timestep
            if stopped():
                raise _PipelineStoppedError
            return tensors

        try:
            noise = [torch.Generator("cpu").manual_seed(one.seed % 2**63) for one in inputs]
            given = build_arguments(self.signature, inputs, self._arguments, noise)
            if "callback_on_step_end" in self.signature.parameters:
                given["callback_on_step_end"] = step
            with torch.random.fork_rng(devices=[]):
                # Some pipelines draw part of their noise without the given generator.
                torch.manual_seed(inputs[0].seed % 2**63)
                output = self._loaded(**given)
            return self._parse_output(output, inputs)
        except _PipelineStoppedError:
            return CallError("stopped", "", retryable=False)
        except Exception as error:  # pipelines can raise any error
            hint = memory_hint(error)
            if not hint:
                return CallError("the model failed", f"{type(error).__name__}: {error}", retryable=False)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return CallError(OUT_OF_MEMORY, hint, retryable=False)

    def _parse_output(self, output: Any, inputs: Sequence[PipelineInput]) -> list[EditOutput | CallError] | CallError:
        """Return the images in a pipeline's output. For videos, these are the last frames."""
        images = getattr(output, "images", None)
        if images is None:
            images = [frames[-1] for frames in getattr(output, "frames", ())]
        if len(images) != len(inputs):
            reason = f"it returned {len(images)} images for {len(inputs)} requests"
            return CallError("the model failed", reason, retryable=False)
        flags = getattr(output, "nsfw_content_detected", None) or [False] * len(inputs)
        return [self._build_output(*one) for one in zip(images, flags, inputs, strict=True)]

    def _build_output(self, image: Image.Image, flag: object, given: PipelineInput) -> EditOutput | CallError:
        if flag:
            reason = "the model's safety checker blocked the image"
            return CallError("content filter", reason, retryable=False)
        if _is_black(image) and not (given.images and _is_black(given.images[0])):
            reason = "probably a numeric overflow; try `settings` dtype=float32"
            return CallError("black image", reason, retryable=False)
        facts: dict[str, Any] = {"device": self._placement.device, "torch": str(self._libraries.torch.__version__)}
        if given.source_size is not None and image.size != given.source_size:
            facts["source_size"] = list(given.source_size)
        read = truncated_token_count(self._loaded, given.instruction)
        if read is not None:
            facts["tokens_read"] = read
        return EditOutput(encode_png(image), "image/png", metadata=facts)


def _is_black(image: Image.Image) -> bool:
    return image.convert("RGB").getbbox() is None
