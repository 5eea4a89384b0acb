"""`python:MODULE:FUNCTION`: an editor that calls a user's function.

The function is called with the source as a PIL image (or None), the instruction and the seed. If it has the parameters
`mask` or `references`, it gets these, too. The same holds for parameters whose values are given with `--set`. It
returns a PIL image, or the path or content of an image file. It raises `creval.Refused` to decline.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import ImageError, normalise_image, open_image
from creval.core.redaction import hide_settings
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.output_checks import read_image_bytes
from creval.providers.call_errors import CallError
from creval.providers.function_process import ProcessRunner
from creval.providers.user_functions import FunctionCaller, FunctionRunner, FunctionSignature, ThreadRunner, UserCall

_PNG_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")  # modes that PNG supports


class FunctionEditor(Editor):
    """A function as an editor.

    A function given by name runs in its own process, a function object in a thread. Only calls of a coroutine function
    run concurrently.
    """

    def __init__(
        self, name: str, where: str, options: EditorOptions, function: Callable[..., Any] | None = None
    ) -> None:
        self.name, self.model, self.notes = name, where, []
        runner: FunctionRunner = ProcessRunner(where) if function is None else ThreadRunner(function)
        self._signature, self._digests = runner.signature, runner.digests
        self._settings = dict(options.settings)
        self._shown_settings = hide_settings(self._settings)
        for setting in self._settings:
            if not self._signature.accepts(setting):
                raise CrevalError(f"`settings` {setting}: python:{where} has no such parameter.")
        self.price = options.price
        self._caller = FunctionCaller[bytes](runner, options.timeout)

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "settings": self._shown_settings}

    def keep_secrets(self) -> None:
        self._shown_settings = self._settings

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        return {"files": self._digests}

    def accepts(self, extra: str) -> bool:
        return extra == "source" or self._signature.accepts(extra)

    async def open(self) -> None:
        self._caller.open()

    async def close(self) -> None:
        self._caller.close()

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        self.note_ignored_inputs(job)
        prepare = partial(_build_arguments, job.with_absolute_paths(), self._settings, self._signature)
        content, seconds = await self._caller.timed_call(UserCall(prepare, _image_bytes))
        return EditOutput(content, cost=self.price, seconds=seconds)


def _build_arguments(
    job: EditRequest, settings: Mapping[str, Any], signature: FunctionSignature
) -> tuple[tuple[Image.Image | None], dict[str, Any]]:
    """Return the positional and the keyword arguments of the function."""
    given: dict[str, Any] = {"instruction": job.instruction, "seed": job.seed}
    try:
        source = None if job.source is None else open_image(job.source)
        if job.mask is not None and signature.accepts("mask"):
            given["mask"] = open_image(job.mask)
        if job.references and signature.accepts("references"):
            given["references"] = [open_image(path) for path in job.references]
    except ImageError as error:
        raise CallError("unreadable source", str(error), retryable=False) from None
    return (source,), signature.select({**given, **settings})


def _image_bytes(returned: Any) -> bytes:
    """Return the file content of the image that a function returned."""
    if isinstance(returned, bytes | bytearray | memoryview):
        return bytes(returned)
    if isinstance(returned, str | Path):
        return read_image_bytes(Path(returned))
    if isinstance(returned, Image.Image):
        buffer = io.BytesIO()
        (returned if returned.mode in _PNG_MODES else normalise_image(returned)).save(buffer, "PNG")
        return buffer.getvalue()
    raise CallError("no image", f"the function returned {type(returned).__name__}", retryable=False)
