"""`creval build complexbench` as a whole: pictures with their objects in, samples of every level
out, everything kept on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from creval.building.complexbench.edit_types import LEVELS, Types
from creval.building.complexbench.files import Entries
from creval.building.complexbench.objects import Seen, choose
from creval.building.complexbench.pipeline import STAGES, Scene, load_texts, types_of, write_sample
from creval.building.images import picture_names, some
from creval.building.manifest import check_folder, fixed_by, keep_manifest, write_record
from creval.calls.estimate import Estimate
from creval.calls.event_loop import Watch
from creval.calls.settings import Settings
from creval.calls.text_generation import Desk, Item, Writing, Wrote
from creval.calls.validated_text import Scribe
from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.store.lock import turn

Look = Callable[[Sequence[str]], Seen]
"""Tells what is in pictures, by their names."""


class _Job(NamedTuple):
    """A picture at a level, and its edit types."""

    name: str
    types: Types


class ComplexBenchBuilding:
    """Samples to be made, or gone on with."""

    what = "sample"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        settings: Settings,
        look: Look,
        *,
        levels: Sequence[str] = tuple(LEVELS),
        temperature: float = 0.7,
        dry: bool = False,
    ) -> None:
        self.settings, self._images = settings, images
        self._texts = load_texts(settings.prompts)
        self.writing: Writing[dict[str, Any]] = Writing(
            out, roles, settings, warm={"writer": temperature}, dry=dry
        )
        self._fixed = fixed_by("complexbench", self.writing, self._texts, temperature=temperature)
        check_folder(self.writing, self._fixed)
        self.entries = Entries(out)
        names = picture_names(images, out)
        self._chosen = choose(names, images, look(names))
        self._clashes = self.entries.clashes(self._chosen.scenes)
        self._scenes = {
            name: Scene(things, self._chosen.sizes[name])
            for name, things in self._chosen.scenes.items()
            if name not in self._clashes
        }
        if not self._scenes:
            why = "; ".join([*self._chosen.reasons(), *self._chosen.broken.values()][:4])
            raise CrevalError(
                f"no picture suits: at most two of a class and three classes are needed ({why})."
            )
        chosen = some(list(self._scenes), settings.limit, settings.seed)
        self._jobs = self._left(chosen, levels)
        self._before = len(chosen) * len(levels) - len(self._jobs)
        self.items = [Item(identity, images / job.name) for identity, job in self._jobs.items()]

    def _left(self, names: Sequence[str], levels: Sequence[str]) -> dict[str, _Job]:
        """What is still to be made, by a name for it."""
        return {
            f"{level}: {name}": _Job(
                name, types_of(name, level, self._scenes[name], self.settings.seed, turn)
            )
            for turn, name in enumerate(names)
            for level in levels
            if not self.entries.has(LEVELS[level], name)
        }

    @property
    def number(self) -> int:
        return len(self.items)

    @property
    def not_kept(self) -> dict[str, str]:
        """The pictures that do not suit, and why."""
        return self._chosen.unsuited

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked."""
        judges, kept = self.writing.judges, len(self._scenes)
        notes = [f"{kept:,} picture{'' if kept == 1 else 's'} kept."]
        notes += [f"{reason}." for reason in self._chosen.reasons()]
        if judges["writer"].name == judges["checker"].name:
            notes.append(
                "warning: the writer checks its own work; --checker SPEC names another model."
            )
        return notes

    def estimate(self) -> list[Estimate]:
        """What each model will take."""
        return self.writing.estimate(self.items, STAGES)

    def run(self, watch: Watch | None = None) -> Wrote[dict[str, Any]]:
        """Make what is not made yet, and write it."""
        keep_manifest(self.writing, self._fixed)
        rejected: dict[str, list[str]] = {}

        async def make(desk: Desk) -> dict[str, Any]:
            name, types = self._jobs[desk.item.id]
            scribe = Scribe(desk, self.settings.retries)
            rejected[desk.item.id] = scribe.rejected
            return await write_sample(scribe, self._texts, types, self._scenes[name])

        calls = sum(stage.calls for stage in STAGES)
        wrote = self.writing.run(self.items, make, calls=calls, watch=watch)
        wrote.before = self._before
        wrote.left_out |= self._chosen.broken | self._clashes
        self._keep(wrote, rejected)
        write_record(
            self.writing.folder, self._fixed, wrote.left_out, rejected, not_kept=self.not_kept
        )
        return wrote

    def _keep(self, wrote: Wrote[dict[str, Any]], rejected: Mapping[str, Sequence[str]]) -> None:
        """Write what was made into what is there now: people may have changed it meanwhile."""
        for identity, (name, _) in self._jobs.items():
            if identity not in wrote.made:
                continue
            try:
                self.entries.put_picture(name, self._images / name)
            except (ImageError, OSError) as error:
                why = getattr(error, "strerror", None) or error
                wrote.left_out[identity] = f"its picture cannot be written: {why}"
                del wrote.made[identity]
        with turn(self.writing.folder):
            self.entries = Entries(self.writing.folder)
            self._add(wrote, rejected)
            if any(self.entries.subsets.values()):
                self.entries.save()

    def _add(self, wrote: Wrote[dict[str, Any]], rejected: Mapping[str, Sequence[str]]) -> None:
        """Put what was made among the entries."""
        made_by: dict[str, Any] = {role: judge.model for role, judge in self.writing.judges.items()}
        made_by["prompts"] = [prompt.version for prompt in self._texts]
        for identity, (name, types) in self._jobs.items():
            if identity not in wrote.made:
                continue
            steps, made = wrote.made[identity], {**made_by, "rejected": rejected[identity]}
            if not self.entries.add(types.subset, name, steps, made):
                wrote.left_out[identity] = "another one of its key was put there meanwhile"
                del wrote.made[identity]
