"""A pipeline of the diffusers library: what it is given, and pictures from it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL import Image

from creval.core.errors import CrevalError, known_name
from creval.editors.base import Produced
from creval.editors.diffusers.call_signature import Form, Input, arguments, check_reserved, form_of
from creval.editors.diffusers.model_files import (
    DTYPES,
    OFFLOADS,
    class_of,
    cut_after,
    fetch,
    find,
    libraries,
    load,
    memory_hint,
    place,
    step_of,
)
from creval.editors.remote.payload import Size
from creval.providers.errors import Fault, Unusable

NO_MEMORY = "out of memory"
_OWN = ("batch", "device", "dtype", "guidance", "offload", "pipeline", "pixels", "revision",
        "steps", "variant")  # fmt: skip
_LEAST_PIXELS = 64 * 64


class Settings:
    """What a user has set, read as far as that goes without the model."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        check_reserved(given)
        self.given = dict(given)
        self.batch = self._whole("batch", 1) or 1
        self.pixels = self._whole("pixels", _LEAST_PIXELS)
        self._whole("steps", 1)
        guidance = given.get("guidance")
        if guidance is not None and not _is_number(guidance):
            raise CrevalError(f"--set guidance takes a number, not {guidance!r}.")
        self.dtype, self.offload = self.word("dtype"), self.word("offload") or OFFLOADS[0]
        known_name("--set dtype", self.dtype or DTYPES[0], DTYPES)
        known_name("--set offload", self.offload, OFFLOADS)

    def word(self, name: str) -> str:
        value = self.given.get(name)
        return "" if value is None else str(value)

    def _whole(self, name: str, least: int) -> int | None:
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise CrevalError(f"--set {name} takes a whole number from {least}, not {value!r}.")
        return value

    def of_call(self, form: Form) -> dict[str, Any]:
        """What a pipeline is called with, by the names of its parameters."""
        found = {name: value for name, value in self.given.items() if name not in _OWN}
        what = f"setting of {form.kind}"
        for name in found:
            known_name(what, name, [*form.settable, *_OWN])
        for short, name in (("steps", "num_inference_steps"), ("guidance", form.guidance)):
            value = self.given.get(short)
            if value is None:
                continue
            known_name(what, name or short, form.settable)
            if found.setdefault(name, value) != value:
                raise CrevalError(f"--set {short}={value} is {name}, which is set, too.")
        missing = [name for name in form.needs if name not in found]
        if missing:
            raise CrevalError(
                f"{form.kind} needs {', '.join(missing)}, of which creval knows nothing: give it "
                "with --set, or call the pipeline with python:MODULE:FUNCTION."
            )
        both = form.defaults() | found
        return {name: value for name, value in both.items() if value is not None}


class _StoppedError(Exception):
    """The word to stop came while pictures were in the making."""


class Pipeline:
    """A model that was found, not yet fetched or loaded; once it is, it stays in memory.

    `facts` is what its pictures depend on. The device, batches and offloading are none of it: they
    change pictures by rounding alone, as noise is drawn on the CPU, for each picture its own.
    """

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        self._libraries = libraries(name)
        self._found = find(model, settings.word("revision"))
        self._class = class_of(self._found, self._libraries.diffusers, settings.word("pipeline"))
        self.form = form_of(self._class)
        self._call = settings.of_call(self.form)
        self._place = place(
            self._libraries.torch, settings.word("device"), settings.dtype, settings.offload
        )
        self._variant = settings.word("variant")
        self.facts: dict[str, Any] = {
            "class": self.form.kind, **self._found.state(), "dtype": self._place.dtype,
            "call": self._call, "versions": self._libraries.versions,
        }  # fmt: skip
        for setting in ("pixels", "variant"):
            if settings.word(setting):
                self.facts[setting] = settings.given[setting]
        self._loaded: Any = None
        self._broken = ""

    def fetch(self) -> None:
        """Have all of the model's files here."""
        self._found = fetch(self._found, self._class, self._variant)

    @property
    def size(self) -> Size | None:
        """The size that a user has set for all pictures."""
        width, height = self._call.get("width"), self._call.get("height")
        return None if width is None or height is None else (int(width), int(height))

    @property
    def step(self) -> int:
        """What the sides of its pictures are multiples of."""
        return step_of(self._loaded)

    def instead(self) -> str:
        """The class by which the same weights edit, where this one does not."""
        tasks = self._libraries.diffusers.pipelines.auto_pipeline
        words = tasks.AUTO_TEXT2IMAGE_PIPELINES_MAPPING
        family = next((name for name, kind in words.items() if kind is self._class), "")
        other = tasks.AUTO_IMAGE2IMAGE_PIPELINES_MAPPING.get(family)
        return "" if other is None else str(other.__name__)

    def load(self) -> None:
        """Load the model, unless that was done or tried before."""
        if self._loaded is None and not self._broken:
            try:
                self._loaded = load(
                    self._found, self._class, self._place, self._libraries.torch, self._variant
                )
            except CrevalError as error:
                self._broken = str(error)
        if self._broken:
            raise Unusable(self._broken)

    def make(
        self, inputs: Sequence[Input], stopped: Callable[[], bool]
    ) -> list[Produced | Fault] | Fault:
        """What comes of jobs of one shape that are done at once, or why nothing does.

        Errors go no further than here, as they hold on to the memory of what failed.
        """
        torch = self._libraries.torch

        def step(_: Any, number: int, moment: Any, kept: dict[str, Any]) -> dict[str, Any]:
            del number, moment
            if stopped():
                raise _StoppedError
            return kept

        try:
            noise = [torch.Generator("cpu").manual_seed(one.seed % 2**63) for one in inputs]
            given = arguments(self.form, inputs, self._call, noise)
            if "callback_on_step_end" in self.form.takes:
                given["callback_on_step_end"] = step
            with torch.random.fork_rng(devices=[]):
                # Some draw a part of their noise without the generator that they are given.
                torch.manual_seed(inputs[0].seed % 2**63)
                came = self._loaded(**given)
            return self._read(came, inputs)
        except _StoppedError:
            return Fault("stopped", "", again=False)
        except Exception as error:  # pipelines raise anything
            hint = memory_hint(error)
            if not hint:
                return Fault("the model failed", f"{type(error).__name__}: {error}", again=False)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return Fault(NO_MEMORY, hint, again=False)

    def _read(self, came: Any, inputs: Sequence[Input]) -> list[Produced | Fault] | Fault:
        """The pictures in a pipeline's output; of videos their last ones."""
        pictures = getattr(came, "images", None)
        if pictures is None:
            pictures = [frames[-1] for frames in getattr(came, "frames", ())]
        if len(pictures) != len(inputs):
            reason = f"{len(pictures)} pictures came for {len(inputs)} jobs"
            return Fault("the model failed", reason, again=False)
        flags = getattr(came, "nsfw_content_detected", None) or [False] * len(inputs)
        return [self._one(*one) for one in zip(pictures, flags, inputs, strict=True)]

    def _one(self, picture: Image.Image, flag: object, given: Input) -> Produced | Fault:
        if flag:
            reason = "the model's safety checker holds the picture back"
            return Fault("content filter", reason, again=False)
        if _is_black(picture) and not (given.pictures and _is_black(given.pictures[0])):
            reason = "as numbers out of range leave it: try --set dtype=float32"
            return Fault("a black picture", reason, again=False)
        facts: dict[str, Any] = {
            "device": self._place.device, "torch": str(self._libraries.torch.__version__)
        }  # fmt: skip
        if given.before is not None and picture.size != given.before:
            facts["source_size"] = list(given.before)
        read = cut_after(self._loaded, given.words)
        if read is not None:
            facts["tokens_read"] = read
        content = io.BytesIO()
        picture.save(content, "PNG", compress_level=1)
        return Produced(content.getvalue(), "image/png", facts=facts)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_black(picture: Image.Image) -> bool:
    return picture.convert("RGB").getbbox() is None
