"""`creval build captions`: captions of sources and ideal edits for a benchmark."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from creval.cli import build_common, options

if TYPE_CHECKING:
    from creval.calls.text_generation import GenerationResult


@partial(build_common.build_command, without=("name", "duplicates", "review", "resume"))
def captions(bench: options.Benchmark, writer: build_common.Writer, *, common: build_common.BuildFlags) -> None:
    """Write captions of sources and ideal edits, for directional CLIP scores. Resumes an interrupted build."""
    from creval.building.captions.builder import CaptionBuilder

    work = CaptionBuilder(Path(bench), writer, common.settings(bench), dry_run=common.dry_run)

    def describe(result: GenerationResult[dict[str, str]]) -> build_common.BuildOutput:
        judge = f"creval judge {quote(bench)} --edits outputs/MODEL --protocol clip --run RUN"
        notes = [f"Now: {judge}"] if result.results else []
        return build_common.BuildOutput(False, None, {"made": len(result.results)}, notes)

    build_common.run_build(work, common, None, describe)
