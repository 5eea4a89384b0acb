"""`folder:DIR`: an editor that returns existing images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.filenames import draw_filename
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask, require_no_settings
from creval.editors.output_checks import read_image_bytes
from creval.providers.call_errors import CallError

_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


class FolderEditor(Editor):
    """An editor that returns existing images. A file has the name of the sample's id or of its source image."""

    price = 0.0
    seconds_per_edit = 0.01

    def __init__(self, name: str, folder: str, options: EditorOptions) -> None:
        require_no_settings("a folder", options)
        self.name, self.model, self.notes = name, folder, []
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise CrevalError(f"folder:{folder or '(nothing)'}: no such folder. Give a folder of images.")

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        stems = [job.sample, *([job.source.stem] if job.source is not None else [])]
        for stem in stems:
            found = self._find([stem, draw_filename(stem, 0)])
            draw_1 = None if found else self._find([draw_filename(stem, 1)])
            # If there is neither ID nor ID--0, draws are numbered from 1, as by `creval edit`.
            if job.draw:
                found = self._find([draw_filename(stem, job.draw + (draw_1 is not None))])
            found = found or (None if job.draw else draw_1)
            if found is not None:
                return EditOutput(read_image_bytes(found), cost=0.0)
        raise CallError("absent", f"{self._folder} has no image for the sample", retryable=False)

    def _find(self, names: Sequence[str]) -> Path | None:
        paths = (self._folder / f"{name}{suffix}" for name in names for suffix in _SUFFIXES)
        return next((path for path in paths if self._has_file(path)), None)

    def _has_file(self, path: Path) -> bool:
        try:
            return path.is_file() and path.resolve().is_relative_to(self._folder.resolve())
        except OSError:  # the name is too long for a file
            return False
