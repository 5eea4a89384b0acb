"""`creval build complex-edit` as a whole: pictures in, rows out, everything kept on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from creval.building.build_manifest import (
    build_fingerprint,
    require_same_build,
    save_build_manifest,
    write_build_record,
)
from creval.building.complex_edit.files import ComplexEditRows
from creval.building.complex_edit.pipeline import (
    ROLES,
    estimate_complex_edit_stages,
    load_complex_edit_prompts,
    write_chain,
)
from creval.building.image_files import list_image_names, sample_names
from creval.calls.cost_estimate import CostEstimate
from creval.calls.event_loop import ProgressCallback
from creval.calls.settings import Settings
from creval.calls.text_generation import GenerationItem, GenerationResult, ItemSession, TextGenerator
from creval.calls.validated_text import ValidatingSession


class ComplexEditBuilder:
    """Rows to be made, or gone on with."""

    unit = "picture"

    def __init__(
        self,
        images: Path,
        out: Path,
        writer: str,
        settings: Settings,
        *,
        steps: int = 8,
        temperature: float = 1.15,
        dry_run: bool = False,
    ) -> None:
        self.settings, self.steps = settings, steps
        self._prompts = load_complex_edit_prompts(settings.prompts)
        self.generator: TextGenerator[dict[str, Any]] = TextGenerator(
            out, dict.fromkeys(ROLES, writer), settings, temperatures={"writer": temperature}, dry_run=dry_run
        )
        self._fingerprint = build_fingerprint(
            "complex-edit", self.generator, self._prompts, steps=steps, temperature=temperature
        )
        require_same_build(self.generator, self._fingerprint)
        names = list_image_names(images, out)
        self._rows = ComplexEditRows(out)
        self._numbers = self._rows.assign_numbers(names)
        chosen = sample_names(names, settings.limit, settings.seed)
        self.items = [GenerationItem(name, images / name) for name in chosen if name not in self._rows]
        self._already_done = len(chosen) - len(self.items)

    @property
    def item_count(self) -> int:
        return len(self.items)

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked."""
        if not self._already_done:
            return []
        images = "1 picture" if self._already_done == 1 else f"{self._already_done:,} pictures"
        return [f"{images} done before stay as they are."]

    def estimate(self) -> list[CostEstimate]:
        """What the model will take in each role."""
        return self.generator.estimate(self.items, estimate_complex_edit_stages(self.steps))

    def run(self, watch: ProgressCallback | None = None) -> GenerationResult[dict[str, Any]]:
        """Make what is not made yet; each row is written when it is made."""
        save_build_manifest(self.generator, self._fingerprint)
        made_by = {
            "writer": self.generator.judges["writer"].model,
            "prompts": [prompt.version for prompt in self._prompts],
            "temperature": self._fingerprint["temperature"],
        }

        rejected: dict[str, list[str]] = {}

        async def make(desk: ItemSession) -> dict[str, Any]:
            scribe, name = ValidatingSession(desk, self.settings.retries), desk.item.id
            rejected[name] = scribe.rejections
            edit = await write_chain(scribe, self._prompts, self.steps)
            made = {**made_by, "rejected": scribe.rejections}
            self._rows.write(desk.item, self._numbers[name], edit, made)
            return edit

        calls = sum(stage.calls for stage in estimate_complex_edit_stages(self.steps))
        wrote = self.generator.run(self.items, make, calls=calls, watch=watch)
        wrote.already_done = self._already_done
        write_build_record(self.generator.folder, self._fingerprint, wrote.left_out, rejected)
        return wrote
