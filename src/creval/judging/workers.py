"""Asking one judge: many calls at once, every reply kept before its slot is free.

Workers pull calls from a lazy source. What a reply leaves open goes back to be asked again; a call
that brought no reply is made again by the worker that made it.
"""

from __future__ import annotations

import asyncio
import errno
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from creval.calls.journal import Ledger, Record
from creval.calls.limits import Halt, Purse
from creval.calls.retry import JudgeCaller, Progress, StoppedError
from creval.calls.settings import Settings
from creval.core.call import Ask, Reply
from creval.core.edit import Stamp
from creval.core.errors import CrevalError
from creval.core.images import Encoded, Fit, ImageError, encode
from creval.core.verdict import Status, Verdict
from creval.judges.base import Answer, Judge, status_of
from creval.judging.plan import Item
from creval.judging.requests import Call, Look, make_request, paths_of, verdicts_of
from creval.prompts import Prompt
from creval.providers.errors import Fault, Unusable
from creval.store.edit_folders import stamp_of

if TYPE_CHECKING:
    from creval.judging.early_stopping import Deciding

_SOURCES_KEPT = 4


class Asking:
    """One judge asked about all items."""

    def __init__(
        self,
        judge: Judge,
        items: Iterable[Item],
        *,
        settings: Settings,
        prompts: Mapping[str, Prompt],
        fit: Fit | None,
        ledger: Ledger,
        progress: Progress,
        purse: Purse,
        halt: Halt,
        pool: ThreadPoolExecutor,
        ahead: int = 4,
        begun: bool = False,
        deciding: Deciding | None = None,
    ) -> None:
        self.judge, self.settings, self.progress = judge, settings, progress
        self._items, self._prompts, self._fit = items, prompts, fit
        self._ledger, self._halt, self._pool = ledger, halt, pool
        self._ahead, self._deciding = ahead, deciding
        self._caller = JudgeCaller(
            judge, settings, progress=progress, purse=purse, halt=halt, begun=begun
        )
        self._again: deque[Call] = deque()
        self._ready: deque[Call] = deque()
        self._source = self._calls()
        self._pulling = asyncio.Lock()
        self._exhausted = False
        self._taken = 0
        self._moved = asyncio.Condition()
        self._sources: OrderedDict[Path, asyncio.Future[Encoded]] = OrderedDict()
        self._shape = {k: v for k, v in settings.shape().items() if v not in (None, False, {})}
        self._versions = {name: prompt.version for name, prompt in prompts.items()}
        self._counted_several = judge.several
        self._has_logprobs = False

    async def run(self) -> None:
        """Ask until all is asked, or the word to stop comes."""
        try:
            await self.judge.open()
        except Exception as error:
            self._halt.now("error", error)
            return
        try:
            workers = [asyncio.create_task(self._work()) for _ in range(self.settings.concurrency)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        finally:
            await self._source.aclose()
            await self.judge.close()

    async def _work(self) -> None:
        while not self._halt:
            try:
                call = await self._next()
            except Exception as error:
                self._halt.now("error", error)
                return
            if call is None:
                return
            try:
                await self._through(call)
            except Exception as error:  # whatever it is, others finish and keep their answers
                self._halt.now("error", error)
            finally:
                self._taken -= 1
                if self._exhausted or self._halt:
                    async with self._moved:
                        self._moved.notify_all()

    async def _next(self) -> Call | None:
        """The next call: what has to be asked again first, then what the plan brings."""
        while True:
            self._pass_over()
            if self._again or self._ready:
                self._taken += 1
                return (self._again or self._ready).popleft()
            if not self._exhausted:
                async with self._pulling:
                    if self._again or self._ready or self._exhausted:
                        continue
                    try:
                        self._ready.extend(await anext(self._source))
                    except StopAsyncIteration:
                        self._exhausted = True
                    continue
            async with self._moved:
                if self._again:
                    continue
                if not self._taken or self._halt:
                    return None
                await self._moved.wait()

    def _pass_over(self) -> None:
        """Leave out calls whose answers are needed no more."""
        while self._deciding and self._ready:
            if self._deciding.needs(self._ready[0].look.item.edit.key):
                return
            self._ready.popleft()
            self.progress.calls -= 1

    async def _calls(self) -> AsyncGenerator[list[Call], None]:
        """The plan's calls, edit by edit, the pictures of the next few made ready meanwhile."""
        ready: deque[asyncio.Task[Look | None]] = deque()
        items = iter(self._items)
        try:
            while True:
                while len(ready) < self._ahead and (item := next(items, None)) is not None:
                    if self._deciding and not self._deciding.needs(item.edit.key):
                        calls_left = sum(self._count(group.repeats) for group in item.groups)
                        self.progress.calls -= item.cached + calls_left
                        continue
                    self.progress.done += item.cached
                    self.progress.cached += item.cached
                    if item.groups:
                        ready.append(asyncio.create_task(self._look(item)))
                    elif self._deciding:
                        self._deciding.begin(item.edit.key, 0)
                if not ready:
                    return
                look = await ready.popleft()
                if look is None:
                    continue
                calls = []
                for questions, repeats in look.item.groups:
                    parts = [repeats] if self.judge.several else [(r,) for r in repeats]
                    if self._counted_several:
                        self.progress.calls += len(parts) - 1
                    calls += [Call(look, questions, part) for part in parts]
                if self._deciding:
                    self._deciding.begin(look.item.edit.key, len(calls))
                yield calls
                del look, calls  # the pictures live as long as their calls, and no longer
        finally:
            for task in ready:
                task.cancel()

    async def _look(self, item: Item) -> Look | None:
        """An edit with its pictures encoded; none, and a note, where one cannot be opened."""
        wanted = {name for group in item.groups for q in group.questions for name in q.shows}
        pictures: dict[str, tuple[Encoded, ...]] = {}
        seen: dict[str, Stamp] = {}
        try:
            for name in sorted(wanted):
                paths = paths_of(item.sample, item.edit, name)
                pictures[name] = tuple([await self._picture(path, name) for path in paths])
                for path, picture in zip(paths, pictures[name], strict=True):
                    seen[name if len(paths) == 1 else f"{name} {path.name}"] = stamp_of(
                        path, picture.digest
                    )
        except (ImageError, OSError) as error:
            if getattr(error.__cause__ or error, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise CrevalError(
                    "too many files and connections are open: lower --concurrency, or allow more "
                    "(ulimit -n)."
                ) from error
            reason = str(error)
            self.progress.broken[f"{item.edit.key.system}/{item.edit.key.sample}"] = reason
            self._ledger.note(item.edit, seen, reason)
            self.progress.calls -= sum(self._count(group.repeats) for group in item.groups)
            self.progress.unopened += sum(
                len(group.questions) * len(group.repeats) for group in item.groups
            )
            if self._deciding:
                self._deciding.begin(item.edit.key, 0)
            return None
        self._ledger.note(item.edit, seen)
        return Look(item, pictures)

    def _count(self, repeats: Sequence[int]) -> int:
        """The calls that repeats of one group take."""
        return 1 if self.judge.several else len(repeats)

    async def _picture(self, path: Path, name: str) -> Encoded:
        loop = asyncio.get_running_loop()
        if name != "source":
            return await loop.run_in_executor(self._pool, self._encoded, path)
        # Other systems edited the same source, and are asked about next.
        if path not in self._sources:
            self._sources[path] = loop.run_in_executor(self._pool, self._encoded, path)
            while len(self._sources) > _SOURCES_KEPT:
                self._sources.popitem(last=False)
        return await asyncio.shield(self._sources[path])

    def _encoded(self, path: Path) -> Encoded:
        return self.judge.prepare(encode(path, self._fit))

    async def _through(self, call: Call) -> None:
        """Make a call until it brings a reply or is given up, keep that, and see what is open."""
        request = make_request(call, self._prompts)
        try:
            made = await self._caller.make(request)
        except StoppedError:
            return
        except Fault as fault:
            await self._gave_up(call, fault)
            return
        answer = made.answer
        choices = answer.choices[: len(call.repeats)]
        records: list[Record] = []
        follow: list[Call] = []
        for at, (repeat, choice) in enumerate(zip(call.repeats, choices, strict=False)):
            verdicts = verdicts_of(choice, request, call.questions, weighed=self.settings.logprobs)
            first = at == 0
            reply = Reply(
                status_of(choice),
                choice.text,
                self.judge.name,
                call.tries * self.settings.attempts + made.attempt,
                answer.tokens_in if first else None,
                answer.tokens_out if first else None,
                made.cost if first else None,
                made.latency,
            )
            records.append((self._ask(call, repeat), reply, verdicts))
            follow += self._open(call, repeat, verdicts)
        left = call.repeats[len(choices) :]
        if left:
            # It was asked for more choices than it gives: the others are asked for one by one.
            self.judge.several = False
            follow += [call._replace(repeats=(repeat,)) for repeat in left]
        await self._ledger.put(records)
        self._account(answer, records, call, follow)
        self._ask_again(call, follow)
        self._has_logprobs |= any(choice.positions for choice in choices)
        proper = [choice for choice in choices if choice.ended == "stop" and choice.text.strip()]
        if self.settings.logprobs and proper and not self._has_logprobs:
            raise Unusable(f"{self.judge.name} sent no log-probabilities with its answer.")

    def _ask(self, call: Call, repeat: int) -> Ask:
        shows = call.questions[0].shows
        return Ask(
            self.judge.name,
            call.look.item.edit.key,
            tuple(question.id for question in call.questions),
            self._versions[call.questions[0].prompt],
            tuple(picture.digest for picture in call.look.shown(shows)),
            self._shape,
            repeat,
        )

    def _open(self, call: Call, repeat: int, verdicts: Sequence[Verdict]) -> list[Call]:
        """What is asked again after a reply.

        What it leaves open is asked alone. Where nothing at all could be read, the same is asked
        once more, and one by one when it is the last time.
        """
        status = {verdict.probe: verdict.status for verdict in verdicts}
        open_ = [q for q in call.questions if status[q.id] is not Status.ANSWERED]
        if not open_ or call.tries >= self.settings.retries:
            return []
        tries = call.tries + 1
        if len(open_) == len(call.questions) and tries < self.settings.retries:
            return [call._replace(repeats=(repeat,), tries=tries)]
        return [Call(call.look, (question,), (repeat,), tries) for question in open_]

    def _ask_again(self, call: Call, follow: Sequence[Call]) -> None:
        """Put what follows from a call that is through back into the queue."""
        self._again.extend(follow)
        if self._deciding:
            self._deciding.end(call.look.item.edit.key, len(follow))

    async def _gave_up(self, call: Call, fault: Fault) -> None:
        """Keep that a call brought nothing. What a filter declined may pass one by one."""
        status = Status.REFUSED if fault.kind == "content filter" else Status.FAILED
        verdicts = [Verdict(q.id, status, explanation=str(fault)) for q in call.questions]
        reply = Reply(
            status, None, self.judge.name, self.settings.attempts, cost=fault.wasted or None
        )
        await self._ledger.put([(self._ask(call, r), reply, verdicts) for r in call.repeats])
        follow: list[Call] = []
        if status is Status.REFUSED:
            follow = [again for r in call.repeats for again in self._open(call, r, verdicts)]
        self._ask_again(call, follow)
        self.progress.done += 1
        self.progress.calls += len(follow)
        if not follow:
            self.progress.open += len(call.questions) * len(call.repeats)
        if status is not Status.REFUSED:
            self._caller.gave_up(fault)

    def _account(
        self, answer: Answer, records: Sequence[Record], call: Call, follow: Sequence[Call]
    ) -> None:
        progress = self.progress
        self._caller.went_well(answer)
        progress.done += 1
        progress.calls += len(follow)
        last = call.tries >= self.settings.retries
        for _, _, verdicts in records:
            answered = sum(verdict.status is Status.ANSWERED for verdict in verdicts)
            progress.answered += answered
            progress.open += len(verdicts) - answered if last else 0
