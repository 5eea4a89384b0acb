"""`touchstone:NAME` and `folder:DIR`: edits that are known before they are asked for."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from creval.benchmarks.touchstone.editors import EDITORS, edited
from creval.benchmarks.touchstone.files import read_samples, save_scene, scene_in
from creval.benchmarks.touchstone.samples import Touchstone
from creval.benchmarks.touchstone.scene import Scene
from creval.core.errors import CrevalError, known_name
from creval.core.names import of_draw
from creval.editors.checks import read_picture
from creval.editors.editor import (
    Editor,
    EditorOptions,
    Job,
    Produced,
    Ticket,
    refuse_settings,
)
from creval.judges.judge import Fault, Unusable

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


class Drawn(Editor):
    """One of touchstone's editors, which know what their pictures show. A step's instruction is
    carried out on what the picture shows by then."""

    price = 0.0
    pace = 0.1

    def __init__(self, name: str, editor: str, options: EditorOptions) -> None:
        known_name("touchstone's editor", editor, EDITORS)
        refuse_settings("touchstone's editor", options)
        self.name, self.model, self.learned = name, editor, []
        if options.bench is None:
            raise CrevalError(f"{name} edits touchstone's pictures: give its benchmark.")
        self._samples = {sample.id: sample for sample in read_samples(options.bench)}

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        del ticket
        sample = self._samples.get(job.sample)
        if sample is None or job.source is None:
            raise Unusable(f"{self.name} knows no sample {job.sample!r} of touchstone's.")
        scene = self._scene(sample, job)
        return Produced(await asyncio.to_thread(_drawn, scene), "image/png", 0.0)

    def _scene(self, sample: Touchstone, job: Job) -> Scene:
        if job.instruction in sample.steps:
            now = scene_in(job.source.read_bytes()) if job.source is not None else None
            if now is None:
                raise Fault("unknown picture", "it does not say what it shows", again=False)
            sample = sample.step(now, sample.steps.index(job.instruction))
        return edited(sample, self.model, job.seed + job.draw)


def _drawn(scene: Scene) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edit.png"
        save_scene(scene, path)
        return path.read_bytes()
