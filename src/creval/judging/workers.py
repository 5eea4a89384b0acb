"""Concurrent calls to one judge. A reply is stored before its worker takes the next call.

Workers take calls from a lazy iterator. Questions that a reply leaves unanswered are queued again. A failed call is
retried by the worker that made it.
"""

from __future__ import annotations

import asyncio
import errno
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from creval.calls.call_session import CallSession
from creval.calls.journal import CallRecord
from creval.calls.reading import read_text
from creval.calls.retry import JudgeCaller
from creval.calls.settings import JudgeSettings
from creval.core.call import CACHE_ORIGIN, CallKey, Reply
from creval.core.edit_record import FileStamp
from creval.core.errors import CrevalError
from creval.core.images import EncodedImage, ImageError, ResizeRule, encode_for_request
from creval.core.verdict import Verdict, VerdictStatus
from creval.judges.base import Judge, JudgeRequest, completion_status
from creval.judging.answer_sharing import SharedAnswers
from creval.judging.plan import EditWork
from creval.judging.replies import read_verdicts
from creval.judging.requests import EncodedEdit, PendingCall, build_judge_request, find_image_paths
from creval.prompts import Prompt
from creval.providers.call_errors import CallError, ProviderUnusable

if TYPE_CHECKING:
    from creval.judging.stopping_monitor import EarlyStopping

_MAX_CACHED_SOURCES = 4


class JudgeWorkers:
    """Workers that make all calls of one judge."""

    def __init__(
        self,
        judge: Judge,
        edit_work: Iterable[EditWork],
        *,
        settings: JudgeSettings,
        prompts: Mapping[str, Prompt],
        resize_rule: ResizeRule | None,
        session: CallSession,
        has_succeeded: bool = False,
        early_stopping: EarlyStopping | None = None,
    ) -> None:
        self.judge, self.settings, self.progress = judge, settings, session.progress
        self._edit_work, self._prompts, self._resize_rule = edit_work, prompts, resize_rule
        self._session, self._journal, self._stop_signal = session, session.journal, session.stop_signal
        self._early_stopping = early_stopping
        self._caller = JudgeCaller(judge, settings, session, has_succeeded=has_succeeded)
        self._follow_up_queue: deque[PendingCall] = deque()
        self._ready_calls: deque[PendingCall] = deque()
        self._call_source = self._generate_calls()
        self._source_lock = asyncio.Lock()
        self._exhausted = False
        self._in_flight = 0
        self._state_changed = asyncio.Condition()
        self._source_cache: OrderedDict[Path, asyncio.Future[EncodedImage]] = OrderedDict()
        self._answer_affecting = {k: v for k, v in settings.answer_affecting().items() if v not in (None, False, {})}
        if judge.code_digests:
            self._answer_affecting["code"] = dict(judge.code_digests)
        self._prompt_versions = {name: prompt.version for name, prompt in prompts.items()}
        self._counted_with_n = judge.supports_n
        self._has_logprobs = False
        self._answers = SharedAnswers(session.answer_cache, judge)

    async def run(self) -> None:
        """Make calls until none are left, or the session is stopped."""
        try:
            await self._session.fan_out([self.judge], self._next_call, self._finish_call, self.settings.concurrency)
        finally:
            await self._call_source.aclose()

    async def _finish_call(self, call: PendingCall) -> None:
        """Process a call, and wake workers that wait for follow-up calls."""
        try:
            await self._process_call(call)
        finally:
            self._in_flight -= 1
            if self._exhausted or self._stop_signal:
                async with self._state_changed:
                    self._state_changed.notify_all()

    async def _next_call(self) -> PendingCall | None:
        """Return the next call: first follow-up calls, then calls of the plan. None if no call is left."""
        while True:
            self._skip_unneeded()
            if self._follow_up_queue or self._ready_calls:
                self._in_flight += 1
                return (self._follow_up_queue or self._ready_calls).popleft()
            if not self._exhausted:
                async with self._source_lock:
                    if self._follow_up_queue or self._ready_calls or self._exhausted:
                        continue
                    try:
                        self._ready_calls.extend(await anext(self._call_source))
                    except StopAsyncIteration:
                        self._exhausted = True
                    continue
            async with self._state_changed:
                if self._follow_up_queue:
                    continue
                if not self._in_flight or self._stop_signal:
                    return None
                await self._state_changed.wait()

    def _skip_unneeded(self) -> None:
        """Drop calls whose answers are no longer needed."""
        while self._early_stopping and self._ready_calls:
            if self._early_stopping.needs_answers(self._ready_calls[0].encoded_edit.work.edit.key):
                return
            self._ready_calls.popleft()
            self.progress.calls -= 1

    async def _generate_calls(self) -> AsyncGenerator[list[PendingCall], None]:
        """Yield lists of the plan's calls, one list per edit. Images are encoded in the background."""
        ready: deque[asyncio.Task[tuple[EncodedEdit, list[PendingCall]] | None]] = deque()
        items = iter(self._edit_work)
        try:
            while True:
                while len(ready) < 2 * self._session.threads and (item := next(items, None)) is not None:
                    if self._early_stopping and not self._early_stopping.needs_answers(item.edit.key):
                        calls_left = item.count_calls(supports_n=self.judge.supports_n)
                        self.progress.calls -= item.cached_calls + calls_left
                        continue
                    self.progress.done += item.cached_calls
                    self.progress.cached += item.cached_calls
                    if item.batches:
                        ready.append(asyncio.create_task(self._prepare_edit(item)))
                    elif self._early_stopping:
                        self._early_stopping.start_edit(item.edit.key, 0)
                if not ready:
                    return
                prepared = await ready.popleft()
                if prepared is None:
                    continue
                (look, found), calls = prepared, []
                for call in found:
                    parts = [call.repeats] if call.cached or self.judge.supports_n else [(n,) for n in call.repeats]
                    calls += [call._replace(repeats=part, request=None) for part in parts] if len(parts) > 1 else [call]
                self.progress.calls += len(calls) - look.work.count_calls(supports_n=self._counted_with_n)
                if self._early_stopping:
                    self._early_stopping.start_edit(look.work.edit.key, len(calls))
                yield calls
                del prepared, look, found, calls  # free the images with their calls
        finally:
            for task in ready:
                task.cancel()

    async def _prepare_edit(self, work: EditWork) -> tuple[EncodedEdit, list[PendingCall]] | None:
        """Return an edit with encoded images, and its calls. None if an image cannot be opened."""
        look = await self._encode_edit(work)
        if look is None:
            return None
        calls = [PendingCall(look, batch.questions, batch.repeats) for batch in work.batches]
        return look, await self._take_cached(calls)

    async def _take_cached(self, calls: Sequence[PendingCall]) -> list[PendingCall]:
        """Look calls up in the cache. Each cached repeat becomes a separate call.

        A call that this run has made before is not looked up: it is made again.
        """
        if not self._answers.enabled:
            return list(calls)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._session.pool, self._answers.split_calls, calls, self._build, self._is_new
        )

    def _build(self, call: PendingCall) -> JudgeRequest:
        return call.request or build_judge_request(call, self._prompts)

    def _is_new(self, call: PendingCall, repeat: int) -> bool:
        return not self._journal.was_made(self._build_call_key(call, repeat))

    async def _encode_edit(self, work: EditWork) -> EncodedEdit | None:
        """Encode an edit's images. Returns None and records the reason if one cannot be opened."""
        wanted = {name for group in work.batches for q in group.questions for name in q.shows}
        images: dict[str, tuple[EncodedImage, ...]] = {}
        seen: dict[str, FileStamp] = {}
        try:
            for name in sorted(wanted):
                paths = find_image_paths(work.sample, work.edit, name)
                images[name] = tuple([await self._get_image(path, name) for path in paths])
                for path, image in zip(paths, images[name], strict=True):
                    seen[name if len(paths) == 1 else f"{name} {path.name}"] = FileStamp.take(path, image.digest)
        except (ImageError, OSError) as error:
            if getattr(error.__cause__ or error, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise CrevalError(
                    "too many open files and connections: lower `concurrency`, or raise the limit (ulimit -n)."
                ) from error
            reason = str(error)
            self.progress.unreadable_edits[f"{work.edit.key.model}/{work.edit.key.sample}"] = reason
            self._journal.record_edit(work.edit, seen, reason)
            self.progress.calls -= work.count_calls(supports_n=self.judge.supports_n)
            self.progress.unreadable_questions += sum(
                len(group.questions) * len(group.repeats) for group in work.batches
            )
            if self._early_stopping:
                self._early_stopping.start_edit(work.edit.key, 0)
            return None
        self._journal.record_edit(work.edit, seen)
        return EncodedEdit(work, images)

    async def _get_image(self, path: Path, name: str) -> EncodedImage:
        loop = asyncio.get_running_loop()
        if name != "source":
            return await loop.run_in_executor(self._session.pool, self._encode, path)
        # The next edits are those of other models, with the same source.
        if path not in self._source_cache:
            self._source_cache[path] = loop.run_in_executor(self._session.pool, self._encode, path)
            while len(self._source_cache) > _MAX_CACHED_SOURCES:
                self._source_cache.popitem(last=False)
        return await asyncio.shield(self._source_cache[path])

    def _encode(self, path: Path) -> EncodedImage:
        return self.judge.prepare_image(encode_for_request(path, self._resize_rule))

    async def _process_call(self, call: PendingCall) -> None:
        """Make a call with retries, store the reply or the failure, and queue follow-up calls."""
        if call.previous_tries:
            (call,) = await self._take_cached([call])
        request = self._build(call)
        if call.cached is not None:
            made = self._answers.read(call.cached)
            self.progress.cached += 1
            self.progress.shared += 1
            self.progress.saved += call.cached.cost or 0.0
        else:
            try:
                made = await self._caller.call(request)
            except CallError as fault:
                await self._record_failure(call, fault)
                return
        answer = made.response
        choices = answer.completions[: len(call.repeats)]
        records: list[CallRecord] = []
        follow: list[PendingCall] = []
        for at, (repeat, choice) in enumerate(zip(call.repeats, choices, strict=False)):
            read = partial(read_verdicts, choice, request, call.questions, use_logprobs=self.settings.logprobs)
            verdicts = await read_text(choice.text, read)
            first = at == 0
            reply = Reply(
                completion_status(choice),
                choice.text,
                self.judge.name if call.cached is None else CACHE_ORIGIN,
                call.previous_tries * self.settings.attempts + made.attempt,
                answer.tokens_in if first else None,
                answer.tokens_out if first else None,
                made.cost if first else None,
                made.latency if call.cached is None else None,
            )
            records.append((self._build_call_key(call, repeat), reply, verdicts))
            follow += self._find_follow_ups(call, repeat, verdicts)
        left = call.repeats[len(choices) :]
        if left:
            # The judge returned fewer completions than requested: request the others one by one.
            self.judge.supports_n = False
            follow += [call._replace(repeats=(repeat,), request=None) for repeat in left]
        if shared := self._answers.select(call, made, [kept for _, _, kept in records]):
            self._journal.share(self._answers.judge, shared)
        await self._journal.append(records)
        if call.cached is None:
            self._caller.record_success(answer)
        self._queue_follow_ups(call, follow)
        last = call.previous_tries >= self.settings.retries
        for _, _, kept in records:
            answered = sum(verdict.status is VerdictStatus.ANSWERED for verdict in kept)
            self.progress.answered += answered
            self.progress.unanswered += len(kept) - answered if last else 0
        self._has_logprobs |= any(choice.logprobs for choice in choices)
        proper = [choice for choice in choices if choice.finish_reason == "stop" and choice.text.strip()]
        if self.settings.logprobs and proper and not self._has_logprobs:
            raise ProviderUnusable(f"{self.judge.name} sent no log-probabilities with its answer.")

    def _build_call_key(self, call: PendingCall, repeat: int) -> CallKey:
        shows = call.questions[0].shows
        return CallKey(
            self.judge.name,
            call.encoded_edit.work.edit.key,
            tuple(question.id for question in call.questions),
            self._prompt_versions[call.questions[0].prompt],
            tuple(image.digest for image in call.encoded_edit.select_images(shows)),
            self._answer_affecting,
            repeat,
        )

    def _find_follow_ups(self, call: PendingCall, repeat: int, verdicts: Sequence[Verdict]) -> list[PendingCall]:
        """Return calls for the questions that a reply leaves unanswered.

        Questions are asked one by one if the reply answers some, or if this is the last try. Otherwise they are asked
        together again.
        """
        status = {verdict.probe: verdict.status for verdict in verdicts}
        open_ = [q for q in call.questions if status[q.id] is not VerdictStatus.ANSWERED]
        if not open_ or call.previous_tries >= self.settings.retries:
            return []
        tries = call.previous_tries + 1
        if len(open_) == len(call.questions) and tries < self.settings.retries:
            return [PendingCall(call.encoded_edit, call.questions, (repeat,), tries)]
        return [PendingCall(call.encoded_edit, (question,), (repeat,), tries) for question in open_]

    def _queue_follow_ups(self, call: PendingCall, follow_ups: Sequence[PendingCall]) -> None:
        """Queue the follow-up calls of a finished call, and update the counts."""
        self.progress.done += 1
        self.progress.calls += len(follow_ups)
        self._follow_up_queue.extend(follow_ups)
        if self._early_stopping:
            self._early_stopping.finish_call(call.encoded_edit.work.edit.key, len(follow_ups))

    async def _record_failure(self, call: PendingCall, error: CallError) -> None:
        """Store the failure of a call. Questions that a content filter refused together are asked one by one."""
        reply = self._caller.failed_reply(error)
        status = reply.status
        verdicts = [Verdict(q.id, status, explanation=str(error)) for q in call.questions]
        await self._journal.append([(self._build_call_key(call, r), reply, verdicts) for r in call.repeats])
        follow: list[PendingCall] = []
        if status is VerdictStatus.REFUSED:
            follow = [again for r in call.repeats for again in self._find_follow_ups(call, r, verdicts)]
        self._queue_follow_ups(call, follow)
        if not follow:
            self.progress.unanswered += len(call.questions) * len(call.repeats)
        if status is not VerdictStatus.REFUSED:
            self._caller.record_failure(error)
