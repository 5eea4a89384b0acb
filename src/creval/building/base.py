"""The base of all builders: items in, texts from models, a benchmark out, all replies kept."""

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
from creval.calls.cost_estimate import CostEstimate
from creval.calls.retry import ProgressCallback
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, GenerationResult, ItemSession, StageEstimate, TextGenerator
from creval.calls.validated_text import ValidatingSession
from creval.core.formatting import pluralise
from creval.prompts import Prompt

T = TypeVar("T")


class Builder(ABC, Generic[T]):
    """Benchmark to be made, or continued.

    A subclass finds its items when it is opened, tells what each takes (`stages`), makes one (`make`) and saves what
    was made (`save`). `title` is the benchmark's name, if it is to have one. `unusable` are inputs known to become no
    item, with the reasons; items of `changed_ids` are paid for although texts of that name are stored.
    """

    benchmark: ClassVar[str]
    unit: ClassVar[str] = "picture"

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

    def _make_fingerprint(self, prompts: Iterable[Prompt], details: Mapping[str, Any]) -> BuildFingerprint:
        """Return what texts depend on and has to stay the same in a folder."""
        return build_fingerprint(self.benchmark, self.generator, prompts, **details)

    @abstractmethod
    def stages(self) -> Sequence[StageEstimate]:
        """Return what an item takes on average."""

    @abstractmethod
    async def make(self, session: ValidatingSession) -> T:
        """Make one item."""

    def prepare(self) -> Mapping[str, Any]:
        """Check what is needed before the first call; return what else the manifest keeps."""
        return {}

    def save(self, result: GenerationResult[T]) -> None:
        """Save what was made; what cannot be saved is moved to `left_out`."""

    def record(self, result: GenerationResult[T]) -> Mapping[str, Any]:
        """Return what the record keeps besides the fingerprint: what the last start left out and why, and what was
        rejected of that. Rejections of other items are saved with them."""
        left_out = dict(sorted(result.left_out.items()))
        rejected = {name: self.rejections[name] for name in left_out if self.rejections.get(name)}
        return {"left_out": left_out, "rejected": rejected}

    def pending_items(self) -> Sequence[GenerationItem]:
        """Return the items that calls have to be made for."""
        return self.items

    @property
    def item_count(self) -> int:
        return len(self.items)

    def warnings(self) -> list[str]:
        """Return what is to be known before the first call."""
        if not self.already_done:
            return []
        stay = "stays as it is" if self.already_done == 1 else "stay as they are"
        return [f"{pluralise(self.already_done, self.unit)} done before {stay}."]

    def estimate(self) -> list[CostEstimate]:
        """Estimate what each model will take, besides the texts that are stored already."""
        return self.generator.estimate(self.pending_items(), self.stages(), self.changed_ids)

    def run(self, watch: ProgressCallback | None = None) -> GenerationResult[T]:
        """Make what is not made yet, and save it."""
        check_title(self.title)
        save_build_manifest(self.generator, self.fingerprint, self.prepare())
        calls = sum(stage.calls for stage in self.stages())
        result = self.generator.run(self.items, self._make_item, calls=calls, watch=watch)
        result.already_done = self.already_done
        result.left_out |= self.unusable or {}
        self.save(result)
        write_build_record(self.out, self.fingerprint, self.record(result))
        write_title(self.out, self.title)
        return result

    async def _make_item(self, session: ItemSession) -> T:
        validating = ValidatingSession(session, self.settings.retries)
        self.rejections[session.item.id] = validating.rejections
        return await self.make(validating)
