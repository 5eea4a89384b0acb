"""Builder of CREval benchmarks (`creval build creval`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.building.base import Builder
from creval.building.build_manifest import BuildFingerprint, read_build_record, read_stored_build
from creval.building.creval.examples import SHIPPED_EXAMPLES, read_examples
from creval.building.creval.files import SAMPLE_LIST, entry_sample_id, read_sample_list, write_creval_benchmark
from creval.building.creval.pipeline import (
    FITTING,
    CrevalSession,
    SampleDraft,
    SampleWriter,
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
from creval.building.duplicates import KEEP, check_duplicates
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, GenerationResult, StageEstimate
from creval.calls.validated_text import ValidatingSession
from creval.core.errors import CrevalError, require_known
from creval.core.files import replace_lone_surrogates
from creval.prompts import Prompt

BALANCED = "balanced"


@dataclass(frozen=True)
class CrevalBuildOptions:
    """Options of a CREval build.

    - `dimension`: "balanced", "fitting" or the name of one dimension.
    - `instructions`: file of given instructions.
    - `rewrite`: rewrite the given instructions.
    - `blind`: let a second model answer the questions about the source image alone, to find questions that cannot
      measure the edit.
    - `examples`: file of example instructions by dimension, instead of the shipped ones.
    """

    dimension: str = BALANCED
    instructions: Path | None = None
    rewrite: bool = False
    blind: bool = True
    examples: Path | None = None

    def __post_init__(self) -> None:
        if self.dimension not in (BALANCED, FITTING):
            require_known("dimension", self.dimension, (*CLASS_DIMENSIONS, BALANCED, FITTING))
        if self.rewrite and self.instructions is None:
            raise CrevalError("`rewrite` needs instructions to rewrite: add `instructions` FILE.")


class CrevalBuilder(Builder[SampleDraft]):
    """Builder of a new or resumed CREval benchmark.

    Each time a build is started, the pipelines of all items run with the stored replies, so that missing or edited
    files are found. `user_edited` lists the files and entries that people have changed. They are not overwritten.
    """

    benchmark = "creval"

    def __init__(
        self,
        images: Path,
        out: Path,
        roles: Mapping[str, str],
        options: CrevalBuildOptions,
        settings: ChatSettings,
        *,
        temperature: float | None = None,
        duplicates: str = KEEP,
        dry_run: bool = False,
    ) -> None:
        self.options = options
        if not options.blind:
            roles = {role: spec for role, spec in roles.items() if role != "checker"}
        self.prompts = load_creval_prompts(settings.prompts)
        self.examples = read_examples(options.examples)
        temperature = 1.0 if temperature is None else temperature
        super().__init__(out, roles, settings, self.prompts.values(), temperature=temperature, dry_run=dry_run)
        self.images = images
        self.notes: list[str] = []
        self.user_edited: list[str] = []
        self.rejected: dict[str, list[dict[str, Any]]] = {}
        self._written: Mapping[str, str] = {}
        self._stored = read_stored_build(out)
        self.sources = self._find_sources(images, duplicates)
        self.items = [GenerationItem(source.id, source.path) for source in self.sources]
        before = self._stored.get("given", {})
        self.changed_ids = {s.id for s in self.sources if _instruction_digest(s) != before.get(s.id)}
        done = {entry_sample_id(entry) for entry in read_sample_list(out / SAMPLE_LIST)}
        self._pending = [s for s in self.sources if s.id in self.changed_ids or s.id not in done]
        self._require_given_instructions()

    def _make_fingerprint(self, prompts: Iterable[Prompt], details: Mapping[str, Any]) -> BuildFingerprint:
        judges = self.generator.judges
        return {
            "system": self.benchmark,
            "writer": judges["writer"].name,
            "asker": judges["asker"].name,
            "checker": judges["checker"].name if "checker" in judges else None,
            "prompts": {prompt.name: prompt.version for prompt in prompts},
            "dimension": self.options.dimension,
            "rewrite": self.options.rewrite,
            "blind": self.options.blind,
            "examples": self.examples.version,
            **details,
            "image_fit": self.settings.image_fit,
        }

    def _find_sources(self, images: Path, duplicates: str) -> list[SourceImage]:
        stored = self._stored.get("pictures", {})
        sources = find_source_images(images, self.out, {path: name for name, path in stored.items()})
        self.duplicates = check_duplicates({source.id: source.path for source in sources}, duplicates, stored, self.out)
        sources = [source for source in sources if source.id not in self.duplicates.skipped]
        self._images = stored | {
            source.id: replace_lone_surrogates(source.path.relative_to(images).as_posix()) for source in sources
        }
        if self.options.instructions is not None:
            sources, unknown = attach_instructions(sources, read_given_instructions(self.options.instructions))
            if unknown:
                shown = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
                self.notes.append(f"{len(unknown)} instructions match no image, or more than one: {shown}")
            if not any(source.given_instruction for source in sources):
                raise CrevalError(f"{self.options.instructions} contains none of the images in {images}.")
        sources = sources[: self.settings.limit]
        without = sum(not source.given_instruction for source in sources)
        if self.options.instructions is not None and without:
            self.notes.append(f"{without} images have no instruction, so the writer writes one")
        return sources

    def warnings(self) -> list[str]:
        models = {role: judge.model for role, judge in self.generator.judges.items()}
        notes = [*self.notes, *super().warnings()]
        if models["writer"] == models["asker"]:
            notes.append(
                f"warning: {models['writer']} writes both the instructions and their questions. "
                "Give another model as `asker`, so that no model marks its own work."
            )
        if models.get("checker") == models["asker"] != models["writer"]:
            notes.append(f"warning: {models['asker']} checks its own questions.")
        return notes

    def pending_items(self) -> Sequence[GenerationItem]:
        """Return the items that are not in the benchmark yet, or whose given instruction has changed."""
        return [GenerationItem(source.id, source.path) for source in self._pending]

    def stages(self) -> list[StageEstimate]:
        given = [source for source in self._pending if source.given_instruction]
        return estimate_creval_stages(
            self.prompts,
            given_share=len(given) / max(1, len(self._pending)),
            rewrite=self.options.rewrite,
            blind=self.options.blind,
            classified_share=sum(bool(source.dimension) for source in given) / max(1, len(given)),
            extra_words=round(self.examples.words_per_dimension - SHIPPED_EXAMPLES.words_per_dimension),
        )

    def prepare(self) -> Mapping[str, Any]:
        """Assign a dimension to each image. Assigned dimensions are stored in the folder and do not change."""
        read_build_record(self.out)  # fail early if `build.json` is malformed, since it is rewritten at the end
        self._stored, entries = read_stored_build(self.out), read_sample_list(self.out / SAMPLE_LIST)
        if entries and not self._stored:
            raise CrevalError(f"{self.out} already contains another benchmark. Give another `out`.")
        listed = {
            entry_sample_id(entry): str(entry["dimension"])
            for entry in entries
            if entry.get("dimension") in CLASS_DIMENSIONS
        }
        self._require_given_instructions()
        dimensions = self._choose_dimensions(self._stored.get("dimensions", listed))
        self.sources = [s._replace(dimension=s.dimension or dimensions.get(s.id, "")) for s in self.sources]
        self._sources_by_id = {source.id: source for source in self.sources}
        return {**self._facts(), "dimensions": dimensions}

    async def make(self, session: ValidatingSession) -> SampleDraft:
        name, options = session.session.item.id, self.options
        models = {role: judge.name for role, judge in self.generator.judges.items()}
        session = CrevalSession(session.session, session.retries)
        source = self._sources_by_id[name]
        writer = SampleWriter(session, self.prompts, models, source, options.rewrite, options.blind, self.examples)
        self.rejected[name] = writer.rejected
        return await writer.write()

    def save(self, result: GenerationResult[SampleDraft]) -> None:
        files = write_creval_benchmark(self.out, result.results, self._sources_by_id)
        self.user_edited, self._written = files.user_edited, files.written
        for name, reason in files.failures.items():
            result.leave_out(name, reason)

    def record(self, result: GenerationResult[SampleDraft]) -> Mapping[str, Any]:
        """Return the additional entries for `build.json`.

        Items that earlier starts of the build left out or rejected are included, unless they are done now.
        """
        before = read_build_record(self.out)
        left_out = {name: why for name, why in before.get("left_out", {}).items() if name not in result.results}
        rejected = before.get("rejected", {}) | self.rejected
        return {
            **self._facts(),
            "left_out": dict(sorted({**left_out, **result.left_out}.items())),
            "rejected": {name: all_ for name, all_ in sorted(rejected.items()) if all_},
            "written": dict(sorted(self._written.items())),
        }

    def _require_given_instructions(self) -> None:
        """Raise `CrevalError` if an instruction that was given at the first start is missing now."""
        stored = self._stored.get("given", {})
        lost = [source.id for source in self.sources if source.id in stored and not source.given_instruction]
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise CrevalError(
                f"{self.out} was started with your own instruction for {lost[0]}{more}, which is missing now. "
                "Give the same `instructions` again, or another `out`."
            )

    def _choose_dimensions(self, assigned: Mapping[str, str]) -> dict[str, str]:
        """Return the dimensions that are assigned in advance, by image id."""
        if self.options.dimension == BALANCED:
            new = [source.id for source in self.sources if not source.given_instruction]
            return assign_balanced_dimensions(new, assigned, self.settings.seed)
        if self.options.dimension == FITTING:
            return {}
        return dict.fromkeys([source.id for source in self.sources], self.options.dimension)

    def _facts(self) -> dict[str, Any]:
        """Return what is needed, besides the fingerprint, to reproduce the build."""
        given = {source.id: digest for source in self.sources if (digest := _instruction_digest(source))}
        return {
            "models": {role: judge.model for role, judge in self.generator.judges.items()},
            "retries": self.settings.retries,
            "seed": self.settings.seed,
            "pictures": dict(sorted(self._images.items())),
            "given": dict(sorted({**self._stored.get("given", {}), **given}.items())),
        }


def _instruction_digest(source: SourceImage) -> str | None:
    """Return a digest of an image's given instruction, or None if there is none."""
    if not source.given_instruction:
        return None
    return hashlib.blake2b(source.given_instruction.encode("utf-8", "replace"), digest_size=8).hexdigest()
