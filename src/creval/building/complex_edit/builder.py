"""Builder of Complex-Edit benchmarks (`creval build complex-edit`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from creval.building.base import Builder
from creval.building.complex_edit.files import ComplexEditRows
from creval.building.complex_edit.pipeline import (
    ROLES,
    estimate_complex_edit_stages,
    load_complex_edit_prompts,
    write_chain,
)
from creval.building.duplicates import KEEP, check_duplicates
from creval.building.image_files import list_image_names, sample_names
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, StageEstimate
from creval.calls.validated_text import ValidatingSession


class ComplexEditBuilder(Builder[dict[str, Any]]):
    """Builder of a new or resumed Complex-Edit benchmark."""

    benchmark = "complex-edit"

    def __init__(
        self,
        images: Path,
        out: Path,
        writer: str,
        settings: ChatSettings,
        *,
        steps: int = 8,
        temperature: float = 1.15,
        duplicates: str = KEEP,
        dry_run: bool = False,
    ) -> None:
        self.steps = steps
        self._prompts = load_complex_edit_prompts(settings.prompts)
        roles = dict.fromkeys(ROLES, writer)
        super().__init__(
            out, roles, settings, self._prompts.values(), temperature=temperature, dry_run=dry_run, steps=steps
        )
        names = list_image_names(images, out)
        self._rows = ComplexEditRows(out)
        self.images = images
        existing = {name for name in names if name in self._rows}
        self.duplicates = check_duplicates({name: images / name for name in names}, duplicates, existing, out)
        self._numbers = self._rows.assign_numbers(names)
        names = [name for name in names if name not in self.duplicates.skipped]
        chosen = sample_names(names, settings.limit, settings.seed)
        self.items = [GenerationItem(name, images / name) for name in chosen if name not in self._rows]
        self.already_done = len(chosen) - len(self.items)

    def stages(self) -> list[StageEstimate]:
        return estimate_complex_edit_stages(self.steps)

    async def make(self, session: ValidatingSession) -> dict[str, Any]:
        """Build the JSON row of an image and write it at once."""
        item = session.session.item
        edit = await write_chain(session, self._prompts, self.steps)
        provenance = {
            "writer": self.generator.judges["writer"].model,
            "prompts": [prompt.version for prompt in self._prompts.values()],
            "temperature": self.fingerprint["temperature"],
            "rejected": session.rejections,
        }
        self._rows.write(item, self._numbers[item.id], edit, provenance)
        return edit
