"""Captions of the images that get twins. They are stored as a benchmark without images, on which an editor can run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from creval.building.base import Builder
from creval.building.captions.caption_texts import (
    CAPTION_TOKENS,
    SOURCE_STAGE,
    SOURCE_WORDS,
    load_caption_prompts,
    write_source_caption,
)
from creval.building.creval.sources import SourceImage, find_source_images
from creval.building.duplicates import KEEP, check_duplicates
from creval.building.image_files import sample_names
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, GenerationResult, StageEstimate
from creval.calls.validated_text import ValidatingSession
from creval.core.files import atomic_write, clean_text, read_json_lines, replace_lone_surrogates

CAPTION_FOLDER = "captions"
_TABLE = "samples.jsonl"


class TwinCaptionBuilder(Builder[str]):
    """Builder of a caption for each image. Existing captions are kept, including those that people have edited."""

    benchmark = "twins"

    def __init__(
        self,
        images: Path,
        out: Path,
        writer: str,
        settings: ChatSettings,
        *,
        duplicates: str = KEEP,
        dry_run: bool = False,
    ) -> None:
        prompts = load_caption_prompts(settings.prompts)
        self._prompts = {SOURCE_STAGE: prompts[SOURCE_STAGE]}
        folder = out / CAPTION_FOLDER
        super().__init__(folder, {"writer": writer}, settings, self._prompts.values(), temperature=0.0, dry_run=dry_run)
        self._images, self._rows = images, self._read_rows()
        known = {clean_text(row.get("file")): name for name, row in self._rows.items()}
        found = {source.id: source for source in find_source_images(images, out, known)}
        self.duplicates = check_duplicates(
            {name: one.path for name, one in found.items()}, duplicates, self._rows, folder
        )
        names = [name for name in found if name not in self.duplicates.skipped]
        self.sources: Mapping[str, SourceImage] = {
            name: found[name] for name in sample_names(names, settings.limit, settings.seed)
        }
        self.items = [GenerationItem(name, one.path) for name, one in self.sources.items() if name not in self._rows]
        self.already_done = len(self.sources) - len(self.items)

    def _read_rows(self) -> dict[str, dict[str, Any]]:
        path = self.out / _TABLE
        return {clean_text(row.get("id")): row for _, row in read_json_lines(path)} if path.is_file() else {}

    def captions(self) -> dict[str, str]:
        """Return the captions of the images that have one, by id."""
        rows = self._read_rows()
        found = {name: clean_text(rows.get(name, {}).get("instruction")).strip() for name in self.sources}
        return {name: text for name, text in found.items() if text}

    def stages(self) -> list[StageEstimate]:
        return [StageEstimate("writer", 1.0, SOURCE_WORDS, CAPTION_TOKENS)]

    async def make(self, session: ValidatingSession) -> str:
        return await write_source_caption(session, self._prompts)

    def save(self, result: GenerationResult[str]) -> None:
        rows = self._read_rows()
        for name, caption in result.results.items():
            file = replace_lone_surrogates(self.sources[name].path.relative_to(self._images).as_posix())
            rows[name] = {"id": name, "instruction": caption, "file": file}
        lines = (json.dumps(row, ensure_ascii=False) for _, row in sorted(rows.items()))
        if rows:
            atomic_write(self.out / _TABLE, "".join(f"{replace_lone_surrogates(line)}\n" for line in lines))
