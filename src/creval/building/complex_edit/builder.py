"""`creval build complex-edit` as a whole: pictures in, rows out, everything kept on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from creval.building.complex_edit.files import Rows
from creval.building.complex_edit.pipeline import ROLES, load_texts, stages, write_chain
from creval.building.images import picture_names, some
from creval.building.manifest import check_folder, fixed_by, keep_manifest, write_record
from creval.calls.estimate import Estimate
from creval.calls.event_loop import Watch
from creval.calls.settings import Settings
from creval.calls.text_generation import Desk, Item, Writing, Wrote
from creval.calls.validated_text import Scribe


class ComplexEditBuilding:
    """Rows to be made, or gone on with."""

    what = "picture"

    def __init__(
        self,
        images: Path,
        out: Path,
        writer: str,
        settings: Settings,
        *,
        steps: int = 8,
        temperature: float = 1.15,
        dry: bool = False,
    ) -> None:
        self.settings, self.steps = settings, steps
        self._texts = load_texts(settings.prompts)
        self.writing: Writing[dict[str, Any]] = Writing(
            out, dict.fromkeys(ROLES, writer), settings, warm={"writer": temperature}, dry=dry
        )
        self._fixed = fixed_by(
            "complex-edit", self.writing, self._texts, steps=steps, temperature=temperature
        )
        check_folder(self.writing, self._fixed)
        names = picture_names(images, out)
        self._rows = Rows(out)
        self._numbers = self._rows.numbered(names)
        chosen = some(names, settings.limit, settings.seed)
        self.items = [Item(name, images / name) for name in chosen if name not in self._rows]
        self._before = len(chosen) - len(self.items)

    @property
    def number(self) -> int:
        return len(self.items)

    def warnings(self) -> list[str]:
        """What is to be known before anything is asked."""
        if not self._before:
            return []
        pictures = "1 picture" if self._before == 1 else f"{self._before:,} pictures"
        return [f"{pictures} done before stay as they are."]

    def estimate(self) -> list[Estimate]:
        """What the model will take in each role."""
        return self.writing.estimate(self.items, stages(self.steps))

    def run(self, watch: Watch | None = None) -> Wrote[dict[str, Any]]:
        """Make what is not made yet; each row is written when it is made."""
        keep_manifest(self.writing, self._fixed)
        made_by = {
            "writer": self.writing.judges["writer"].model,
            "prompts": [prompt.version for prompt in self._texts],
            "temperature": self._fixed["temperature"],
        }

        rejected: dict[str, list[str]] = {}

        async def make(desk: Desk) -> dict[str, Any]:
            scribe, name = Scribe(desk, self.settings.retries), desk.item.id
            rejected[name] = scribe.rejected
            edit = await write_chain(scribe, self._texts, self.steps)
            made = {**made_by, "rejected": scribe.rejected}
            self._rows.write(desk.item, self._numbers[name], edit, made)
            return edit

        calls = sum(stage.calls for stage in stages(self.steps))
        wrote = self.writing.run(self.items, make, calls=calls, watch=watch)
        wrote.before = self._before
        write_record(self.writing.folder, self._fixed, wrote.left_out, rejected)
        return wrote
