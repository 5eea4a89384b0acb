"""An editor that runs here: jobs that wait are put together, and done in one thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.diffusers.call_signature import PipelineInput, build_input
from creval.editors.diffusers.pipeline import OUT_OF_MEMORY, DiffusersPipeline, PipelineSettings
from creval.providers.call_errors import CallError

_BATCH_WAIT_SECONDS = 0.2  # seconds that a batch waits for others to come
_SECONDS_PER_IMAGE = 15.0  # seconds for a picture, as a guess
T = TypeVar("T")
_QueuedInput = tuple[PipelineInput, "asyncio.Future[EditOutput]"]


class DiffusersEditor(Editor):
    """A pipeline that edits up to `batch` requests of one shape at once, fewer if memory does not suffice."""

    def __init__(self, name: str, model: str, options: EditorOptions) -> None:
        self.name, self.model, self.notes = name, model, []
        self._settings = PipelineSettings(options.settings)
        self._batch_size = self._settings.batch
        self.price = options.price
        self.seconds_per_edit = _SECONDS_PER_IMAGE * options.concurrency  # however many wait, one is made after another
        if self._batch_size > options.concurrency:
            raise CrevalError(
                f"`settings` batch={self._batch_size} needs as many pictures under way: give `concurrency` "
                f"{self._batch_size} or more."
            )
        self._pipeline: DiffusersPipeline | None = None
        self._queue: list[_QueuedInput] = []
        self._preparing_count = 0
        self._worker: asyncio.Task[None] | None = None
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-editor")

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        return {**super().manifest_entry, **self._get_pipeline().manifest_entry}

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        entry = self._get_pipeline().manifest_entry
        return {name: entry[name] for name in ("revision", "files", "versions") if name in entry}

    def _get_pipeline(self) -> DiffusersPipeline:
        """The pipeline, found once."""
        if self._pipeline is None:
            self._pipeline = DiffusersPipeline(self.name, self.model, self._settings)
            kind = self._pipeline.signature
            if self._batch_size > 1 and not kind.supports_batches:
                self._batch_size = 1
                self.add_note(f"makes one picture at a time: batches of a {kind.class_name} are not tried.")
        return self._pipeline

    def accepts(self, extra: str) -> bool:
        return extra != "mask" or bool(self._get_pipeline().signature.mask_parameter)

    async def open(self) -> None:
        """Fetch the model. It is loaded only when a picture is asked for that is not there."""
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-editor")
        await self._run_in_thread(lambda: self._get_pipeline().fetch())

    async def close(self) -> None:
        """Stop, at the next step of what is in the making; the model stays in memory."""
        self._closing = True
        for _, made in self._queue:
            made.cancel()
        self._queue = []
        if self._worker is not None:
            await asyncio.wait([self._worker])
        self._worker = None
        self._thread.shutdown()

    async def _run_in_thread(self, do: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, do)

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        pipeline = self._get_pipeline()
        self._check_request(job, pipeline)
        self._preparing_count += 1
        try:
            await self._run_in_thread(pipeline.load)
            given = await asyncio.to_thread(
                build_input, job, pipeline.signature, pipeline.size_step, self._settings.pixels, pipeline.fixed_size
            )
        except ImageError as error:
            raise CallError("unreadable source", str(error), retryable=False) from None
        finally:
            self._preparing_count -= 1
        made: asyncio.Future[EditOutput] = asyncio.get_running_loop().create_future()
        self._queue.append((given, made))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run_batches(pipeline))
        return await made

    def _check_request(self, job: EditRequest, pipeline: DiffusersPipeline) -> None:
        """Whether the pipeline takes such a job; what it makes of it otherwise is noted."""
        form = pipeline.signature
        images = len(job.references) + (job.source is not None)
        reason = ""
        if images and not form.image_parameter:
            reason = f"{form.class_name} makes pictures of words alone, and edits none"
            if instead := pipeline.editing_class():
                reason += f"; with `settings` pipeline={instead} the same weights do"
        elif images > form.max_images:
            reason = f"{form.class_name} takes {form.max_images} pictures at most, and these are {images}"
        elif form.mask_parameter and not images:
            reason = f"{form.class_name} needs a picture to edit"
        if reason:
            raise CallError("unsupported", reason, retryable=False)
        self.note_ignored_inputs(job)
        if job.mask is None and form.is_inpainting:
            self.add_note("paints inside masks: where there is none, all of the picture may change.")
        if "generator" not in form.parameters:
            self.add_note("takes no seed: each picture is another draw.")

    async def _run_batches(self, pipeline: DiffusersPipeline) -> None:
        while self._queue:
            late = time.monotonic() + _BATCH_WAIT_SECONDS
            while 0 < len(self._next_batch()) < self._batch_size and (self._preparing_count or time.monotonic() < late):
                await asyncio.sleep(_BATCH_WAIT_SECONDS / 20)
            batch = self._next_batch()
            taken = {made for _, made in batch}
            self._queue = [one for one in self._queue if one[1] not in taken]
            inputs = [given for given, _ in batch]
            if not inputs:  # it was closed meanwhile
                break
            began = time.monotonic()
            try:
                came = await self._run_in_thread(lambda: self._generate(pipeline, inputs))  # noqa: B023
            except Exception as error:  # nobody may wait for ever
                came = [CallError("the model failed", str(error), retryable=False) for _ in inputs]
            seconds = (time.monotonic() - began) / len(inputs)
            for (_, made), one in zip(batch, came, strict=True):
                if made.done():
                    continue
                if isinstance(one, CallError):
                    made.set_exception(one)
                else:
                    if read := one.metadata.get("tokens_read"):
                        self.add_note(f"reads {read} tokens of an instruction: longer ones were cut.")
                    made.set_result(one._replace(cost=self.price, seconds=seconds))
        self._worker = None

    def _next_batch(self) -> list[_QueuedInput]:
        """The jobs that are done next: the first that waits, and others of its shape."""
        waiting = self._queue
        return [one for one in waiting if one[0].batch_key == waiting[0][0].batch_key][: self._batch_size]

    def _generate(self, pipeline: DiffusersPipeline, inputs: Sequence[PipelineInput]) -> list[EditOutput | CallError]:
        """What came of each job. What fails at once is tried in halves: one spoils no other."""
        came = pipeline.generate(inputs, lambda: self._closing)
        if not isinstance(came, CallError):
            return came
        if len(inputs) == 1:
            return [came]
        half = len(inputs) // 2
        if came.kind == OUT_OF_MEMORY:
            self._batch_size = half
            self.add_note(f"makes batches of {half}, for want of memory.")
        return self._generate(pipeline, inputs[:half]) + self._generate(pipeline, inputs[half:])
