"""`creval build ice` as a whole: pictures in, items of up to 31 tasks out, everything kept on the
way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from creval.benchmarks.ice_bench.items import blanks
from creval.benchmarks.ice_bench.tasks import TASKS, Task, tasks_named
from creval.building.ice.control_images import DEPTH, DERIVED
from creval.building.ice.files import Items, template_of, texts_of
from creval.building.ice.image_sets import name_in
from creval.building.ice.inputs import Preparing, discard, inputs_of
from creval.building.ice.item_table import SOURCE_TYPES
from creval.building.ice.jobs import Choice, Job
from creval.building.ice.pipeline import DESCRIBING, load_texts, write_item
from creval.building.ice.plan import plan_folder, plan_table, such_as
from creval.building.ice.save import Made, keep, of_other_types
from creval.building.ice.templates import Templates
from creval.building.ice.texts import (
    INSTRUCTION,
    SOURCE_CAPTION,
    TARGET_CAPTION,
    Inputs,
    Step,
    UnsuitedError,
    Written,
    expected,
    steps,
)
from creval.building.manifest import check_folder, fixed_by, keep_manifest, write_record
from creval.calls.estimate import Estimate
from creval.calls.event_loop import Watch
from creval.calls.settings import Settings
from creval.calls.text_generation import Desk, Expected, Item, UnwrittenError, Writing, Wrote
from creval.calls.validated_text import Scribe
from creval.core.errors import CrevalError, known_name

_TRIED = 5  # tasks, until one suits a picture


@dataclass(frozen=True)
class Wish:
    """What can be chosen about items besides the models and their pace."""

    tasks: str = ""
    each: int = 1
    items: Path | None = None
    derive: bool = False
    people: bool = False
    templates: Path | None = None
    source_type: str = ""

    def __post_init__(self) -> None:
        if self.source_type:
            known_name("source type", self.source_type, SOURCE_TYPES)

    def choice(self, depth: bool) -> Choice:
        names = [part.strip() for part in self.tasks.split(",") if part.strip()]
        tasks = {task.name for name in names for task in tasks_named(name)}
        derived = DERIVED | {DEPTH} if depth else DERIVED
        return Choice(frozenset(tasks or TASKS), self.each, derived if self.derive else frozenset())


class IceBuilding:
    """Items to be made, or gone on with."""

    what = "item"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        wish: Wish,
        settings: Settings,
        *,
        temperature: float = 0.7,
        dry: bool = False,
    ) -> None:
        self.settings, self.wish = settings, wish
        self._images = Path(os.path.normpath(images))
        self._texts, self._templates = load_texts(settings.prompts), Templates(wish.templates)
        self.writing: Writing[Made] = Writing(
            out, roles, settings, warm={"writer": temperature}, shared={DESCRIBING}, dry=dry
        )
        self._fixed = fixed_by(
            "ice", self.writing, self._texts, temperature=temperature,
            templates=self._templates.version,
        )  # fmt: skip
        check_folder(self.writing, self._fixed)
        self.items = Items(out)
        depth = settings.gauges.get(DEPTH)
        choice = wish.choice(bool(depth))
        self._preparing = Preparing(out, choice.derived, depth)
        if wish.items is None:
            self._plan = plan_folder(self._images, self.items, choice, settings)
        else:
            self._plan = plan_table(wish.items, self._images, self.items, choice, settings)
        self._new = {job.id: job for job in self._plan.jobs}
        self._lacking = self._left_open(choice)
        self._before = max(0, self._plan.before - len(self._lacking))
        self._rejected: dict[str, list[str]] = {}
        kinds = self._plan.source_types
        self._source_types = {key: kinds.get(key, wish.source_type) for key in self._plan.keys}
        if not self._new and not self.items.entries:
            faults = list(self._plan.without.items())[:3]
            why = "; ".join(f"{name}: {why}" for name, why in faults)
            none = "--tasks leaves out all that there is" if wish.tasks else "the table is empty"
            raise CrevalError(f"there is no item to be made ({why or none}).")

    def _left_open(self, choice: Choice) -> dict[str, Inputs]:
        """Items that are there and lack a text, with their inputs."""
        return {
            name: inputs
            for name, one in self.items.there().items()
            if one.task in choice.tasks
            and (self.settings.limit is None or one.key in self._plan.keys)
            and not self.items.waits(name, self.wish.people)
            and self._steps(name, inputs := self._inputs(name, one.task))
        }

    def _inputs(self, name: str, task: str) -> Inputs:
        return inputs_of(self.items.entries[name], TASKS[task], self.items.folder)

    def _steps(self, name: str, inputs: Inputs) -> list[Step]:
        """What an item that is there lacks."""
        template = template_of(self.items.entries[name])
        return steps(inputs, template, self.items.told(name).texts, people=self.wish.people)

    def _first_steps(self, job: Job) -> list[Step]:
        """What a new item takes, if the first of its tasks suits."""
        task = job.tasks[0]
        template, told = self._begun(job, task)
        return steps(
            self._preparing.planned(job, task), template, told.texts,
            people=self.wish.people, sure=job.sure,
        )  # fmt: skip

    @property
    def without(self) -> Mapping[str, str]:
        """What cannot be used, and why."""
        return self._plan.without

    @property
    def number(self) -> int:
        return len(self._new) + len(self._lacking)

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked."""
        notes = list(self._plan.notes)
        if self._before:
            several = f"{self._before:,} items done before stay as they are."
            notes.append("1 item done before stays as it is." if self._before == 1 else several)
        if others := of_other_types(self.items, self._source_types):
            notes.append(f"of another source type than is given, which stays: {such_as(others)}")
        if self._lacking:
            notes.append(f"there, and without a text, which is written now: {len(self._lacking):,}")
        if self.wish.people:
            notes.append("templates are left for people to fill in: creval review BENCH.")
        return notes

    def estimate(self) -> list[Estimate]:
        """What each model will take."""
        return self.writing.estimate(self._asked(), self._stages(), self._lacking)

    def _asked(self) -> list[Item]:
        new = [Item(job.id, job.pieces.first) for job in self._new.values()]
        return new + [Item(name, inputs.first) for name, inputs in self._lacking.items()]

    def _stages(self) -> list[Expected]:
        """What an item takes on average."""
        new = [self._first_steps(job) for job in self._new.values()]
        lacking = [self._steps(name, inputs) for name, inputs in self._lacking.items()]
        return expected(new + lacking)

    def _begun(self, job: Job, task: Task) -> tuple[str, Written]:
        """The template of an item, and what people told of it. Words of theirs in which something
        is to be filled in are a template."""
        if job.instruction and not blanks(job.instruction):
            return "", Written({INSTRUCTION: job.instruction}, {INSTRUCTION: "given"})
        drawn = self._templates.draw(task, job.item(task), self.settings.seed)
        return job.instruction or drawn, Written({})

    def run(self, watch: Watch | None = None) -> Wrote[Made]:
        """Make what is not made yet, and write it."""
        self._preparing.check()
        keep_manifest(self.writing, self._fixed)

        async def make(desk: Desk) -> Made:
            scribe, name = Scribe(desk, self.settings.retries), desk.item.id
            self._rejected[name] = scribe.rejected
            if name in self._new:
                return await self._make(scribe, self._new[name])
            return await self._complete(scribe, name)

        calls = sum(stage.calls for stage in self._stages())
        wrote = self.writing.run(self._asked(), make, calls=calls, watch=watch)
        wrote.before = self._before
        wrote.left_out |= self._plan.without
        self.items = keep(self.writing.folder, wrote, self._source_types)
        write_record(self.writing.folder, self._fixed, wrote.left_out, self._rejected)
        return wrote

    async def _make(self, scribe: Scribe, job: Job) -> Made:
        """An item for the first task that suits."""
        reasons = []
        for task in job.tasks[:_TRIED]:
            try:
                return await self._make_for(task, scribe, job)
            except UnsuitedError as error:
                reasons.append(str(error))
                scribe.rejected.append(str(error))
        raise UnwrittenError("; ".join(reasons))

    async def _make_for(self, task: Task, scribe: Scribe, job: Job) -> Made:
        """An item for a task, or nothing at all."""
        inputs = await asyncio.to_thread(self._preparing.inputs, job, task)
        template, told = self._begun(job, task)
        try:
            written = await write_item(
                scribe, self._texts, inputs, template, told, people=self.wish.people, sure=job.sure
            )
        except BaseException:
            discard(inputs)
            raise
        picture = job.pieces.first
        facts = {
            "picture": name_in(self._images, picture) if picture else "",
            "template": template,
            "rejected": scribe.rejected,
            **self._facts(written),
        }
        return Made(job.item(task), inputs, written, facts, job)

    async def _complete(self, scribe: Scribe, name: str) -> Made:
        """What an item lacks."""
        inputs, entry = self._lacking[name], self.items.entries[name]
        written = await write_item(
            scribe, self._texts, inputs, template_of(entry), self.items.told(name),
            people=self.wish.people,
        )  # fmt: skip
        return Made(name, inputs, written, self._facts(written), before=texts_of(entry))

    def _facts(self, written: Written) -> dict[str, dict[str, str]]:
        """Where texts that were written come from."""
        judges, prompts = self.writing.judges, self._texts
        of = {SOURCE_CAPTION: prompts.caption, INSTRUCTION: prompts.fill}
        of[TARGET_CAPTION] = prompts.target
        return {
            part: {"by": judges[by].model, "prompt": of[part].version}
            if by in judges
            else {"by": by}
            for part, by in written.by.items()
        }
