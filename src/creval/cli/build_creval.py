"""`creval build creval`: instructions and questions for one's own pictures."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import build_common, console

if TYPE_CHECKING:
    from creval.building.creval.builder import BuildResult
    from creval.reporting.output import CommandOutput


@build_common.build_command
def creval(
    images: build_common.Images,
    out: build_common.Out,
    writer: Annotated[str, typer.Option(metavar="SPEC", help="Who writes instructions: openai:gpt-4o ...")],
    asker: Annotated[str, typer.Option(metavar="SPEC", help="Who writes questions; better not the writer.")] = "",
    checker: Annotated[
        str, typer.Option(metavar="SPEC", help="Who answers on the source alone; else the writer.")
    ] = "",
    dimension: Annotated[
        str, typer.Option(metavar="NAME|balanced|fitting", help="fitting: the writer chooses.")
    ] = "balanced",
    instructions: Annotated[str | None, typer.Option(metavar="FILE", help="Your own, CSV or JSON, by picture.")] = None,
    rewrite: Annotated[bool, typer.Option("--rewrite", help="Add checkable attributes to your own.")] = False,
    no_blind: Annotated[bool, typer.Option("--no-blind", help="Do not check questions on the source alone.")] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of the writer, 1 if not given; others have 0.")
    ] = None,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Write instructions and questions for your pictures; go on where it stopped."""
    from creval.building.build_manifest import BUILD_RECORD
    from creval.building.creval.builder import CrevalBuilder, CrevalBuildOptions
    from creval.building.creval.review import CrevalReview

    settings = common.settings(out)
    wish = CrevalBuildOptions(dimension, Path(instructions) if instructions else None, rewrite, not no_blind)
    roles = {"writer": writer, "asker": asker or writer, "checker": checker or writer}
    work = CrevalBuilder(
        Path(images), Path(out), roles, wish, settings, temperature=temperature, dry_run=common.dry_run
    )
    built = build_common.run_build(work, common)
    if built is None:
        return
    console.print_output(_build_output(built), common.json)
    _print_notes(built)
    build_common.print_summary(built, f"{quote(out)}/{BUILD_RECORD}")
    build_common.finish_build(built, common, out, bool(built.samples), CrevalReview)


def _build_output(result: BuildResult) -> CommandOutput:
    from creval.benchmarks.creval.release import METRICS
    from creval.reporting.output import CommandOutput, OutputTable

    counts = [f"{result.questions[metric]:,}" for metric in METRICS]
    row = [f"{result.images:,}", f"{result.samples:,}", f"{len(result.left_out):,}", *counts]
    row += [f"{sum(result.rejected.values()):,}", f"{result.flagged:,}"]
    heads = ["pictures", "samples", "left out", *METRICS, "rejected", "flagged"]
    data = {
        "pictures": result.images,
        "samples": result.samples,
        "questions": {metric: result.questions[metric] for metric in METRICS},
        "rejected": dict(sorted(result.rejected.items())),
        "flagged": result.flagged,
        "unchecked": result.unchecked,
        "left_alone": result.user_edited,
        **build_common.build_facts(result),
    }
    return CommandOutput((), [OutputTable(heads, [row], text_columns=0)], data)


def _print_notes(result: BuildResult) -> None:
    """What was rejected, flagged or left alone, on standard error."""
    from creval.building.build_manifest import BUILD_RECORD
    from creval.core.formatting import escape_control, pluralise

    if result.rejected:
        rules = ", ".join(f"{rule} {n}" for rule, n in result.rejected.most_common(build_common.MAX_REASONS))
        console.print_note(f"what was rejected, by rule: {rules}; each with its reason in {BUILD_RECORD}")
    if result.flagged:
        console.print_note(
            f'{pluralise(result.flagged, "question")} kept although flagged, because too few were left: look for "flag"'
        )
    if result.unchecked:
        console.print_note(
            f"{pluralise(result.unchecked, 'question')} without a second opinion, because the checker "
            'did not answer: look for "on_source": "unanswered"'
        )
    for name in result.user_edited[: build_common.MAX_REASONS]:
        console.print_note(escape_control(f"not written over, because somebody changed it: {name}"))
    if len(result.user_edited) > build_common.MAX_REASONS:
        console.print_note(f"... and {len(result.user_edited) - build_common.MAX_REASONS} more")
