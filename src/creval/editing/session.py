"""Edits from an editor: every picture asked for once, kept byte for byte, resumed where it stopped.

A strategy asks for a batch of pictures, looks at them, and asks for the next. What a job brought is
kept under all that it depends on, so a strategy that runs again goes the same way without a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from creval.calls.event_loop import Watch, allow_files, in_a_loop, interruptible, watched
from creval.calls.journal import Ledger, Record
from creval.calls.limits import Halt, Limits, Purse
from creval.calls.retry import Caller, Progress, StoppedError, Taken
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.files import read_bytes
from creval.core.images import ImageError, digest, lack_of
from creval.core.verdict import Status
from creval.editors.base import Editor, Job, Produced
from creval.editors.output_checks import Looked, look_at
from creval.providers.errors import Fault
from creval.store import Store

MADE = ".made"
"""The folder of all pictures that came, by their digests."""
_PENDING = "task"


@dataclass(frozen=True)
class EditSettings:
    """How an editor is asked; `budget` is in US dollars for the whole folder."""

    concurrency: int = 4
    attempts: int = 5
    requests_a_minute: float | None = None
    budget: float | None = None
    seed: int = 0


class Editing:
    """One editor, and the folder in which its pictures are kept."""

    def __init__(self, editor: Editor, folder: str | Path, settings: EditSettings) -> None:
        self.editor, self.folder, self.settings = editor, Path(folder), settings
        self.progress = Progress()
        self.stopped = ""
        self.allowance: Callable[[], float | None] = lambda: settings.budget
        """What the pictures in the folder may cost, which others may spend from as well."""
        self._interrupt: Callable[[], object] = lambda: None

    def make(
        self, jobs: Mapping[EditKey, Job], stage: str = "edit", watch: Watch | None = None
    ) -> dict[EditKey, Edit]:
        """What came of each job: a picture in the folder `MADE`, or why there is none. Those that
        were not asked for, because it was stopped, are left out."""
        self.progress.calls = max(self.progress.calls, self.progress.done + len(jobs))
        if self.stopped:
            return {}
        allow_files(2 * self.settings.concurrency + 64)
        with Store(self.folder) as store:
            with store.transaction():
                store.put_edits(Edit(key) for key in jobs if key not in store.edits)
            work = _Work(self, store, stage)
            halt = in_a_loop(lambda: work.run(jobs, watch), lambda: self._interrupt())
        if halt.error is not None:
            raise halt.error
        self.stopped = halt.reason
        return work.found

    def interrupt_with(self, interrupt: Callable[[], object]) -> None:
        self._interrupt = interrupt


# What kinds of faults make of an edit; others are failures.
_ENDS = {"content filter": EditStatus.REFUSED, "unsupported": EditStatus.UNSUPPORTED}


@dataclass(frozen=True)
class _Wanted:
    """A job with the request that its picture is kept under."""

    job: Job
    ask: Ask
    ticket: _Ticket


class _Work:
    """One batch of jobs."""

    def __init__(self, editing: Editing, store: Store, stage: str) -> None:
        self._editing, self._store, self._stage = editing, store, stage
        self._kept, self._tickets = store.texts(), store.texts(_PENDING, Status.MISSING)
        self.found: dict[EditKey, Edit] = {}

    async def run(self, jobs: Mapping[EditKey, Job], watch: Watch | None) -> Halt:
        editing, settings = self._editing, self._editing.settings
        halt, self._ledger = Halt(), Ledger(self._store)
        loop = asyncio.get_running_loop()
        editing.interrupt_with(lambda: loop.call_soon_threadsafe(halt.now, "interrupted"))
        self._caller = _EditorCaller(
            editing.editor,
            Limits(settings.concurrency, settings.requests_a_minute),
            settings.attempts,
            progress=editing.progress,
            purse=Purse(editing.allowance(), self._store.spent),
            halt=halt,
            begun=bool(self._kept),
        )
        waiting = iter(jobs.items())
        try:
            await editing.editor.open()
            async with watched(editing.progress, watch):
                with interruptible(halt, editing.progress):
                    await asyncio.gather(
                        *(self._work(waiting, halt) for _ in range(settings.concurrency))
                    )
        except Exception as error:
            halt.now("error", error)
        finally:
            await editing.editor.close()
            with contextlib.suppress(Exception):
                await self._ledger.close()
        return halt

    async def _work(self, waiting: Iterator[tuple[EditKey, Job]], halt: Halt) -> None:
        for key, job in waiting:
            if halt:
                return
            try:
                self.found[key] = await self._through(key, job)
            except StoppedError:
                return
            except Exception as error:
                halt.now("error", error)
                return

    async def _through(self, key: EditKey, job: Job) -> Edit:
        """A job's edit: as it was kept, or as it is made now."""
        progress = self._editing.progress
        try:
            ask = await asyncio.to_thread(self._ask, key, job)
            kept = self._kept.get(ask.digest)
            if kept is not None:
                edit = _read(key, json.loads(kept), self._editing.folder)
                if edit.image is not None and await asyncio.to_thread(_whole, edit.image):
                    progress.done += 1
                    progress.cached += 1
                    return edit
            lack = await asyncio.to_thread(lack_of, _pictures(job))
        except ImageError as error:
            lack = await asyncio.to_thread(lack_of, _pictures(job)) or str(error)
        if lack:  # nobody can make anything of it, so nobody is asked
            progress.done += 1
            return Edit(key, EditStatus.IMPOSSIBLE, reason=lack)
        pending = ask._replace(variant=_PENDING)
        ticket = _Ticket(
            self._ledger, pending, self._tickets.get(pending.digest), self._caller.name
        )
        try:
            made = await self._caller.make(_Wanted(job, ask, ticket))
        except Fault as fault:
            refused = fault.kind == "content filter"
            status = _ENDS.get(fault.kind, EditStatus.FAILED)
            reply = Reply(Status.REFUSED if refused else Status.FAILED, str(fault),
                          self._caller.name, self._editing.settings.attempts,
                          cost=fault.wasted or None)  # fmt: skip
            await self._ledger.put([(ask, reply, ())])
            progress.done += 1
            if status is EditStatus.FAILED:  # what is unsupported says nothing about others
                self._caller.gave_up(fault)
            return Edit(key, status, reason=str(fault))
        edit, note = await asyncio.to_thread(self._keep, key, made.answer)
        ended = Status.ANSWERED if edit.status is EditStatus.DONE else Status.REFUSED
        reply = Reply(ended, json.dumps(note), self._caller.name, made.attempt,
                      cost=made.cost, latency=made.latency)  # fmt: skip
        record: Record = (ask, reply, ())
        await self._ledger.put([record])
        self._caller.went_well(made.answer)
        progress.done += 1
        return edit

    def _ask(self, key: EditKey, job: Job) -> Ask:
        """The request that a job is: all that its picture depends on."""
        shown = tuple(map(digest, _pictures(job)))
        words = hashlib.blake2b(job.instruction.encode("utf-8", "replace"), digest_size=16)
        facts = {"words": words.hexdigest(), "seed": job.seed, **self._editing.editor.facts}
        plain = json.loads(json.dumps(facts, sort_keys=True, default=str))
        return Ask(self._caller.name, key, (self._stage,), "", shown, plain, job.draw)

    def _keep(self, key: EditKey, answer: _Looked) -> tuple[Edit, dict[str, object]]:
        """Write a picture, byte for byte, under its digest."""
        content, looked = answer.produced.content, answer.looked
        name = _name(content) + looked.suffix
        path = self._editing.folder / MADE / name
        if not _whole(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Two draws may bring the same picture at the same time.
            new = path.with_name(f".{name}.{uuid4().hex}")
            new.write_bytes(content)
            new.replace(path)
        facts = {**looked.facts(), **dict(answer.produced.facts)}
        note: dict[str, object] = {"file": f"{MADE}/{name}", "facts": facts}
        return _read(key, note, self._editing.folder), note


def _pictures(job: Job) -> list[Path]:
    return [path for path in (job.source, job.mask, *job.references) if path is not None]


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _whole(path: Path) -> bool:
    """Whether a kept picture is there as it came."""
    return path.is_file() and _name(read_bytes(path)) == path.stem


def _read(key: EditKey, note: Mapping[str, object], folder: Path) -> Edit:
    """An edit as it was noted down."""
    facts = note.get("facts")
    facts = dict(facts) if isinstance(facts, Mapping) else {}
    if facts.get("black"):
        reason = "the picture is all black, as safety checkers leave it"
        return Edit(key, EditStatus.REFUSED, reason=reason, facts=facts)
    return Edit(key, EditStatus.DONE, folder.absolute() / str(note["file"]), facts=facts)


class _Ticket:
    """Where the name of a task is kept while it runs elsewhere."""

    def __init__(self, ledger: Ledger, pending: Ask, kept: str | None, origin: str) -> None:
        self._ledger, self._pending, self._kept, self._origin = ledger, pending, kept, origin

    @property
    def kept(self) -> str | None:
        return self._kept

    async def keep(self, name: str) -> None:
        self._kept = name
        reply = Reply(Status.MISSING, name, self._origin)
        await self._ledger.put([(self._pending, reply, ())])


@dataclass(frozen=True)
class _Looked:
    """What came back, and what was seen of it."""

    produced: Produced
    looked: Looked


class _EditorCaller(Caller[_Wanted, _Looked]):
    """Makes the calls to one editor; what is no picture is asked for again."""

    def __init__(self, editor: Editor, limits: Limits, attempts: int, **more: object) -> None:
        super().__init__(editor.name, limits, attempts, **more)  # type: ignore[arg-type]
        self._editor = editor

    async def ask(self, request: _Wanted) -> _Looked:
        produced = await self._editor.edit(request.job, request.ticket)
        looked = await asyncio.to_thread(look_at, produced.content, request.job.source)
        return _Looked(produced, looked)

    def guess(self, request: _Wanted) -> Taken:
        del request
        return Taken(0, 0, self._editor.price)

    def took(self, answer: _Looked) -> Taken:
        return Taken(0, 0, answer.produced.cost)
