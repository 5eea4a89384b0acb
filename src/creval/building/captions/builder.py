"""Builder of captions for the samples of a benchmark (`creval build captions`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from creval.benchmarks import open_benchmark
from creval.benchmarks.stored_captions import (
    CAPTION_FILE,
    CAPTION_FOLDER,
    captions_of,
    instruction_digest,
    read_caption_rows,
)
from creval.building.base import Builder
from creval.building.captions.caption_texts import (
    CAPTION_TOKENS,
    SOURCE_STAGE,
    SOURCE_WORDS,
    TARGET_WORDS,
    load_caption_prompts,
    write_source_caption,
    write_target_caption,
)
from creval.building.image_files import sample_names
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import GenerationItem, GenerationResult, StageEstimate
from creval.calls.validated_text import ValidatingSession
from creval.core.errors import CrevalError
from creval.core.files import atomic_write, replace_lone_surrogates
from creval.core.sample import Sample


class CaptionBuilder(Builder[dict[str, str]]):
    """Builder of the captions that a benchmark's samples lack.

    A source that several samples share is described once.
    """

    benchmark = "captions"
    unit = "sample"

    def __init__(self, bench: Path, writer: str, settings: ChatSettings, *, dry_run: bool = False) -> None:
        dataset = open_benchmark(bench).dataset
        self._prompts = load_caption_prompts(settings.prompts)
        super().__init__(
            dataset.root / CAPTION_FOLDER,
            {"writer": writer},
            settings,
            self._prompts.values(),
            temperature=0.0,
            shared_stages={SOURCE_STAGE},
            dry_run=dry_run,
        )
        self._rows = read_caption_rows(self.out)
        self._samples = {sample.id: sample for sample in dataset.samples}
        usable = {name: one for name, one in self._samples.items() if one.source is not None and one.instruction}
        given = {name for name, one in usable.items() if one.has_captions and not self._is_stored(one)}
        chosen = sample_names([name for name in usable if name not in given], settings.limit, settings.seed)
        if not chosen:
            why = "all samples have captions of their own" if given else "no sample has a source and an instruction"
            raise CrevalError(f"{bench} needs no captions: {why}.")
        self.items = [GenerationItem(n, usable[n].source) for n in chosen if not self._is_stored(usable[n])]
        self.already_done = len(chosen) - len(self.items)

    def _is_stored(self, sample: Sample) -> bool:
        return bool(captions_of(self._rows.get(sample.id, {}), sample))

    def stages(self) -> list[StageEstimate]:
        images = {item.image for item in self.items}
        share = len(images) / max(1, len(self.items))
        return [
            StageEstimate("writer", share, SOURCE_WORDS, CAPTION_TOKENS),
            StageEstimate("writer", 1.0, TARGET_WORDS, CAPTION_TOKENS),
        ]

    async def make(self, session: ValidatingSession) -> dict[str, str]:
        source = await write_source_caption(session, self._prompts)
        instruction = self._samples[session.session.item.id].instruction
        return {"source": source, "target": await write_target_caption(session, self._prompts, source, instruction)}

    def save(self, result: GenerationResult[dict[str, str]]) -> None:
        """Add the new captions to the file. Captions that people have edited stay if the instruction is unchanged."""
        made = {
            "by": self.generator.judges["writer"].model,
            "prompts": [prompt.version for prompt in self._prompts.values()],
        }
        rows: dict[str, Mapping[str, Any]] = dict(read_caption_rows(self.out))
        for name, captions in result.results.items():
            digest = instruction_digest(self._samples[name])
            rows[name] = {"id": name, **captions, "instruction": digest, "made": made}
        order = {name: at for at, name in enumerate(self._samples)}
        ordered = sorted(rows.items(), key=lambda row: (order.get(row[0], len(order)), row[0]))
        lines = (json.dumps(row, ensure_ascii=False) for _, row in ordered)
        if rows:
            atomic_write(self.out / CAPTION_FILE, "".join(f"{replace_lone_surrogates(line)}\n" for line in lines))
