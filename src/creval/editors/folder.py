"""`touchstone:NAME` and `folder:DIR`: edits that are known before they are asked for."""

from __future__ import annotations

from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.filenames import of_draw
from creval.editors.base import Editor, EditorOptions, Job, Produced, Ticket, refuse_settings
from creval.editors.output_checks import read_picture
from creval.providers.errors import Fault

_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


class Folder(Editor):
    """Takes pictures that are there already, by the sample's name."""

    price = 0.0
    pace = 0.01

    def __init__(self, name: str, folder: str, options: EditorOptions) -> None:
        refuse_settings("a folder", options)
        self.name, self.model, self.learned = name, folder, []
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise CrevalError(f"folder:{folder or '(nothing)'} is no folder; give one of pictures.")

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        del ticket
        stems = [job.sample, *([job.source.stem] if job.source is not None else [])]
        for stem in stems:
            drawn = of_draw(stem, job.draw)
            for name in [drawn] if job.draw else [stem, drawn]:
                for suffix in _SUFFIXES:
                    path = self._folder / f"{name}{suffix}"
                    if self._holds(path):
                        return Produced(read_picture(path), cost=0.0)
        raise Fault("absent", f"{self._folder} holds no picture for the sample", again=False)

    def _holds(self, path: Path) -> bool:
        try:
            return path.is_file() and path.resolve().is_relative_to(self._folder.resolve())
        except OSError:  # no file has so long a name
            return False
