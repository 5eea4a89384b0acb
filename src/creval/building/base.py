"""Base class of builders. A builder generates texts with models, stores all replies, and writes a benchmark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from creval.benchmarks import check_title, write_title
from creval.building.build_manifest import (
    BuildFingerprint,
    build_fingerprint,
    require_same_build,
    save_build_manifest,
    write_build_record,
)
from creval.building.duplicates import DuplicateReport
from creval.building.twins.twin_record import record_twin_inputs
from creval.calls.cost_estimate import CostEstimate
from creval.calls.retry import ProgressCallback
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, GenerationResult, ItemSession, StageEstimate, TextGenerator
from creval.calls.validated_text import ValidatingSession
from creval.core.formatting import pluralise
from creval.prompts import Prompt

T = TypeVar("T")


class Builder(ABC, Generic[T]):
    """Builder of a new or resumed benchmark.

    A subclass finds its items in the constructor. It estimates the calls for an item (`stages`), builds an item
    (`make`) and saves the results (`save`).

    - `title`: name of the benchmark, or "".
    - `unusable`: inputs from which no item can be built, each with the reason.
    - `changed_ids`: items whose input has changed. Estimates ignore their stored texts.
    - `duplicates`: duplicates among the images.
    - `images`: the image folder, if the benchmark is built from a folder.
    """

    benchmark: ClassVar[str]
    unit: ClassVar[str] = "image"

    def __init__(
        self,
        out: Path,
        roles: Mapping[str, str],
        settings: ChatSettings,
        prompts: Iterable[Prompt],
        *,
        temperature: float,
        shared_stages: Collection[str] = (),
        dry_run: bool = False,
        **details: Any,
    ) -> None:
        self.out, self.settings = out, settings
        self.generator: TextGenerator[T] = TextGenerator(
            out, roles, settings, temperatures={"writer": temperature}, shared_stages=shared_stages, dry_run=dry_run
        )
        self.fingerprint = self._make_fingerprint(prompts, {**details, "temperature": temperature})
        require_same_build(out, self.fingerprint)
        self.items: Sequence[GenerationItem] = ()
        self.already_done = 0
        self.unusable: Mapping[str, str] | None = None
        self.changed_ids: Container[str] = ()
        self.rejections: dict[str, list[str]] = {}
        self.title = ""
        self.duplicates = DuplicateReport()
        self.images: Path | None = None

    def _make_fingerprint(self, prompts: Iterable[Prompt], details: Mapping[str, Any]) -> BuildFingerprint:
        """Return the settings that affect texts and are fixed for a folder."""
        return build_fingerprint(self.benchmark, self.generator, prompts, **details)

    @abstractmethod
    def stages(self) -> Sequence[StageEstimate]:
        """Return the estimated calls of an average item."""

    @abstractmethod
    async def make(self, session: ValidatingSession) -> T:
        """Build one item."""

    def prepare(self) -> Mapping[str, Any]:
        """Check the inputs before the first call. Return additional entries for the manifest."""
        return {}

    def save(self, result: GenerationResult[T]) -> None:
        """Save the results. A result that cannot be saved is moved to `result.left_out`."""

    def record(self, result: GenerationResult[T]) -> Mapping[str, Any]:
        """Return additional entries for `build.json`: the items that were left out, with reasons and rejected replies.

        The rejected replies of a finished item are saved with the item.
        """
        left_out = dict(sorted(result.left_out.items()))
        rejected = {name: self.rejections[name] for name in left_out if self.rejections.get(name)}
        return {"left_out": left_out, "rejected": rejected}

    def pending_items(self) -> Sequence[GenerationItem]:
        """Return the items that need calls."""
        return self.items

    @property
    def item_count(self) -> int:
        return len(self.items)

    def warnings(self) -> list[str]:
        """Return notes and warnings to show before the first call."""
        notes = self.duplicates.describe()
        if self.already_done:
            verb = "exists" if self.already_done == 1 else "exist"
            notes.append(f"{pluralise(self.already_done, self.unit)} already {verb} and will not be changed.")
        return notes

    def estimate(self) -> list[CostEstimate]:
        """Return the estimated cost of each model. Texts that are already stored cost nothing."""
        return self.generator.estimate(self.pending_items(), self.stages(), self.changed_ids)

    def run(self, watch: ProgressCallback | None = None) -> GenerationResult[T]:
        """Build the missing items and save them."""
        check_title(self.title)
        save_build_manifest(self.generator, self.fingerprint, self.prepare())
        if self.duplicates.hashes:
            self.duplicates.hashes.save()
        calls = sum(stage.calls for stage in self.stages())
        result = self.generator.run(self.items, self._make_item, calls=calls, watch=watch)
        result.already_done = self.already_done
        result.left_out |= self.unusable or {}
        self.save(result)
        write_build_record(
            self.out, self.fingerprint, {**self.record(result), "duplicates": self.duplicates.as_record()}
        )
        write_title(self.out, self.title)
        if self.images is not None:
            record_twin_inputs(self.images, self.out)
        return result

    async def _make_item(self, session: ItemSession) -> T:
        validating = ValidatingSession(session, self.settings.retries)
        self.rejections[session.item.id] = validating.rejections
        return await self.make(validating)
