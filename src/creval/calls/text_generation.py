"""Texts from models, as building a benchmark needs them: each asked for once, kept, and resumed.

What is made of one picture is a pipeline: a coroutine that asks for texts through its `Desk`, one
after another. What a desk was answered is kept under the whole of what was asked, so a pipeline
that runs again goes the same way as far as it had come, without a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from creval.calls.estimate import Estimate
from creval.calls.event_loop import Watch, allow_files, in_a_loop, interruptible, watched
from creval.calls.journal import Ledger
from creval.calls.limits import Halt, Purse
from creval.calls.retry import JudgeCaller, Progress, StoppedError
from creval.calls.settings import Settings
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.files import clean_text
from creval.core.images import Encoded, ImageError, encode, size_of
from creval.core.verdict import Status
from creval.judges.base import Judge, Request, status_of, without_thoughts
from creval.judges.spec import fit_of, open_judges
from creval.prompts import Prompt
from creval.providers.errors import Fault
from creval.store import Held, Store, held_texts

T = TypeVar("T")


class Item(NamedTuple):
    """What texts are written for: its name, and its picture if it has one."""

    id: str
    picture: Path | None = None


class UnwrittenError(Exception):
    """A text that did not come: the model declined, or every attempt failed."""


class Expected(NamedTuple):
    """What one stage of a pipeline takes for each picture, as a guess before it runs."""

    role: str
    calls: float
    words: int
    tokens_out: int
    pictures: int = 1


@dataclass
class Wrote(Generic[T]):
    """What pipelines came to: what each made, and why others made nothing. `before` is how many
    were made already; `stopped` says why not all were run, if so."""

    progress: Progress
    made: dict[str, T] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stopped: str = ""
    before: int = 0

    @property
    def share_left_out(self) -> float:
        """Of all that were to be made, now or before."""
        return len(self.left_out) / max(1, self.before + len(self.made) + len(self.left_out))


class Desk:
    """Where one item's texts are asked for."""

    def __init__(self, writing: Writing[T], item: Item) -> None:
        self.item = item
        self._writing = writing
        self._encoded: dict[tuple[str, Path], asyncio.Future[Encoded]] = {}

    async def ask(
        self, role: str, stage: str, prompt: Prompt, *, again: int = 0,
        show: Sequence[Path] | None = None, **places: str,
    ) -> str:  # fmt: skip
        """A model's words. It is shown the item's picture, or those given in its place. Another
        `again` is another try of the same, with another answer.

        `UnwrittenError` where there are none.
        """
        if show is None:
            show = [self.item.picture] if self.item.picture else []
        shown = [await self._picture(role, path) for path in show]
        return await self._writing.ask(self.item, role, stage, prompt.fill(**places), prompt,
                                       again=again, shown=shown)  # fmt: skip

    async def _picture(self, role: str, path: Path) -> Encoded:
        """A picture as a role's model takes it, made once."""
        if (role, path) not in self._encoded:
            self._encoded[role, path] = self._writing.encoded(role, path)
        return await asyncio.shield(self._encoded[role, path])


Pipeline = Callable[[Desk], Awaitable[T]]


class Writing(Generic[T]):
    """Models in their roles (`writer`, `asker` ...), and the folder in which replies are kept.

    What items ask alike in a stage that is `shared` is asked once, and answered for all.
    """

    def __init__(
        self,
        folder: str | Path,
        roles: Mapping[str, str],
        settings: Settings,
        *,
        warm: Mapping[str, float] | None = None,
        shared: Collection[str] = (),
        dry: bool = False,
    ) -> None:
        self.folder, self.settings, self._stages_shared = Path(folder), settings, shared
        self.judges: dict[str, Judge] = {}
        options = replace(settings.judge_options(), keyless=dry)
        for role, spec in roles.items():
            heat = (warm or {}).get(role, options.temperature)
            found = open_judges(spec, replace(options, temperature=heat, flag=f"--{role}"))
            if len(found) != 1:
                raise CrevalError(f"--{role} takes one model, not a panel.")
            self.judges[role] = found[0]
        settings.check_prices(self.judges.values())
        self._fits = {
            role: fit_of(judge.vision, settings.image_fit) for role, judge in self.judges.items()
        }
        self._callers: dict[str, JudgeCaller] = {}
        self._kept: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._interrupt: Callable[[], object] = lambda: None

    def estimate(
        self, items: Sequence[Item], stages: Sequence[Expected], anew: Container[str] = ()
    ) -> list[Estimate]:
        """What each role will take for these items besides the texts that are kept already; those
        of `anew` are about something else."""
        found = []
        held = self.held().texts
        for role, judge in self.judges.items():
            mine = [stage for stage in stages if stage.role == role]
            made = Estimate(judge.name, pace=judge.pace, exact=False, role=role)
            seen = [
                tokens for item in items[:50] if (tokens := self._seen(judge, item)) is not None
            ]
            image = sum(seen) / len(seen) if seen else 0.0
            kept = [
                0 if item.id in anew else held[judge.name, role, clean_text(item.id)]
                for item in items
            ]
            made.cached = sum(kept)
            each = sum(stage.calls for stage in mine)
            left = sum(max(0.0, 1 - number / each) for number in kept) if each else 0.0
            for stage in mine:
                calls = stage.calls * left
                made.calls += round(calls)
                made.pictures += round(calls * stage.pictures)
                made.tokens_in += calls * (stage.words * 1.4 + stage.pictures * image)
                made.tokens_out += calls * stage.tokens_out
            if judge.price is not None:
                made.cost = judge.price.cost(made.tokens_in, made.tokens_out)
            rate = self.settings.requests_a_minute or math.inf
            made.seconds = max(
                made.calls * judge.pace / self.settings.concurrency, 60 * made.calls / rate
            )
            found.append(made)
        return found

    def held(self) -> Held:
        """What the folder holds already; nothing is written."""
        return held_texts(self.folder)

    def _seen(self, judge: Judge, item: Item) -> float | None:
        """The tokens that a picture takes."""
        if item.picture is None:
            return None
        try:
            size = size_of(item.picture)
        except (ImageError, OSError):
            return None
        return judge.vision.tokens(*(judge.vision.fit(*size) if judge.vision.fit else size))

    def run(
        self,
        items: Sequence[Item],
        pipeline: Pipeline[T],
        *,
        calls: float = 1.0,
        watch: Watch | None = None,
    ) -> Wrote[T]:
        """Run a pipeline for each item; `calls` is how many each is expected to make."""
        wrote: Wrote[T] = Wrote(Progress(calls=round(calls * len(items))))
        allow_files(2 * self.settings.concurrency * len(self.judges) + 64)
        with Store(self.folder) as store:
            self._kept = store.texts()
            with store.transaction():
                store.put_edits(
                    Edit(EditKey(role, item.id)) for item in items for role in self.judges
                )
            halt = in_a_loop(
                lambda: self._run_all(store, items, pipeline, wrote, watch),
                lambda: self._interrupt(),
            )
        for judge in self.judges.values():
            wrote.notes += judge.learned
        if halt.error is not None:
            raise halt.error
        wrote.stopped = halt.reason
        return wrote

    async def _run_all(
        self,
        store: Store,
        items: Iterable[Item],
        pipeline: Pipeline[T],
        wrote: Wrote[T],
        watch: Watch | None,
    ) -> Halt:
        halt, self._ledger = Halt(), Ledger(store)
        self._shared, self._turns = {}, {}
        loop = asyncio.get_running_loop()
        self._interrupt = lambda: loop.call_soon_threadsafe(halt.now, "interrupted")
        purse = Purse(self.settings.budget, store.spent)
        self._callers = {
            role: JudgeCaller(
                judge, self.settings, progress=wrote.progress, purse=purse, halt=halt,
                begun=bool(self._kept),
            )
            for role, judge in self.judges.items()
        }  # fmt: skip
        waiting = iter(items)
        threads = min(8, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads, thread_name_prefix="creval-pictures") as self._pool:
            try:
                for judge in self.judges.values():
                    await judge.open()
                async with watched(wrote.progress, watch):
                    with interruptible(halt, wrote.progress):
                        await asyncio.gather(
                            *(
                                self._work(waiting, pipeline, wrote, halt)
                                for _ in range(self.settings.concurrency)
                            )
                        )
            except Exception as error:
                halt.now("error", error)
            finally:
                for judge in self.judges.values():
                    await judge.close()
                with contextlib.suppress(CrevalError):
                    await self._ledger.close()
        return halt

    async def _work(
        self, waiting: Iterator[Item], pipeline: Pipeline[T], wrote: Wrote[T], halt: Halt
    ) -> None:
        """Take items until there are none, or the word to stop comes."""
        for item in waiting:
            if halt:
                return
            try:
                wrote.made[item.id] = await pipeline(Desk(self, item))
            except StoppedError:
                return
            except (UnwrittenError, ImageError, OSError) as error:
                wrote.left_out[item.id] = str(error)
            except Exception as error:
                halt.now("error", error)
                return

    async def ask(
        self,
        item: Item,
        role: str,
        stage: str,
        text: str,
        prompt: Prompt,
        *,
        again: int,
        shown: Sequence[Encoded],
    ) -> str:
        """The words of a role's model: from the store, in a stage that is shared from another item
        that asked the same, or from the model itself."""
        judge = self.judges[role].name
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        ask = Ask(
            judge,
            EditKey(role, item.id),
            (stage,),
            prompt.version,
            tuple(picture.digest for picture in shown),
            {"text": digest, **self._shape(role)},
            again,
        )
        request = Request(shown, text, None, (), (again,), "free")
        if stage not in self._stages_shared:
            return await self._words(ask, request)
        same = ask._replace(edit=EditKey(role, "")).digest
        async with self._turns.setdefault(same, asyncio.Lock()):
            if same in self._shared and ask.digest not in self._kept:
                words = self._kept[ask.digest] = self._shared[same]
                await self._ledger.put([(ask, Reply(Status.ANSWERED, words, judge), ())])
            found = await self._words(ask, request)
            self._shared[same] = self._kept[ask.digest]
            return found

    async def _words(self, ask: Ask, request: Request) -> str:
        """What is kept, or what the model says."""
        caller, (stage,) = self._callers[ask.edit.system], ask.probes
        progress = caller.progress
        progress.done += 1
        if ask.digest in self._kept:
            progress.cached += 1
            return without_thoughts(self._kept[ask.digest])
        try:
            made = await caller.make(request)
        except Fault as fault:
            status = Status.REFUSED if fault.kind == "content filter" else Status.FAILED
            reply = Reply(status, None, caller.judge.name, self.settings.attempts,
                          cost=fault.wasted or None)  # fmt: skip
            await self._ledger.put([(ask, reply, ())])
            if status is not Status.REFUSED:
                caller.gave_up(fault)
            raise UnwrittenError(f"{stage}: {fault}") from fault
        answer = made.answer
        choice = answer.choices[0]
        status = status_of(choice)
        reply = Reply(status, choice.text, caller.judge.name, made.attempt, answer.tokens_in,
                      answer.tokens_out, made.cost, made.latency)  # fmt: skip
        await self._ledger.put([(ask, reply, ())])
        caller.went_well(answer)
        if status is not Status.ANSWERED:
            said = f": {choice.text}" if choice.text else ""
            why = "declined" if status is Status.REFUSED else "wrote nothing"
            raise UnwrittenError(f"{stage}: the model {why}{said}"[:300])
        self._kept[ask.digest] = choice.text
        return without_thoughts(choice.text)

    def _shape(self, role: str) -> dict[str, object]:
        """What an answer depends on besides model, text and picture."""
        judge = self.judges[role]
        fit = self.settings.image_fit
        kept = {"image_fit": fit, "parameters": dict(getattr(judge, "parameters", {}))}
        return {name: value for name, value in kept.items() if value}

    def encoded(self, role: str, path: Path) -> asyncio.Future[Encoded]:
        """A picture as a role's model takes it, in the making."""
        judge, fit = self.judges[role], self._fits[role]
        return asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: judge.prepare(encode(path, fit))
        )
