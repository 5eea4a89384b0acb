"""Editors that know what touchstone's images show."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from creval.core.errors import CrevalError, known_name
from creval.editors.base import Editor, EditorOptions, Job, Produced, Ticket, refuse_settings
from creval.providers.errors import Fault, Unusable
from creval.touchstone.files import read_samples, save_scene, scene_in
from creval.touchstone.samples import Touchstone
from creval.touchstone.scene import Scene
from creval.touchstone.simulated_edits import EDITORS, edited


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
