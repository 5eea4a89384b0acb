"""`creval build complex-edit`: instructions of complexity C1 to CN for the user's images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import build_common

if TYPE_CHECKING:
    from creval.calls.text_generation import GenerationResult
    from creval.core.benchmark import Benchmark
    from creval.reporting.output import CommandOutput

PLOT = "operations.svg"


@build_common.build_command
def complex_edit(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer,
    steps: Annotated[int, typer.Option(min=1, max=20, help="Atomic edits per image: C1 to CN.")] = 8,
    temperature: Annotated[
        float, typer.Option(min=0, help="Temperature for writing the atomic edits; all other texts use 0.")
    ] = 1.15,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Write chains of atomic edits and compound instructions. Resumes an interrupted build."""
    from creval.benchmarks.complex_edit.protocol import ComplexEdit
    from creval.benchmarks.complex_edit.release import load_complex_edit_dataset
    from creval.benchmarks.complex_edit.rows import has_row_files
    from creval.building.complex_edit.builder import ComplexEditBuilder
    from creval.building.complex_edit.review import ComplexEditReview
    from creval.core.benchmark import Benchmark
    from creval.reporting.plots import operation_counts, save_figure

    settings = common.settings(out)
    folder = Path(out)
    work = ComplexEditBuilder(
        Path(images),
        folder,
        writer,
        settings,
        steps=steps,
        temperature=temperature,
        duplicates=common.duplicates,
        dry_run=common.dry_run,
    )

    def describe(result: GenerationResult[dict[str, Any]]) -> build_common.BuildOutput:
        facts = {"made": len(result.results)}
        if not has_row_files(folder):
            return build_common.BuildOutput(False, None, facts)
        found, counts = _count_operations(Benchmark(load_complex_edit_dataset(folder), ComplexEdit()))
        save_figure(operation_counts(counts), folder / PLOT)
        return build_common.BuildOutput(True, found, facts, [f"Drawn: {folder / PLOT}"])

    build_common.run_build(work, common, ComplexEditReview, describe)


def _count_operations(benchmark: Benchmark) -> tuple[CommandOutput, Mapping[str, Mapping[str, int]]]:
    from creval.analysis.benchmark_contents import BenchmarkContents
    from creval.reporting.commands.build_output import operations_output

    counts = BenchmarkContents(benchmark).operations
    return operations_output(counts, len({sample.source for sample in benchmark.dataset.samples})), counts
