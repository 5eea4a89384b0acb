"""Helpers that run the diffusers editor in tests."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from creval.editors.base import EditorOptions, EditOutput, EditRequest
from creval.editors.diffusers.diffusers_editor import DiffusersEditor
from creval.editors.editor_spec import open_editor
from tests.editors.asking import NoTicket

# Settings for small images, and for text encoders with two layers.
SMALL: dict[str, dict[str, Any]] = {
    "FluxKontextPipeline": {"pixels": 90 * 70, "_auto_resize": False},
    "FluxKontextInpaintPipeline": {"pixels": 90 * 70, "_auto_resize": False},
    "Flux2KleinPipeline": {"text_encoder_out_layers": [1]},
}


def opened(folder: Path, **settings: Any) -> DiffusersEditor:
    """Return an editor with a tiny pipeline and four steps by default."""
    given = {"steps": 4, **SMALL.get(folder.name, {}), **settings}
    editor = open_editor(f"diffusers:{folder}", EditorOptions(given))
    assert isinstance(editor, DiffusersEditor)
    return editor


def came(editor: DiffusersEditor, jobs: Sequence[EditRequest]) -> list[EditOutput | BaseException]:
    """Return the results of concurrent requests."""

    async def run() -> list[EditOutput | BaseException]:
        await editor.open()
        try:
            asked = (editor.edit(job, NoTicket()) for job in jobs)
            return list(await asyncio.gather(*asked, return_exceptions=True))
        finally:
            await editor.close()

    return asyncio.run(run())


def made(editor: DiffusersEditor, *jobs: EditRequest) -> list[EditOutput]:
    """Return the images for requests."""
    found = came(editor, jobs)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if isinstance(one, EditOutput)]


def pixels(produced: EditOutput) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(produced.content)).convert("RGB"), dtype=int)


def apart(one: EditOutput, other: EditOutput) -> int:
    """Return the largest difference between two images, of 255."""
    return int(np.abs(pixels(one) - pixels(other)).max())
