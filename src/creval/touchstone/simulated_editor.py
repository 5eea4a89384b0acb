"""Touchstone's simulated editors as an `Editor`."""

from __future__ import annotations

import asyncio

from creval.core.errors import CrevalError, require_known
from creval.core.files import read_bytes
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask, require_no_settings
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.touchstone.files import encode_png, read_scene, read_touchstone_samples
from creval.touchstone.render import draw_scene
from creval.touchstone.samples import TouchstoneSample
from creval.touchstone.scene import Scene
from creval.touchstone.simulated_edits import SIMULATED_EDITORS, simulate_edit


class SimulatedEditor(Editor):
    """A simulated editor, which reads scenes from the benchmark and from images.

    The instruction of a step is applied to the scene of the image that it gets.
    """

    price = 0.0
    seconds_per_edit = 0.1

    def __init__(self, name: str, editor: str, options: EditorOptions) -> None:
        require_known("touchstone's editor", editor, SIMULATED_EDITORS)
        require_no_settings("touchstone's editor", options)
        self.name, self.model, self.notes = name, editor, []
        if options.benchmark_folder is None:
            raise CrevalError(f"{name} only edits touchstone's images: give a touchstone benchmark.")
        self._samples = {sample.id: sample for sample in read_touchstone_samples(options.benchmark_folder)}

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        sample = self._samples.get(job.sample)
        if sample is None or job.source is None:
            raise ProviderUnusable(f"{self.name}: the touchstone benchmark has no sample {job.sample!r}.")
        scene = self._edited_scene(sample, job)
        image = await asyncio.to_thread(draw_scene, scene)
        return EditOutput(encode_png(image, scene), "image/png", 0.0)

    def _edited_scene(self, sample: TouchstoneSample, job: EditRequest) -> Scene:
        if job.instruction in sample.steps:
            now = read_scene(read_bytes(job.source)) if job.source is not None else None
            if now is None:
                raise CallError("unknown image", "the file has no stored scene", retryable=False)
            sample = sample.step_sample(now, sample.steps.index(job.instruction))
        return simulate_edit(sample, self.model, job.seed + job.draw)
