"""Custom metrics: `python:MODULE:NAME` and `command:TEMPLATE`.

- A class is a subclass of `ImageMetric`.
- A function gets those of `edit`, `source`, `mask`, `reference` (PIL images) and `instruction` that its signature
  names. It returns a number.
- A command has the placeholders `{edit}`, `{source}`, `{mask}`, `{references}`, `{instruction}` and `{output}`. The
  program writes a number to the file `{output}`.

A function or program provides one value from 0 to 1. The value has the name of the function or program. A function
given by name runs in a separate process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

from creval.core.errors import CrevalError
from creval.core.files import read_text
from creval.core.images import ImageError, open_image, open_mask
from creval.core.schema import Metric
from creval.core.temporary import temporary_folder
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import LazyImage, MetricInputs, NotMeasurable
from creval.providers.call_errors import CallError
from creval.providers.function_process import ProcessRunner
from creval.providers.source_digests import module_digests
from creval.providers.user_functions import FunctionSignature, UserCall, import_callable, read_signature, split_place
from creval.providers.user_programs import ProgramTemplate, run_program

PLACEHOLDERS = ("edit", "source", "source?", "mask", "mask?", "references", "instruction", "output")
_TIMEOUT = 600.0
_MAX_NUMBER_BYTES = 1 << 16  # size limit of the output file


@lru_cache(maxsize=64)
def user_metric_class(spec: str) -> type[ImageMetric]:
    """Return the metric class of `python:...` or `command:...`."""
    kind, _, rest = spec.partition(":")
    if kind == "command":
        template = ProgramTemplate(rest, PLACEHOLDERS, "python sharpness.py {edit} {output}")
        return _make_class(spec, _program_name(rest), _CommandMetric, {"template": template})
    runner = ProcessRunner(rest)
    if not runner.is_class:
        return _make_class(spec, split_place(rest)[1], _ProcessMetric, {"runner": runner})
    runner.abandon()
    found = import_callable(rest)
    if not (isinstance(found, type) and issubclass(found, ImageMetric)):
        raise CrevalError(f"{spec} is not a subclass of ImageMetric.")
    return found


def user_code_digests(spec: str) -> Mapping[str, str]:
    """Return the digests of the code of `python:...` or `command:...`. Call `user_metric_class` first."""
    metric = user_metric_class(spec)
    if issubclass(metric, _CommandMetric):
        return metric.template.digests
    if issubclass(metric, _ProcessMetric):
        return metric.runner.digests
    return module_digests(split_place(spec.partition(":")[2])[0])


def function_metric_class(function: Callable[..., Any], spec: str = "") -> type[ImageMetric]:
    """Return a metric class that calls a function."""
    name = getattr(function, "__name__", "function")
    return _make_class(spec or name, name, _FunctionMetric, {"function": staticmethod(function)})


def _make_class(spec: str, value: str, base: type[ImageMetric], attributes: dict[str, Any]) -> type[ImageMetric]:
    info = MetricInfo(spec, spec, (Metric(value, value, 0.0, 1.0),), "as returned by the custom code")
    return type(base.__name__.strip("_"), (base,), {"info": info, **attributes})


def _program_name(template: str) -> str:
    """Return the name of the program or script that a command runs."""
    words = template.partition("{")[0].split()
    return Path(words[-1]).stem if words else "command"


class _FunctionMetric(ImageMetric):
    """A metric that calls a function object in this process."""

    function: ClassVar[Callable[..., Any]]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        function = type(self).function
        signature = read_signature(function)
        images = {role: image and image.image for role, image in _images(inputs, signature).items()}
        taken = signature.select({**images, "instruction": inputs.sample.instruction})
        return {self.info.values[0].name: float(function(**taken))}


class _ProcessMetric(ImageMetric):
    """A metric that calls a function given by name, in a separate process. That process opens the images."""

    runner: ClassVar[ProcessRunner]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        signature = self.runner.signature
        images = _images(inputs, signature)
        paths = {role: inputs.used_files[_ROLES[role]][0].absolute() if images[role] else None for role in images}
        prepare = partial(_open_arguments, paths, inputs.sample.instruction, signature)
        try:
            return {self.info.values[0].name: self.runner.call(UserCall(prepare, float), _TIMEOUT)}
        except CallError as error:
            raise ImageError(error.reason) if error.kind == _UNREADABLE else NotMeasurable(str(error)) from None


_ROLES = {"edit": "edit", "source": "source", "mask": "mask", "reference": "references"}
"""The parameters of a function that are images, and the key of each in `MetricInputs.used_files`."""
_UNREADABLE = "unreadable image"


def _images(inputs: MetricInputs, signature: FunctionSignature) -> dict[str, LazyImage | None]:
    """Return the images that a function accepts."""
    return {parameter: getattr(inputs, parameter) for parameter in _ROLES if signature.accepts(parameter)}


def _open_arguments(
    paths: Mapping[str, Path | None], instruction: str, signature: FunctionSignature
) -> tuple[tuple[()], dict[str, Any]]:
    try:
        images = {
            role: path and (open_mask(path) if role == "mask" else open_image(path)) for role, path in paths.items()
        }
    except ImageError as error:
        raise CallError(_UNREADABLE, str(error), retryable=False) from None
    return (), signature.select({**images, "instruction": instruction})


class _CommandMetric(ImageMetric):
    template: ClassVar[ProgramTemplate]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        sample = inputs.sample
        source, mask = (str(path.absolute()) if path else "" for path in (sample.source, sample.mask))
        if "source" in self.template.placeholders and not source:
            raise NotMeasurable("the sample has no source to compare with")
        with temporary_folder() as folder:
            output = folder / "value.txt"
            arguments = self.template.fill(
                {
                    "edit": str(inputs.edit_path.absolute()),
                    "source": source,
                    "source?": source,
                    "mask": mask,
                    "mask?": mask,
                    "references": [str(path.absolute()) for path in sample.references],
                    "instruction": sample.instruction,
                    "output": str(output),
                }
            )
            printed = ""
            try:
                printed = asyncio.run(run_program(self.name, arguments, _TIMEOUT))
                return {self.info.values[0].name: float(read_text(output, max_bytes=_MAX_NUMBER_BYTES))}
            except CallError as error:
                raise NotMeasurable(str(error)) from error
            except (OSError, ValueError) as error:
                raise NotMeasurable(f"the program wrote no number to {{output}}: {printed}".strip(": ")) from error
