"""Builder of ICE-Bench items (`creval build ice`)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from creval.benchmarks.ice_bench.item_lines import find_blanks
from creval.benchmarks.ice_bench.tasks import TASKS, Task, find_tasks
from creval.building.base import Builder
from creval.building.duplicates import KEEP
from creval.building.ice.build_plan import abbreviate, plan_from_folder, plan_from_table
from creval.building.ice.control_images import DERIVABLE, MODEL_DERIVABLE
from creval.building.ice.files import IceItems, ItemDraft, get_template, get_texts
from creval.building.ice.image_sets import relative_name
from creval.building.ice.item_inputs import InputBuilder, discard_derived_images, read_item_inputs
from creval.building.ice.item_table import SOURCE_TYPES
from creval.building.ice.jobs import ItemJob, TaskSelection
from creval.building.ice.pipeline import CAPTION_STAGE, load_ice_prompts, write_item_texts
from creval.building.ice.save import find_source_type_conflicts, save_items
from creval.building.ice.templates import TemplateSet
from creval.building.ice.texts import (
    INSTRUCTION,
    ItemInputs,
    ItemTexts,
    MissingText,
    TaskUnsuitableError,
    estimate_text_stages,
    find_missing_texts,
)
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationFailedError, GenerationItem, GenerationResult, StageEstimate
from creval.calls.validated_text import ValidatingSession
from creval.core.errors import CrevalError, require_known

_MAX_TASKS_TRIED = 5  # tasks that are tried for one item


@dataclass(frozen=True)
class IceBuildOptions:
    """Options of an ICE-Bench build.

    - `tasks`: names or numbers of tasks, groups or categories, separated by commas. "" means all tasks.
    - `derive`: derive control images (edges, depth, poses ...) from photographs.
    - `people_fill_in`: write unfilled templates, which people fill in.
    - `source_type`: type of all sources, "real" or "generated".
    """

    tasks: str = ""
    items_per_image: int = 1
    item_table: Path | None = None
    derive: bool = False
    people_fill_in: bool = False
    templates: Path | None = None
    source_type: str = ""

    def __post_init__(self) -> None:
        if self.source_type:
            require_known("source type", self.source_type, SOURCE_TYPES)

    def task_selection(self, models: Collection[str]) -> TaskSelection:
        names = [part.strip() for part in self.tasks.split(",") if part.strip()]
        tasks = {task.name for name in names for task in find_tasks(name)}
        derived = DERIVABLE.union(models)
        return TaskSelection(frozenset(tasks or TASKS), self.items_per_image, derived if self.derive else frozenset())


class IceBuilder(Builder[ItemDraft]):
    """Builder of new or resumed ICE-Bench items."""

    benchmark = "ice"
    unit = "item"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        options: IceBuildOptions,
        settings: ChatSettings,
        *,
        temperature: float = 0.7,
        duplicates: str = KEEP,
        dry_run: bool = False,
    ) -> None:
        self.options = options
        self._images = Path(os.path.normpath(images))
        self._prompts, self._templates = load_ice_prompts(settings.prompts), TemplateSet(options.templates)
        super().__init__(
            out,
            roles,
            settings,
            self._prompts.values(),
            temperature=temperature,
            shared_stages={CAPTION_STAGE},
            dry_run=dry_run,
            templates=self._templates.version,
        )
        self.images = images
        self.ice_items = IceItems(out)
        models = {name: settings.metric_models[name] for name in MODEL_DERIVABLE if name in settings.metric_models}
        choice = options.task_selection(models)
        self._input_builder = InputBuilder(out, choice.derived, models)
        if options.item_table is None:
            self._plan = plan_from_folder(self._images, self.ice_items, choice, settings, duplicates)
        else:
            self._plan = plan_from_table(options.item_table, self._images, self.ice_items, choice, settings)
        self.duplicates = self._plan.duplicates
        self._new_jobs = {job.id: job for job in self._plan.jobs}
        self._incomplete_items = self._find_incomplete(choice)
        self.changed_ids = self._incomplete_items
        self.already_done = max(0, self._plan.already_done - len(self._incomplete_items))
        self.unusable = self._plan.unusable
        self.items = [GenerationItem(job.id, job.image_set.main_image) for job in self._plan.jobs]
        self.items += [GenerationItem(name, inputs.main_image) for name, inputs in self._incomplete_items.items()]
        kinds = self._plan.source_types
        self._source_types = {key: kinds.get(key, options.source_type) for key in self._plan.keys}
        if not self._new_jobs and not self.ice_items.entries:
            examples = list(self._plan.unusable.items())[:3]
            why = "; ".join(f"{name}: {reason}" for name, reason in examples)
            none = "`tasks` excludes all of them" if options.tasks else "the table is empty"
            raise CrevalError(f"there are no items to build ({why or none}).")

    def _find_incomplete(self, selection: TaskSelection) -> dict[str, ItemInputs]:
        """Return the existing items that lack a text, with their input images."""
        return {
            name: inputs
            for name, one in self.ice_items.find_built().items()
            if one.task in selection.tasks
            and (self.settings.limit is None or one.key in self._plan.keys)
            and not self.ice_items.waits_for_people(name, self.options.people_fill_in)
            and self._find_missing_texts(
                name, inputs := read_item_inputs(self.ice_items.entries[name], TASKS[one.task], self.out)
            )
        }

    def _find_missing_texts(self, name: str, inputs: ItemInputs) -> list[MissingText]:
        """Return the texts that an existing item lacks."""
        template = get_template(self.ice_items.entries[name])
        return find_missing_texts(
            inputs, template, self.ice_items.existing_texts(name).texts, people_fill_in=self.options.people_fill_in
        )

    def _plan_new_texts(self, job: ItemJob, task: Task) -> list[MissingText]:
        """Return the texts that a new item of this task needs."""
        template, texts = self._start_texts(job, task)
        return find_missing_texts(
            self._input_builder.plan_inputs(job, task),
            template,
            texts.texts,
            people_fill_in=self.options.people_fill_in,
            task_is_certain=job.task_is_certain,
        )

    def warnings(self) -> list[str]:
        notes = [*self._plan.notes, *super().warnings()]
        if others := find_source_type_conflicts(self.ice_items, self._source_types):
            notes.append(f"another source type than given is stored, and is kept: {abbreviate(others)}")
        if self._incomplete_items:
            notes.append(f"existing items whose missing texts are written now: {len(self._incomplete_items):,}")
        if self.options.people_fill_in:
            notes.append("templates are left for people to fill in. Run creval review BENCH.")
        return notes

    def stages(self) -> list[StageEstimate]:
        new = [self._plan_new_texts(job, job.tasks[0]) for job in self._new_jobs.values()]
        lacking = [self._find_missing_texts(name, inputs) for name, inputs in self._incomplete_items.items()]
        return estimate_text_stages(new + lacking)

    def _start_texts(self, job: ItemJob, task: Task) -> tuple[str, ItemTexts]:
        """Return the template of a new item, and its texts from the item table.

        An instruction with blanks is a template.
        """
        if job.instruction and not find_blanks(job.instruction):
            return "", ItemTexts({INSTRUCTION: job.instruction}, {INSTRUCTION: "given"})
        drawn = self._templates.draw(task, job.item_id(task), self.settings.seed)
        return job.instruction or drawn, ItemTexts({})

    def prepare(self) -> Mapping[str, Any]:
        self._input_builder.check_models()
        return {}

    async def make(self, session: ValidatingSession) -> ItemDraft:
        name = session.session.item.id
        if name in self._new_jobs:
            return await self._make_new_item(session, self._new_jobs[name])
        return await self._complete_item(session, name)

    def save(self, result: GenerationResult[ItemDraft]) -> None:
        self.ice_items = save_items(self.out, result, self._source_types)

    async def _make_new_item(self, session: ValidatingSession, job: ItemJob) -> ItemDraft:
        """Build an item for the first of its possible tasks that suits the image."""
        reasons = []
        for task in job.tasks[:_MAX_TASKS_TRIED]:
            try:
                return await self._make_item_for_task(task, session, job)
            except TaskUnsuitableError as error:
                reasons.append(str(error))
                session.rejections.append(str(error))
        raise GenerationFailedError("; ".join(reasons))

    async def _make_item_for_task(self, task: Task, session: ValidatingSession, job: ItemJob) -> ItemDraft:
        """Build an item for a task. If that fails, images that were derived for it are deleted."""
        inputs = await asyncio.to_thread(self._input_builder.prepare_inputs, job, task)
        template, given = self._start_texts(job, task)
        try:
            written = await write_item_texts(
                session,
                self._prompts,
                inputs,
                template,
                given,
                people_fill_in=self.options.people_fill_in,
                task_is_certain=job.task_is_certain,
            )
        except BaseException:
            discard_derived_images(inputs)
            raise
        image = job.image_set.main_image
        facts = {
            "picture": relative_name(self._images, image) if image else "",
            "template": template,
            "rejected": session.rejections,
            **self._build_provenance(written),
        }
        return ItemDraft(job.item_id(task), inputs, written, facts, job)

    async def _complete_item(self, session: ValidatingSession, name: str) -> ItemDraft:
        """Write the texts that an existing item lacks."""
        inputs, entry = self._incomplete_items[name], self.ice_items.entries[name]
        written = await write_item_texts(
            session,
            self._prompts,
            inputs,
            get_template(entry),
            self.ice_items.existing_texts(name),
            people_fill_in=self.options.people_fill_in,
        )
        return ItemDraft(name, inputs, written, self._build_provenance(written), previous_texts=get_texts(entry))

    def _build_provenance(self, item_texts: ItemTexts) -> dict[str, dict[str, str]]:
        """Return the provenance of new texts."""
        judges, prompts = self.generator.judges, self._prompts
        return {
            part: {"by": judges[by].model, "prompt": prompts[part].version} if by in judges else {"by": by}
            for part, by in item_texts.authors.items()
        }
