"""`creval build creval` as a whole: pictures in, a benchmark out, everything kept on the way."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from creval.benchmarks.creval.release import CLASSES, METRICS
from creval.building.creval.files import LIST, identity_of, read_list, read_record, write_benchmark
from creval.building.creval.pipeline import FITTING, UNANSWERED, Made, Making, load_prompts, stages
from creval.building.creval.sources import Source, balanced, find_pictures, read_given, with_given
from creval.building.manifest import check_same
from creval.calls.estimate import Estimate
from creval.calls.event_loop import Watch
from creval.calls.retry import Progress
from creval.calls.settings import Settings
from creval.calls.text_generation import Item, Writing
from creval.core.errors import CrevalError, known_name
from creval.core.files import clean_text
from creval.store import DATABASE, Store, held_texts
from creval.store.manifest import versions

BALANCED = "balanced"
_SAME = (
    "system", "writer", "asker", "checker", "dimension", "rewrite", "blind", "prompts",
    "temperature", "image_fit",
)  # fmt: skip
_CALLS = 6.0  # a picture, about


@dataclass(frozen=True)
class Wish:
    """What can be chosen about a benchmark besides the models and their pace."""

    dimension: str = BALANCED
    instructions: Path | None = None
    rewrite: bool = False
    blind: bool = True

    def __post_init__(self) -> None:
        if self.dimension not in (BALANCED, FITTING):
            known_name("dimension", self.dimension, (*CLASSES, BALANCED, FITTING))
        if self.rewrite and self.instructions is None:
            raise CrevalError("--rewrite sharpens the instructions of --instructions FILE.")


@dataclass
class Built:
    """What a build came to. `unchecked` counts questions of which a second model said nothing;
    `alone` is what people had changed, and was not written over."""

    pictures: int
    samples: int
    left_out: dict[str, str]
    questions: Counter[str]
    flagged: int
    unchecked: int
    rejected: Counter[str]
    alone: list[str]
    progress: Progress
    notes: list[str] = field(default_factory=list)
    stopped: str = ""

    @property
    def share_left_out(self) -> float:
        return len(self.left_out) / self.pictures


class CrevalBuilding:
    """A benchmark to be made, or gone on with."""

    what = "picture"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        wish: Wish,
        settings: Settings,
        *,
        temperature: float | None = None,
        dry: bool = False,
    ) -> None:
        self.out, self.wish, self.settings = out, wish, settings
        if not wish.blind:
            roles = {role: spec for role, spec in roles.items() if role != "checker"}
        self.notes: list[str] = []
        held = held_texts(out)  # before the first text, all can be changed
        self._held = (held.manifest if held.texts else {}) or read_record(out)
        self.sources = self._sources(images)
        self.prompts = load_prompts(settings.prompts)
        warm = {"writer": 1.0 if temperature is None else temperature}
        self.writing: Writing[Made] = Writing(out, roles, settings, warm=warm, dry=dry)
        self._temperature = warm["writer"]
        self._check(self._held)

    def _sources(self, images: Path) -> list[Source]:
        pictures = self._held.get("pictures", {})
        sources = find_pictures(images, self.out, {path: name for name, path in pictures.items()})
        self._pictures = pictures | {
            source.id: clean_text(source.path.relative_to(images).as_posix()) for source in sources
        }
        if self.wish.instructions is not None:
            sources, unknown = with_given(sources, read_given(self.wish.instructions))
            if unknown:
                shown = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
                what = "instructions belong to no picture, or not to one alone"
                self.notes.append(f"{len(unknown)} {what}: {shown}")
            if not any(source.given for source in sources):
                raise CrevalError(
                    f"{self.wish.instructions} names none of the pictures in {images}."
                )
        sources = sources[: self.settings.limit]
        without = sum(not source.given for source in sources)
        if self.wish.instructions is not None and without:
            self.notes.append(f"{without} pictures have no instruction: the writer writes one")
        return sources

    @property
    def number(self) -> int:
        return len(self.sources)

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked, such as what speaks against models."""
        models = {role: judge.model for role, judge in self.writing.judges.items()}
        notes = list(self.notes)
        if models["writer"] == models["asker"]:
            notes.append(
                f"warning: {models['writer']} writes the instructions and the questions on them; "
                "two different models (--asker) keep one from marking its own work."
            )
        if models.get("checker") == models["asker"] != models["writer"]:
            notes.append(f"warning: {models['asker']} checks the questions that it wrote itself.")
        return notes

    def estimate(self) -> list[Estimate]:
        """What each model will take for the pictures that are not in the benchmark yet or have
        another instruction now, besides the texts that are kept already."""
        done = {identity_of(entry) for entry in read_list(self.out / LIST)}
        before = self._held.get("given", {})
        anew = {source.id for source in self.sources if _told(source) != before.get(source.id)}
        left = [source for source in self.sources if source.id in anew or source.id not in done]
        given = [source for source in left if source.given]
        expected = stages(
            self.prompts,
            given=len(given) / max(1, len(left)),
            rewrite=self.wish.rewrite,
            blind=self.wish.blind,
            placed=sum(bool(source.dimension) for source in given) / max(1, len(given)),
        )
        items = [Item(source.id, source.path) for source in left]
        return self.writing.estimate(items, expected, anew)

    def run(self, watch: Watch | None = None) -> Built:
        """Make what is not made yet, and write it."""
        sources = {source.id: source for source in self._begun()}
        models = {role: judge.name for role, judge in self.writing.judges.items()}
        making = Making(
            sources,
            self.prompts,
            models,
            rewrite=self.wish.rewrite,
            blind=self.wish.blind,
            retries=self.settings.retries,
        )
        items = [Item(source.id, source.path) for source in sources.values()]
        wrote = self.writing.run(items, making.make, calls=_CALLS, watch=watch)
        made = {name: wrote.made[name] for name in sources if name in wrote.made}
        left_out = dict(sorted(wrote.left_out.items()))
        about = {name: value for name, value in self._about().items() if name != "date"}
        kept = write_benchmark(self.out, made, sources, left_out, making.rejected, about)
        left_out |= kept.unwritten
        made = {name: one for name, one in made.items() if name not in kept.unwritten}
        asked = [
            (metric, one)
            for m in made.values()
            for metric in METRICS
            for one in m.questions[metric]
        ]
        return Built(
            pictures=len(sources),
            samples=len(made),
            left_out=left_out,
            questions=Counter(metric for metric, _ in asked),
            flagged=sum("flag" in one.made for _, one in asked),
            unchecked=sum(one.made.get("on_source") == UNANSWERED for _, one in asked),
            rejected=Counter(one.fault.rule for all_ in making.rejected.values() for one in all_),
            alone=kept.alone,
            progress=wrote.progress,
            notes=list(wrote.notes),
            stopped=wrote.stopped,
        )

    def _begun(self) -> list[Source]:
        """The pictures with their dimensions, after the folder is known to be ours."""
        # What cannot be written in the end is not begun.
        record, entries = read_record(self.out), read_list(self.out / LIST)
        if entries and not record and not (self.out / DATABASE).exists():
            raise CrevalError(f"{self.out} holds another benchmark already. Give another --out.")
        with Store(self.out) as store, store.transaction():
            held = store.manifest if store.texts() else {}
            self._check(held or record)
            there = {
                identity_of(entry): str(entry["dimension"])
                for entry in entries
                if entry.get("dimension") in CLASSES
            }
            places = self._places(held.get("dimensions", there))
            store.put_manifest({**self._about(), "dimensions": places})
        return [
            source._replace(dimension=source.dimension or places.get(source.id, ""))
            for source in self.sources
        ]

    def _check(self, held: Mapping[str, Any]) -> None:
        """Refuse to go on with something else than the folder was begun with."""
        about = self._about()
        check_same(self.out, held, {name: about[name] for name in _SAME})
        told = held.get("given", {})
        lost = [source.id for source in self.sources if source.id in told and not source.given]
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise CrevalError(
                f"{self.out} was begun with your own instruction for {lost[0]}{more}, which is not "
                "given now. Give the same --instructions again, or another --out."
            )

    def _places(self, held: Mapping[str, str]) -> dict[str, str]:
        """The dimension of each picture that is not to get one from its own words."""
        if self.wish.dimension == BALANCED:
            new = [source.id for source in self.sources if not source.given]
            return balanced(new, held, self.settings.seed)
        if self.wish.dimension == FITTING:
            return {}
        return dict.fromkeys([source.id for source in self.sources], self.wish.dimension)

    def _about(self) -> dict[str, Any]:
        """What is needed to make the same again."""
        judges = self.writing.judges
        given = {source.id: told for source in self.sources if (told := _told(source))}
        return {
            "system": "creval",
            **versions(),
            "writer": judges["writer"].name,
            "asker": judges["asker"].name,
            "checker": judges["checker"].name if "checker" in judges else None,
            "models": {role: judge.model for role, judge in judges.items()},
            "prompts": {name: prompt.version for name, prompt in self.prompts.items()},
            "dimension": self.wish.dimension,
            "rewrite": self.wish.rewrite,
            "blind": self.wish.blind,
            "temperature": self._temperature,
            "image_fit": self.settings.image_fit,
            "retries": self.settings.retries,
            "seed": self.settings.seed,
            "pictures": dict(sorted(self._pictures.items())),
            "given": dict(sorted({**self._held.get("given", {}), **given}.items())),
        }


def _told(source: Source) -> str | None:
    """A name for the instruction that somebody brought for a picture."""
    if not source.given:
        return None
    return hashlib.blake2b(source.given.encode("utf-8", "replace"), digest_size=8).hexdigest()
