"""Custom metrics: `python:MODULE:NAME` and `command:TEMPLATE`.

- A class is a subclass of `ImageMetric`.
- A function is called with those of `edit`, `source`, `mask`, `reference` (PIL images) and `instruction`
  that are among its parameters. It returns a number.
- A command has the placeholders `{edit}`, `{source}`, `{mask}`, `{references}`, `{instruction}` and
  `{output}`. The program writes a number to the file `{output}`.

A function or program has one value, from 0 to 1, with the name of the function or program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from creval.core.errors import CrevalError
from creval.core.files import read_text
from creval.core.schema import Metric
from creval.core.temporary import temporary_folder
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs, NotMeasurable
from creval.providers.call_errors import CallError
from creval.providers.source_digests import module_digests
from creval.providers.user_functions import import_callable, read_signature
from creval.providers.user_programs import ProgramTemplate, run_program

PLACEHOLDERS = ("edit", "source", "source?", "mask", "mask?", "references", "instruction", "output")
_TIMEOUT = 600.0
_MAX_NUMBER_BYTES = 1 << 16  # size limit of the output file


@lru_cache(maxsize=64)
def user_metric_class(spec: str) -> type[ImageMetric]:
    """Return the metric class of `python:...` or `command:...`."""
    kind, _, rest = spec.partition(":")
    if kind == "command":
        return _make_class(spec, _program_name(rest), _CommandMetric, {"template": _open_template(rest)})
    found = import_callable(rest)
    if isinstance(found, type):
        if not issubclass(found, ImageMetric):
            raise CrevalError(f"{spec} is not a subclass of ImageMetric.")
        return found
    return function_metric_class(found, spec)


def user_code_digests(spec: str) -> dict[str, str]:
    """Return the digests of the code of `python:...` or `command:...`, which must have been opened before."""
    kind, _, rest = spec.partition(":")
    return _open_template(rest).digests if kind == "command" else module_digests(rest.rpartition(":")[0])


def _open_template(template: str) -> ProgramTemplate:
    return ProgramTemplate(template, PLACEHOLDERS, "python sharpness.py {edit} {output}")


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
    function: ClassVar[Callable[..., Any]]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        given: dict[str, Callable[[], Any]] = {
            "edit": lambda: inputs.edit.image,
            "source": lambda: inputs.source.image,
            "mask": lambda: inputs.mask.image if inputs.mask else None,
            "reference": lambda: inputs.reference.image,
            "instruction": lambda: inputs.sample.instruction,
        }
        function = type(self).function
        signature = read_signature(function)
        taken = {name: make() for name, make in given.items() if signature.accepts(name)}
        return {self.info.values[0].name: float(function(**taken))}


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
