"""Builder of ComplexBench-Edit benchmarks (`creval build complexbench`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complexbench_edit.release import ALL_SUBSETS
from creval.building.base import Builder
from creval.building.complexbench.edit_types import (
    LEVELS,
    RELEASED_LEVELS,
    EditTypePlan,
    draw_any_types,
    draw_edit_types,
    parse_edit_types,
)
from creval.building.complexbench.files import ComplexBenchEntries
from creval.building.complexbench.objects import Detections, select_suitable_images
from creval.building.complexbench.pipeline import STAGES, StepWriter, load_complexbench_prompts
from creval.building.duplicates import KEEP, check_duplicates
from creval.building.image_files import list_image_names, sample_names, write_error_reason
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, GenerationResult, StageEstimate
from creval.calls.validated_text import ValidatingSession
from creval.core.errors import CrevalError
from creval.core.formatting import pluralise
from creval.core.images import ImageError
from creval.store.lock import file_lock

DetectObjects = Callable[[Sequence[str]], Detections]
"""Returns the objects in images with the given names."""


class ComplexBenchBuilder(Builder[dict[str, Any]]):
    """Builder of a new or resumed ComplexBench-Edit benchmark."""

    benchmark = "complexbench"
    unit = "sample"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        settings: ChatSettings,
        detect: DetectObjects,
        *,
        levels: Sequence[str] = RELEASED_LEVELS,
        types: str = "",
        temperature: float = 0.7,
        duplicates: str = KEEP,
        dry_run: bool = False,
    ) -> None:
        self._images = images
        self._prompts = load_complexbench_prompts(settings.prompts)
        self._types = parse_edit_types(types, levels)
        super().__init__(
            out,
            roles,
            settings,
            self._prompts.values(),
            temperature=temperature,
            dry_run=dry_run,
            types=list(self._types),
        )
        self.images = images
        self.entries = ComplexBenchEntries(out)
        names = list_image_names(images, out)
        existing = {name for name in names if self.entries.has(ALL_SUBSETS, name)}
        self.duplicates = check_duplicates({name: images / name for name in names}, duplicates, existing, out)
        names = [name for name in names if name not in self.duplicates.skipped]
        self._suitable = select_suitable_images(names, images, detect(names))
        clashes = self.entries.find_key_clashes(self._suitable.scenes)
        self._lost = self._suitable.unreadable | clashes
        self._scenes = {name: scene for name, scene in self._suitable.scenes.items() if name not in clashes}
        if not self._scenes:
            why = "; ".join([*self._suitable.describe_unsuitable(), *self._suitable.unreadable.values()][:4])
            raise CrevalError(
                "no image is suitable. An image needs objects of at least three classes, and at most two objects of "
                f"each class ({why})."
            )
        chosen = sample_names(list(self._scenes), settings.limit, settings.seed)
        plans = {  # each image at each level, with its edit types
            f"{level}: {name}": (name, self._draw_edit_types(name, level, turn))
            for turn, name in enumerate(chosen)
            for level in levels
            if not self.entries.has(LEVELS[level], name)
        }
        self._jobs = {identity: (name, plan) for identity, (name, plan) in plans.items() if plan is not None}
        why = "fewer than 3 of the given types suit its objects (a pose needs a person or an animal)"
        self._lost |= dict.fromkeys(plans.keys() - self._jobs.keys(), why)
        self.already_done = len(chosen) * len(levels) - len(plans)
        self.items = [GenerationItem(identity, images / name) for identity, (name, _) in self._jobs.items()]

    def _draw_edit_types(self, name: str, level: str, turn: int) -> EditTypePlan | None:
        objects = [thing.name for thing in self._scenes[name].objects]
        seed = f"types {self.settings.seed} {level} {name}"
        if level == "any":
            return draw_any_types(self._types, objects, seed)
        return draw_edit_types(level, objects, seed, turn)

    @property
    def unsuitable_images(self) -> dict[str, str]:
        """The unsuitable images, each with the reason."""
        return self._suitable.unsuitable

    def warnings(self) -> list[str]:
        judges, kept = self.generator.judges, len(self._scenes)
        notes = [f"{pluralise(kept, 'image')} kept.", *super().warnings()]
        notes += [f"{reason}." for reason in self._suitable.describe_unsuitable()]
        if judges["writer"].name == judges["checker"].name:
            notes.append("warning: the writer checks its own work. Give another model as `checker`.")
        return notes

    def stages(self) -> list[StageEstimate]:
        return STAGES

    async def make(self, session: ValidatingSession) -> dict[str, Any]:
        name, types = self._jobs[session.session.item.id]
        return await StepWriter(session, self._prompts, types, self._scenes[name]).write()

    def record(self, result: GenerationResult[dict[str, Any]]) -> dict[str, Any]:
        return {**super().record(result), "not_kept": self.unsuitable_images}

    def save(self, result: GenerationResult[dict[str, Any]]) -> None:
        """Add the new samples to the benchmark's files.

        The files are read again before, because people may have changed them during the build.
        """
        result.left_out |= self._lost
        for identity in list(result.results):
            name, _ = self._jobs[identity]
            try:
                self.entries.save_image(name, self._images / name)
            except (ImageError, OSError) as error:
                result.leave_out(identity, f"its image cannot be written: {write_error_reason(error)}")
        made_by: dict[str, Any] = {role: judge.model for role, judge in self.generator.judges.items()}
        made_by["prompts"] = [prompt.version for prompt in self._prompts.values()]
        with file_lock(self.out):
            self.entries = ComplexBenchEntries(self.out)
            for identity, steps in list(result.results.items()):
                name, types = self._jobs[identity]
                made = {**made_by, "rejected": self.rejections[identity]}
                if not self.entries.add(types.subset, name, steps, made):
                    result.leave_out(identity, "another sample with its key was added during the build")
            if any(self.entries.subsets.values()):
                self.entries.save()
