"""`creval build creval`: instructions and questions for one's own pictures."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import build_common, console

if TYPE_CHECKING:
    from creval.building.creval.builder import Built
    from creval.report.output import Findings


@build_common.command
def creval(
    images: build_common.Images,
    out: build_common.Out,
    writer: Annotated[
        str, typer.Option(metavar="SPEC", help="Who writes instructions: openai:gpt-4o ...")
    ],
    asker: Annotated[
        str, typer.Option(metavar="SPEC", help="Who writes questions; better not the writer.")
    ] = "",
    checker: Annotated[
        str, typer.Option(metavar="SPEC", help="Who answers on the source alone; else the writer.")
    ] = "",
    dimension: Annotated[
        str, typer.Option(metavar="NAME|balanced|fitting", help="fitting: the writer chooses.")
    ] = "balanced",
    instructions: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own, CSV or JSON, by picture.")
    ] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Add checkable attributes to your own.")
    ] = False,
    no_blind: Annotated[
        bool, typer.Option("--no-blind", help="Do not check questions on the source alone.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of the writer, 1 if not given; others have 0.")
    ] = None,
    *,
    common: build_common.Common,
) -> None:
    """Write instructions and questions for your pictures; go on where it stopped."""
    from creval.building.creval.builder import CrevalBuilding, Wish
    from creval.building.creval.review import CrevalReview
    from creval.building.manifest import RECORD

    settings = common.settings(out)
    wish = Wish(dimension, Path(instructions) if instructions else None, rewrite, not no_blind)
    roles = {"writer": writer, "asker": asker or writer, "checker": checker or writer}
    work = CrevalBuilding(
        Path(images), Path(out), roles, wish, settings, temperature=temperature, dry=common.dry_run
    )
    built = build_common.carry_out(work, common)
    if built is None:
        return
    console.show(_findings(built), common.json)
    _note(built)
    build_common.tell(built, f"{quote(out)}/{RECORD}")
    build_common.end(built, common, out, bool(built.samples), CrevalReview)


def _findings(built: Built) -> Findings:
    from creval.benchmarks.creval.release import METRICS
    from creval.report.output import Findings, Grid

    counts = [f"{built.questions[metric]:,}" for metric in METRICS]
    row = [f"{built.pictures:,}", f"{built.samples:,}", f"{len(built.left_out):,}", *counts]
    row += [f"{sum(built.rejected.values()):,}", f"{built.flagged:,}"]
    heads = ["pictures", "samples", "left out", *METRICS, "rejected", "flagged"]
    data = {
        "pictures": built.pictures,
        "samples": built.samples,
        "questions": {metric: built.questions[metric] for metric in METRICS},
        "rejected": dict(sorted(built.rejected.items())),
        "flagged": built.flagged,
        "unchecked": built.unchecked,
        "left_alone": built.alone,
        **build_common.facts_of(built),
    }
    return Findings((), [Grid(heads, [row], left=0)], data)


def _note(built: Built) -> None:
    """What was rejected, flagged or left alone, on standard error."""
    from creval.building.manifest import RECORD
    from creval.core.formatting import many, visible

    if built.rejected:
        rules = ", ".join(
            f"{rule} {n}" for rule, n in built.rejected.most_common(build_common.SHOWN)
        )
        console.note(f"what was rejected, by rule: {rules}; each with its reason in {RECORD}")
    if built.flagged:
        console.note(
            f"{many(built.flagged, 'question')} kept although flagged, because too few were left: "
            'look for "flag"'
        )
    if built.unchecked:
        console.note(
            f"{many(built.unchecked, 'question')} without a second opinion, because the checker "
            'did not answer: look for "on_source": "unanswered"'
        )
    for name in built.alone[: build_common.SHOWN]:
        console.note(visible(f"not written over, because somebody changed it: {name}"))
    if len(built.alone) > build_common.SHOWN:
        console.note(f"... and {len(built.alone) - build_common.SHOWN} more")
