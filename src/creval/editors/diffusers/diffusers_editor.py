"""The diffusers editor. Waiting requests are combined into batches, which run in one thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from creval.core.errors import CrevalError
from creval.core.formatting import pluralise
from creval.core.images import ImageError
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.diffusers.call_signature import PipelineInput, build_input
from creval.editors.diffusers.pipeline import OUT_OF_MEMORY, DiffusersPipeline, PipelineSettings
from creval.providers.call_errors import CallError

_BATCH_WAIT_SECONDS = 0.2  # seconds that an incomplete batch waits for more requests
_SECONDS_PER_IMAGE = 15.0  # estimated seconds per image
T = TypeVar("T")
_QueuedInput = tuple[PipelineInput, "asyncio.Future[EditOutput]"]


class DiffusersEditor(Editor):
    """A pipeline that runs up to `batch` requests of the same shape at once, or fewer if memory runs out."""

    def __init__(self, name: str, model: str, options: EditorOptions) -> None:
        self.name, self.model, self.notes = name, model, []
        self._settings = PipelineSettings(options.settings)
        self._batch_size = self._settings.batch
        self.price = options.price
        self.seconds_per_edit = _SECONDS_PER_IMAGE * options.concurrency  # concurrent requests run one after another
        if self._batch_size > options.concurrency:
            raise CrevalError(
                f"`settings` batch={self._batch_size} needs as many concurrent requests. Give `concurrency` "
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
        """Return the pipeline. It is created once."""
        if self._pipeline is None:
            self._pipeline = DiffusersPipeline(self.name, self.model, self._settings)
            kind = self._pipeline.signature
            if self._batch_size > 1 and not kind.supports_batches:
                self._batch_size = 1
                self.add_note(f"edits one image at a time: creval does not support batches with {kind.class_name}.")
        return self._pipeline

    def accepts(self, extra: str) -> bool:
        return extra != "mask" or bool(self._get_pipeline().signature.mask_parameter)

    async def open(self) -> None:
        """Download the model. It is loaded when the first edit is requested."""
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-editor")
        await self._run_in_thread(lambda: self._get_pipeline().fetch())

    async def close(self) -> None:
        """Stop at the next step of the current batch. The model stays in memory."""
        self._closing = True
        for _, future in self._queue:
            future.cancel()
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
        future: asyncio.Future[EditOutput] = asyncio.get_running_loop().create_future()
        self._queue.append((given, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run_batches(pipeline))
        return await future

    def _check_request(self, job: EditRequest, pipeline: DiffusersPipeline) -> None:
        """Raise `CallError` if the pipeline does not support a request, and note the inputs that it ignores."""
        form = pipeline.signature
        images = len(job.references) + (job.source is not None)
        reason = ""
        if images and not form.image_parameter:
            reason = f"{form.class_name} generates images from text and cannot edit"
            if instead := pipeline.editing_class():
                reason += f"; `settings` pipeline={instead} edits with the same weights"
        elif images > form.max_images:
            reason = f"{form.class_name} takes at most {pluralise(int(form.max_images), 'image')}, not {images}"
        elif form.mask_parameter and not images:
            reason = f"{form.class_name} needs an image to edit"
        if reason:
            raise CallError("unsupported", reason, retryable=False)
        self.note_ignored_inputs(job)
        if job.mask is None and form.is_inpainting:
            self.add_note("edits inside a mask: for samples without one, the whole image may change.")
        if "generator" not in form.parameters:
            self.add_note("takes no seed: each call returns a different random image.")

    async def _run_batches(self, pipeline: DiffusersPipeline) -> None:
        while self._queue:
            late = time.monotonic() + _BATCH_WAIT_SECONDS
            while 0 < len(self._next_batch()) < self._batch_size and (self._preparing_count or time.monotonic() < late):
                await asyncio.sleep(_BATCH_WAIT_SECONDS / 20)
            batch = self._next_batch()
            taken = {future for _, future in batch}
            self._queue = [one for one in self._queue if one[1] not in taken]
            inputs = [given for given, _ in batch]
            if not inputs:  # the editor was closed in the meantime
                break
            began = time.monotonic()
            try:
                results = await self._run_in_thread(lambda: self._generate(pipeline, inputs))  # noqa: B023
            except Exception as error:  # every future must be resolved
                results = [CallError("the model failed", str(error), retryable=False) for _ in inputs]
            seconds = (time.monotonic() - began) / len(inputs)
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, CallError):
                    future.set_exception(result)
                else:
                    if read := result.metadata.get("tokens_read"):
                        self.add_note(f"reads {read} tokens of an instruction: longer ones were truncated.")
                    future.set_result(result._replace(cost=self.price, seconds=seconds))
        self._worker = None

    def _next_batch(self) -> list[_QueuedInput]:
        """Return the next batch: the first waiting input, and later ones of the same shape."""
        waiting = self._queue
        return [one for one in waiting if one[0].batch_key == waiting[0][0].batch_key][: self._batch_size]

    def _generate(self, pipeline: DiffusersPipeline, inputs: Sequence[PipelineInput]) -> list[EditOutput | CallError]:
        """Return the result of each input. A batch that fails is split in halves, to isolate the input at fault."""
        results = pipeline.generate(inputs, lambda: self._closing)
        if not isinstance(results, CallError):
            return results
        if len(inputs) == 1:
            return [results]
        half = len(inputs) // 2
        if results.kind == OUT_OF_MEMORY:
            self._batch_size = half
            self.add_note(f"ran out of memory: the batch size is now {half}.")
        return self._generate(pipeline, inputs[:half]) + self._generate(pipeline, inputs[half:])
