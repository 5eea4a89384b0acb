"""`python:module:function`: a function of the user's edits.

It is called with the source as a PIL image (or none), the instruction and the seed, and returns a PIL image, or a
file's path or content. Where it takes `mask` or `references`, it gets these too, and what `--set` gives.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import ImageError, normalise_image, open_image
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.output_checks import read_image_bytes
from creval.providers.call_errors import CallError
from creval.providers.user_functions import FunctionCaller, accepted_arguments, accepts_argument, import_callable

_PNG_MODES = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")  # modes that it can hold


class FunctionEditor(Editor):
    """A function in a thread, one call after another unless it is a coroutine."""

    def __init__(
        self, name: str, where: str, options: EditorOptions, function: Callable[..., Any] | None = None
    ) -> None:
        self.name, self.model, self.notes = name, where, []
        self._function = function or import_callable(where)
        self._settings = dict(options.settings)
        for setting in self._settings:
            if not accepts_argument(self._function, setting):
                raise CrevalError(f"`settings` {setting}: python:{where} takes no such argument.")
        self.price = options.price
        self._caller = FunctionCaller(self._function, _image_bytes, options.timeout)

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, "settings": self._settings}

    def accepts(self, extra: str) -> bool:
        return extra == "source" or accepts_argument(self._function, extra)

    async def open(self) -> None:
        self._caller.open()

    async def close(self) -> None:
        self._caller.close()

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        self.note_ignored_inputs(job)
        began = time.monotonic()

        def arguments() -> tuple[tuple[Image.Image | None], dict[str, Any]]:
            nonlocal began
            began = time.monotonic()  # its turn has come
            return self._build_arguments(job)

        content = await self._caller.call(arguments)
        return EditOutput(content, cost=self.price, seconds=time.monotonic() - began)

    def _build_arguments(self, job: EditRequest) -> tuple[tuple[Image.Image | None], dict[str, Any]]:
        """The source, and what else the function takes."""
        given: dict[str, Any] = {"instruction": job.instruction, "seed": job.seed}
        try:
            source = None if job.source is None else open_image(job.source)
            if job.mask is not None and accepts_argument(self._function, "mask"):
                given["mask"] = open_image(job.mask)
            if job.references and accepts_argument(self._function, "references"):
                given["references"] = [open_image(path) for path in job.references]
        except ImageError as error:
            raise CallError("unreadable source", str(error), retryable=False) from None
        return (source,), accepted_arguments(self._function, given | self._settings)


def _image_bytes(made: Any) -> bytes:
    """A picture as a file's content."""
    if isinstance(made, bytes | bytearray | memoryview):
        return bytes(made)
    if isinstance(made, str | Path):
        return read_image_bytes(Path(made))
    if isinstance(made, Image.Image):
        sent = io.BytesIO()
        (made if made.mode in _PNG_MODES else normalise_image(made)).save(sent, "PNG")
        return sent.getvalue()
    raise CallError("no picture", f"the function returned {type(made).__name__}", retryable=False)
