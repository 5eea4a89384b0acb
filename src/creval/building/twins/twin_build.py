"""Builds synthetic twins of images (`creval build twins`): a model captions each image, an editor draws the caption.

The editor sees the caption only, not the image. Output: `captions/` (texts), `made/` (what the editor drew), and
`images/real` and `images/synthetic` with the complete pairs, from which a benchmark can be built. `images/twins.json`
has the provenance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from creval.benchmarks import open_benchmark
from creval.benchmarks.twin_inputs import REAL, SYNTHETIC
from creval.building.duplicates import KEEP
from creval.building.image_files import copy_image, release_suffix, write_error_reason
from creval.building.twins.twin_captions import TwinCaptionBuilder
from creval.building.twins.twin_record import PAIR_FILE, read_pairs
from creval.calls.cost_estimate import CostEstimate
from creval.calls.retry import ProgressCallback
from creval.calls.settings import JudgeSettings
from creval.calls.text_generation import GenerationResult
from creval.core.edit_record import Edit, EditStatus
from creval.core.errors import CrevalError
from creval.core.files import write_json
from creval.core.images import ImageError, file_digest
from creval.editing.edit_run import EditRun, EditRunResult, StrategyOptions
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions
from creval.editors.editor_spec import open_editor
from creval.store.provenance import read_call_costs

IMAGE_FOLDER, _MADE_FOLDER = "images", "made"


@dataclass
class TwinResult:
    """Result of a build: captions, images made from them, number of complete pairs, and why images were left out."""

    captions: GenerationResult[str]
    made: EditRunResult | None = None
    pairs: int = 0
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def stopped(self) -> str:
        return self.captions.stopped or (self.made.stopped if self.made else "")

    @property
    def share_left_out(self) -> float:
        return len(self.left_out) / max(1, self.pairs + len(self.left_out))


class TwinBuild:
    """Build of synthetic twins. The constructor checks the settings; `run` resumes an interrupted build."""

    def __init__(
        self,
        images: Path,
        out: Path,
        writer: str,
        editor: str | Callable[..., Any],
        settings: JudgeSettings,
        editor_options: EditorOptions | None = None,
        *,
        duplicates: str = KEEP,
        dry_run: bool = False,
    ) -> None:
        self.out, self.settings = out, settings
        self._editor_spec, self._options = editor, editor_options or EditorOptions()
        self.editor = open_editor(editor, replace(self._options, key_optional=dry_run))
        if self.editor.needs_source:
            raise CrevalError(f"{self.editor.name} only edits images. Give an editor that makes images from text.")
        if settings.budget is not None and self.editor.price is None:
            raise CrevalError(
                f"`budget` needs the price of {self.editor.name}. Add `image_price` in US dollars per image."
            )
        self.captions = TwinCaptionBuilder(images, out, writer, settings, duplicates=duplicates, dry_run=dry_run)

    def estimate(self) -> list[CostEstimate]:
        """Return the estimated cost of the captions and of the images."""
        stored = {path.stem for path in (self.out / _MADE_FOLDER).glob("*.*")}
        wanted = self.captions.sources.keys()
        number = len(wanted - stored)
        price = self.editor.price
        made = CostEstimate(
            self.editor.name,
            calls=number,
            cached=len(wanted & stored),
            images=number,
            cost=None if price is None else price * number,
            seconds=self._edit_settings().estimate_seconds(number, self.editor.seconds_per_edit),
            pace=self.editor.seconds_per_edit,
            role="editor",
        )
        return [*self.captions.estimate(), made]

    def run(self, watch: ProgressCallback | None = None) -> TwinResult:
        """Write the missing captions, make the missing images, and save the complete pairs."""
        captions = self.captions.run(watch)
        result = TwinResult(captions, left_out=dict(captions.left_out))
        texts = self.captions.captions()
        if texts and not captions.stopped:
            result.made = self._make_images(texts, watch)
            self._save_pairs(result, texts)
        return result

    def _edit_settings(self) -> EditSettings:
        budget = self.settings.budget
        if budget is not None:
            with suppress(CrevalError):
                budget = max(0.0, budget - (read_call_costs(self.captions.out).cost or 0.0))
        return EditSettings(
            concurrency=self._options.concurrency,
            requests_per_minute=self.settings.requests_per_minute,
            budget=budget,
            seed=self.settings.seed,
        )

    def _make_images(self, texts: Mapping[str, str], watch: ProgressCallback | None) -> EditRunResult:
        benchmark = open_benchmark(self.captions.out)
        run = EditRun(
            benchmark,
            [sample for sample in benchmark.dataset.samples if sample.id in texts],
            self._editor_spec,
            self.out / _MADE_FOLDER,
            StrategyOptions(),
            self._options,
            self._edit_settings(),
        )
        return run.run(None if watch is None else lambda _, progress: watch(progress))

    def _save_pairs(self, result: TwinResult, texts: Mapping[str, str]) -> None:
        edits = {edit.key.sample: edit for edit in result.made.strategy_result.edits.values()} if result.made else {}
        folder = self.out / IMAGE_FOLDER
        pairs = read_pairs(folder)
        for name, caption in texts.items():
            edit, source = edits.get(name), self.captions.sources[name].path
            if edit is None or edit.status is not EditStatus.DONE or edit.image is None:
                result.left_out[name] = f"no image: {edit.reason or edit.status}" if edit else "no image was made"
                continue
            try:
                pairs[name] = self._save_pair(folder, name, caption, source, edit)
            except (ImageError, OSError) as error:
                result.left_out[name] = f"its images cannot be written: {write_error_reason(error)}"
        result.pairs = len(texts.keys() & pairs.keys())
        write_json(folder / PAIR_FILE, {"pairs": dict(sorted(pairs.items()))})

    def _save_pair(self, folder: Path, name: str, caption: str, source: Path, edit: Edit) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind, path in ((REAL, source), (SYNTHETIC, edit.image)):
            if path is None:
                continue
            target = folder / kind / f"{name}{release_suffix(path)}"
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_image(path, target)
            found[kind] = {"file": f"{kind}/{target.name}", "digest": file_digest(target)}
        by = self.captions.generator.judges["writer"].model
        prompts = [str(version) for version in self.captions.fingerprint["prompts"]]
        made = {"writer": by, "prompts": prompts, "editor": self.editor.name, "seed": self.settings.seed}
        return {**found, "caption": caption, "made": made}
