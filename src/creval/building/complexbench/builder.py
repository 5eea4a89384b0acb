"""`creval build complexbench` as a whole: pictures with their objects in, samples of every level
out, everything kept on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from creval.building.build_manifest import (
    build_fingerprint,
    require_same_build,
    save_build_manifest,
    write_build_record,
)
from creval.building.complexbench.edit_types import LEVELS, EditTypePlan
from creval.building.complexbench.files import ComplexBenchEntries
from creval.building.complexbench.objects import Detections, select_suitable_images
from creval.building.complexbench.pipeline import (
    STAGES,
    ImageObjects,
    choose_edit_types,
    load_complexbench_prompts,
    write_sample_steps,
)
from creval.building.image_files import list_image_names, sample_names
from creval.calls.cost_estimate import CostEstimate
from creval.calls.event_loop import ProgressCallback
from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationItem, GenerationResult, ItemSession, TextGenerator
from creval.calls.validated_text import ValidatingSession
from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.store.lock import file_lock

DetectObjects = Callable[[Sequence[str]], Detections]
"""Tells what is in pictures, by their names."""


class _SampleJob(NamedTuple):
    """A picture at a level, and its edit types."""

    name: str
    types: EditTypePlan


class ComplexBenchBuilder:
    """Samples to be made, or gone on with."""

    unit = "sample"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        settings: Settings,
        detect: DetectObjects,
        *,
        levels: Sequence[str] = tuple(LEVELS),
        temperature: float = 0.7,
        dry_run: bool = False,
    ) -> None:
        self.settings, self._images = settings, images
        self._prompts = load_complexbench_prompts(settings.prompts)
        self.generator: TextGenerator[dict[str, Any]] = TextGenerator(
            out, roles, settings, temperatures={"writer": temperature}, dry_run=dry_run
        )
        self._fingerprint = build_fingerprint("complexbench", self.generator, self._prompts, temperature=temperature)
        require_same_build(self.generator, self._fingerprint)
        self.entries = ComplexBenchEntries(out)
        names = list_image_names(images, out)
        self._suitable = select_suitable_images(names, images, detect(names))
        self._clashes = self.entries.find_key_clashes(self._suitable.objects)
        self._scenes = {
            name: ImageObjects(things, self._suitable.sizes[name])
            for name, things in self._suitable.objects.items()
            if name not in self._clashes
        }
        if not self._scenes:
            why = "; ".join([*self._suitable.describe_unsuitable(), *self._suitable.unreadable.values()][:4])
            raise CrevalError(f"no picture suits: at most two of a class and three classes are needed ({why}).")
        chosen = sample_names(list(self._scenes), settings.limit, settings.seed)
        self._jobs = self._find_pending_jobs(chosen, levels)
        self._already_done = len(chosen) * len(levels) - len(self._jobs)
        self.items = [GenerationItem(identity, images / job.name) for identity, job in self._jobs.items()]

    def _find_pending_jobs(self, names: Sequence[str], levels: Sequence[str]) -> dict[str, _SampleJob]:
        """What is still to be made, by a name for it."""
        return {
            f"{level}: {name}": _SampleJob(
                name, choose_edit_types(name, level, self._scenes[name], self.settings.seed, turn)
            )
            for turn, name in enumerate(names)
            for level in levels
            if not self.entries.has(LEVELS[level], name)
        }

    @property
    def item_count(self) -> int:
        return len(self.items)

    @property
    def unsuitable_images(self) -> dict[str, str]:
        """The pictures that do not suit, and why."""
        return self._suitable.unsuitable

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked."""
        judges, kept = self.generator.judges, len(self._scenes)
        notes = [f"{kept:,} picture{'' if kept == 1 else 's'} kept."]
        notes += [f"{reason}." for reason in self._suitable.describe_unsuitable()]
        if judges["writer"].name == judges["checker"].name:
            notes.append("warning: the writer checks its own work; `checker` SPEC names another model.")
        return notes

    def estimate(self) -> list[CostEstimate]:
        """What each model will take."""
        return self.generator.estimate(self.items, STAGES)

    def run(self, watch: ProgressCallback | None = None) -> GenerationResult[dict[str, Any]]:
        """Make what is not made yet, and write it."""
        save_build_manifest(self.generator, self._fingerprint)
        rejected: dict[str, list[str]] = {}

        async def make(desk: ItemSession) -> dict[str, Any]:
            name, types = self._jobs[desk.item.id]
            scribe = ValidatingSession(desk, self.settings.retries)
            rejected[desk.item.id] = scribe.rejections
            return await write_sample_steps(scribe, self._prompts, types, self._scenes[name])

        calls = sum(stage.calls for stage in STAGES)
        wrote = self.generator.run(self.items, make, calls=calls, watch=watch)
        wrote.already_done = self._already_done
        wrote.left_out |= self._suitable.unreadable | self._clashes
        self._save_samples(wrote, rejected)
        write_build_record(
            self.generator.folder, self._fingerprint, wrote.left_out, rejected, not_kept=self.unsuitable_images
        )
        return wrote

    def _save_samples(self, result: GenerationResult[dict[str, Any]], rejections: Mapping[str, Sequence[str]]) -> None:
        """Write what was made into what is there now: people may have changed it meanwhile."""
        for identity, (name, _) in self._jobs.items():
            if identity not in result.results:
                continue
            try:
                self.entries.save_image(name, self._images / name)
            except (ImageError, OSError) as error:
                why = getattr(error, "strerror", None) or error
                result.left_out[identity] = f"its picture cannot be written: {why}"
                del result.results[identity]
        with file_lock(self.generator.folder):
            self.entries = ComplexBenchEntries(self.generator.folder)
            self._add_entries(result, rejections)
            if any(self.entries.subsets.values()):
                self.entries.save()

    def _add_entries(self, result: GenerationResult[dict[str, Any]], rejections: Mapping[str, Sequence[str]]) -> None:
        """Put what was made among the entries."""
        made_by: dict[str, Any] = {role: judge.model for role, judge in self.generator.judges.items()}
        made_by["prompts"] = [prompt.version for prompt in self._prompts]
        for identity, (name, types) in self._jobs.items():
            if identity not in result.results:
                continue
            steps, made = result.results[identity], {**made_by, "rejected": rejections[identity]}
            if not self.entries.add(types.subset, name, steps, made):
                result.left_out[identity] = "another one of its key was put there meanwhile"
                del result.results[identity]
