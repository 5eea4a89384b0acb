"""`creval build creval` as a whole: pictures in, a benchmark out, everything kept on the way."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS
from creval.building.build_manifest import require_same_fingerprint
from creval.building.creval.files import (
    SAMPLE_LIST,
    entry_sample_id,
    read_build_record,
    read_sample_list,
    write_creval_benchmark,
)
from creval.building.creval.pipeline import (
    FITTING,
    UNANSWERED,
    SampleDraft,
    SamplePipeline,
    estimate_creval_stages,
    load_creval_prompts,
)
from creval.building.creval.sources import (
    SourceImage,
    assign_balanced_dimensions,
    attach_instructions,
    find_source_images,
    read_given_instructions,
)
from creval.calls.cost_estimate import CostEstimate
from creval.calls.event_loop import ProgressCallback
from creval.calls.retry import Progress
from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationItem, TextGenerator
from creval.core.errors import CrevalError, require_known
from creval.core.files import replace_lone_surrogates
from creval.store import DATABASE, RunWriter, read_stored_texts
from creval.store.manifest import software_versions

BALANCED = "balanced"
_FINGERPRINT_KEYS = (
    "system",
    "writer",
    "asker",
    "checker",
    "dimension",
    "rewrite",
    "blind",
    "prompts",
    "temperature",
    "image_fit",
)
_CALLS_PER_IMAGE = 6.0  # a picture, about


@dataclass(frozen=True)
class CrevalBuildOptions:
    """What can be chosen about a benchmark besides the models and their pace."""

    dimension: str = BALANCED
    instructions: Path | None = None
    rewrite: bool = False
    blind: bool = True

    def __post_init__(self) -> None:
        if self.dimension not in (BALANCED, FITTING):
            require_known("dimension", self.dimension, (*CLASS_DIMENSIONS, BALANCED, FITTING))
        if self.rewrite and self.instructions is None:
            raise CrevalError("`rewrite` sharpens the instructions of `instructions` FILE.")


@dataclass
class BuildResult:
    """What a build came to. `unchecked` counts questions of which a second model said nothing;
    `alone` is what people had changed, and was not written over."""

    images: int
    samples: int
    left_out: dict[str, str]
    questions: Counter[str]
    flagged: int
    unchecked: int
    rejected: Counter[str]
    user_edited: list[str]
    progress: Progress
    notes: list[str] = field(default_factory=list)
    stopped: str = ""

    @property
    def share_left_out(self) -> float:
        return len(self.left_out) / self.images


class CrevalBuilder:
    """A benchmark to be made, or gone on with."""

    unit = "picture"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        options: CrevalBuildOptions,
        settings: Settings,
        *,
        temperature: float | None = None,
        dry_run: bool = False,
    ) -> None:
        self.out, self.options, self.settings = out, options, settings
        if not options.blind:
            roles = {role: spec for role, spec in roles.items() if role != "checker"}
        self.notes: list[str] = []
        held = read_stored_texts(out)  # before the first text, all can be changed
        self._stored = (held.manifest if held.texts else {}) or read_build_record(out)
        self.sources = self._find_sources(images)
        self.prompts = load_creval_prompts(settings.prompts)
        warm = {"writer": 1.0 if temperature is None else temperature}
        self.generator: TextGenerator[SampleDraft] = TextGenerator(
            out, roles, settings, temperatures=warm, dry_run=dry_run
        )
        self._temperature = warm["writer"]
        self._require_same_build(self._stored)

    def _find_sources(self, images: Path) -> list[SourceImage]:
        stored = self._stored.get("pictures", {})
        sources = find_source_images(images, self.out, {path: name for name, path in stored.items()})
        self._images = stored | {
            source.id: replace_lone_surrogates(source.path.relative_to(images).as_posix()) for source in sources
        }
        if self.options.instructions is not None:
            sources, unknown = attach_instructions(sources, read_given_instructions(self.options.instructions))
            if unknown:
                shown = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
                what = "instructions belong to no picture, or not to one alone"
                self.notes.append(f"{len(unknown)} {what}: {shown}")
            if not any(source.given_instruction for source in sources):
                raise CrevalError(f"{self.options.instructions} names none of the pictures in {images}.")
        sources = sources[: self.settings.limit]
        without = sum(not source.given_instruction for source in sources)
        if self.options.instructions is not None and without:
            self.notes.append(f"{without} pictures have no instruction: the writer writes one")
        return sources

    @property
    def item_count(self) -> int:
        return len(self.sources)

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked, such as what speaks against models."""
        models = {role: judge.model for role, judge in self.generator.judges.items()}
        notes = list(self.notes)
        if models["writer"] == models["asker"]:
            notes.append(
                f"warning: {models['writer']} writes the instructions and the questions on them; "
                "two different models (`asker`) keep one from marking its own work."
            )
        if models.get("checker") == models["asker"] != models["writer"]:
            notes.append(f"warning: {models['asker']} checks the questions that it wrote itself.")
        return notes

    def estimate(self) -> list[CostEstimate]:
        """What each model will take for the pictures that are not in the benchmark yet or have
        another instruction now, besides the texts that are kept already."""
        done = {entry_sample_id(entry) for entry in read_sample_list(self.out / SAMPLE_LIST)}
        before = self._stored.get("given", {})
        anew = {source.id for source in self.sources if _instruction_digest(source) != before.get(source.id)}
        left = [source for source in self.sources if source.id in anew or source.id not in done]
        given = [source for source in left if source.given_instruction]
        expected = estimate_creval_stages(
            self.prompts,
            given_share=len(given) / max(1, len(left)),
            rewrite=self.options.rewrite,
            blind=self.options.blind,
            classified_share=sum(bool(source.dimension) for source in given) / max(1, len(given)),
        )
        items = [GenerationItem(source.id, source.path) for source in left]
        return self.generator.estimate(items, expected, anew)

    def run(self, watch: ProgressCallback | None = None) -> BuildResult:
        """Make what is not made yet, and write it."""
        sources = {source.id: source for source in self._assign_dimensions()}
        models = {role: judge.name for role, judge in self.generator.judges.items()}
        making = SamplePipeline(
            sources,
            self.prompts,
            models,
            rewrite=self.options.rewrite,
            blind=self.options.blind,
            retries=self.settings.retries,
        )
        items = [GenerationItem(source.id, source.path) for source in sources.values()]
        wrote = self.generator.run(items, making.make, calls=_CALLS_PER_IMAGE, watch=watch)
        made = {name: wrote.results[name] for name in sources if name in wrote.results}
        left_out = dict(sorted(wrote.left_out.items()))
        about = {name: value for name, value in self._build_info().items() if name != "date"}
        kept = write_creval_benchmark(self.out, made, sources, left_out, making.rejections, about)
        left_out |= kept.failures
        made = {name: one for name, one in made.items() if name not in kept.failures}
        asked = [(metric, one) for m in made.values() for metric in METRICS for one in m.questions[metric]]
        return BuildResult(
            images=len(sources),
            samples=len(made),
            left_out=left_out,
            questions=Counter(metric for metric, _ in asked),
            flagged=sum("flag" in one.provenance for _, one in asked),
            unchecked=sum(one.provenance.get("on_source") == UNANSWERED for _, one in asked),
            rejected=Counter(one.violation.rule for all_ in making.rejections.values() for one in all_),
            user_edited=kept.user_edited,
            progress=wrote.progress,
            notes=list(wrote.notes),
            stopped=wrote.stopped,
        )

    def _assign_dimensions(self) -> list[SourceImage]:
        """The pictures with their dimensions, after the folder is known to be ours."""
        # What cannot be written in the end is not begun.
        record, entries = read_build_record(self.out), read_sample_list(self.out / SAMPLE_LIST)
        if entries and not record and not (self.out / DATABASE).exists():
            raise CrevalError(f"{self.out} holds another benchmark already. Give another `out`.")
        with RunWriter(self.out) as store, store.transaction():
            held = store.manifest if store.reply_texts() else {}
            self._require_same_build(held or record)
            there = {
                entry_sample_id(entry): str(entry["dimension"])
                for entry in entries
                if entry.get("dimension") in CLASS_DIMENSIONS
            }
            places = self._choose_dimensions(held.get("dimensions", there))
            store.put_manifest({**self._build_info(), "dimensions": places})
        return [source._replace(dimension=source.dimension or places.get(source.id, "")) for source in self.sources]

    def _require_same_build(self, stored: Mapping[str, Any]) -> None:
        """Refuse to go on with something else than the folder was begun with."""
        about = self._build_info()
        require_same_fingerprint(self.out, stored, {name: about[name] for name in _FINGERPRINT_KEYS})
        told = stored.get("given", {})
        lost = [source.id for source in self.sources if source.id in told and not source.given_instruction]
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise CrevalError(
                f"{self.out} was begun with your own instruction for {lost[0]}{more}, which is not "
                "given now. Give the same `instructions` again, or another `out`."
            )

    def _choose_dimensions(self, assigned: Mapping[str, str]) -> dict[str, str]:
        """The dimension of each picture that is not to get one from its own words."""
        if self.options.dimension == BALANCED:
            new = [source.id for source in self.sources if not source.given_instruction]
            return assign_balanced_dimensions(new, assigned, self.settings.seed)
        if self.options.dimension == FITTING:
            return {}
        return dict.fromkeys([source.id for source in self.sources], self.options.dimension)

    def _build_info(self) -> dict[str, Any]:
        """What is needed to make the same again."""
        judges = self.generator.judges
        given = {source.id: told for source in self.sources if (told := _instruction_digest(source))}
        return {
            "system": "creval",
            **software_versions(),
            "writer": judges["writer"].name,
            "asker": judges["asker"].name,
            "checker": judges["checker"].name if "checker" in judges else None,
            "models": {role: judge.model for role, judge in judges.items()},
            "prompts": {name: prompt.version for name, prompt in self.prompts.items()},
            "dimension": self.options.dimension,
            "rewrite": self.options.rewrite,
            "blind": self.options.blind,
            "temperature": self._temperature,
            "image_fit": self.settings.image_fit,
            "retries": self.settings.retries,
            "seed": self.settings.seed,
            "pictures": dict(sorted(self._images.items())),
            "given": dict(sorted({**self._stored.get("given", {}), **given}.items())),
        }


def _instruction_digest(source: SourceImage) -> str | None:
    """A name for the instruction that somebody brought for a picture."""
    if not source.given_instruction:
        return None
    return hashlib.blake2b(source.given_instruction.encode("utf-8", "replace"), digest_size=8).hexdigest()
