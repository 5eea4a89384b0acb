"""An editor that runs here: jobs that wait are put together, and done in one thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.editors.base import Editor, EditorOptions, Job, Produced, Ticket
from creval.editors.diffusers.call_signature import Input, input_of
from creval.editors.diffusers.pipeline import NO_MEMORY, Pipeline, Settings
from creval.providers.errors import Fault

_MOMENT = 0.2  # seconds that a batch waits for others to come
_PACE = 15.0  # seconds for a picture, as a guess
T = TypeVar("T")
_Waiting = tuple[Input, "asyncio.Future[Produced]"]


class Diffusers(Editor):
    """A pipeline. Up to `batch` jobs of one shape are done at once; fewer where the memory of the
    device does not suffice."""

    def __init__(self, name: str, model: str, options: EditorOptions) -> None:
        self.name, self.model, self.learned = name, model, []
        self._settings = Settings(options.settings)
        self._batch = self._settings.batch
        self.price = options.price
        self.pace = _PACE * options.concurrency  # however many wait, one is made after another
        if self._batch > options.concurrency:
            raise CrevalError(
                f"--set batch={self._batch} needs as many pictures under way: give --concurrency "
                f"{self._batch} or more."
            )
        self._pipeline: Pipeline | None = None
        self._waiting: list[_Waiting] = []
        self._coming = 0
        self._running: asyncio.Task[None] | None = None
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-editor")

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, **self._found().facts}

    def _found(self) -> Pipeline:
        """The pipeline, found once."""
        if self._pipeline is None:
            self._pipeline = Pipeline(self.name, self.model, self._settings)
            kind = self._pipeline.form
            if self._batch > 1 and not kind.batches:
                self._batch = 1
                self.note(f"makes one picture at a time: batches of a {kind.kind} are not tried.")
        return self._pipeline

    def takes(self, extra: str) -> bool:
        return extra != "mask" or bool(self._found().form.mask)

    async def open(self) -> None:
        """Fetch the model. It is loaded only when a picture is asked for that is not there."""
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="creval-editor")
        await self._in_thread(lambda: self._found().fetch())

    async def close(self) -> None:
        """Stop, at the next step of what is in the making; the model stays in memory."""
        self._closing = True
        for _, made in self._waiting:
            made.cancel()
        self._waiting = []
        if self._running is not None:
            await asyncio.wait([self._running])
        self._running = None
        self._thread.shutdown()

    async def _in_thread(self, do: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, do)

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        del ticket
        pipeline = self._found()
        self._check(job, pipeline)
        self._coming += 1
        try:
            await self._in_thread(pipeline.load)
            given = await asyncio.to_thread(
                input_of, job, pipeline.form, pipeline.step, self._settings.pixels, pipeline.size
            )
        except ImageError as error:
            raise Fault("unreadable source", str(error), again=False) from None
        finally:
            self._coming -= 1
        made: asyncio.Future[Produced] = asyncio.get_running_loop().create_future()
        self._waiting.append((given, made))
        if self._running is None:
            self._running = asyncio.create_task(self._run(pipeline))
        return await made

    def _check(self, job: Job, pipeline: Pipeline) -> None:
        """Whether the pipeline takes such a job; what it makes of it otherwise is noted."""
        form = pipeline.form
        pictures = len(job.references) + (job.source is not None)
        reason = ""
        if pictures and not form.pictures:
            reason = f"{form.kind} makes pictures of words alone, and edits none"
            if instead := pipeline.instead():
                reason += f"; with --set pipeline={instead} the same weights do"
        elif pictures > form.most:
            reason = f"{form.kind} takes {form.most} pictures at most, and these are {pictures}"
        elif form.mask and not pictures:
            reason = f"{form.kind} needs a picture to edit"
        if reason:
            raise Fault("unsupported", reason, again=False)
        self.leave_out(job)
        if job.mask is None and form.paints:
            self.note("paints inside masks: where there is none, all of the picture may change.")
        if "generator" not in form.takes:
            self.note("takes no seed: each picture is another draw.")

    async def _run(self, pipeline: Pipeline) -> None:
        while self._waiting:
            late = time.monotonic() + _MOMENT
            while 0 < len(self._alike()) < self._batch and (
                self._coming or time.monotonic() < late
            ):
                await asyncio.sleep(_MOMENT / 20)
            batch = self._alike()
            taken = {made for _, made in batch}
            self._waiting = [one for one in self._waiting if one[1] not in taken]
            inputs = [given for given, _ in batch]
            if not inputs:  # it was closed meanwhile
                break
            try:
                came = await self._in_thread(lambda: self._make(pipeline, inputs))  # noqa: B023
            except Exception as error:  # nobody may wait for ever
                came = [Fault("the model failed", str(error), again=False) for _ in inputs]
            for (_, made), one in zip(batch, came, strict=True):
                if made.done():
                    continue
                if isinstance(one, Fault):
                    made.set_exception(one)
                else:
                    if read := one.facts.get("tokens_read"):
                        self.note(f"reads {read} tokens of an instruction: longer ones were cut.")
                    made.set_result(one._replace(cost=self.price))
        self._running = None

    def _alike(self) -> list[_Waiting]:
        """The jobs that are done next: the first that waits, and others of its shape."""
        waiting = self._waiting
        return [one for one in waiting if one[0].shape == waiting[0][0].shape][: self._batch]

    def _make(self, pipeline: Pipeline, inputs: Sequence[Input]) -> list[Produced | Fault]:
        """What came of each job. What fails at once is tried in halves: one spoils no other."""
        came = pipeline.make(inputs, lambda: self._closing)
        if not isinstance(came, Fault):
            return came
        if len(inputs) == 1:
            return [came]
        half = len(inputs) // 2
        if came.kind == NO_MEMORY:
            self._batch = half
            self.note(f"makes batches of {half}, for want of memory.")
        return self._make(pipeline, inputs[:half]) + self._make(pipeline, inputs[half:])
