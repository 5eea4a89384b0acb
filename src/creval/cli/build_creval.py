"""`creval build creval`: instructions and questions for the user's images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import build_common, options

if TYPE_CHECKING:
    from creval.building.creval.builder import CrevalBuilder
    from creval.building.creval.pipeline import QuestionCounts, SampleDraft
    from creval.calls.text_generation import GenerationResult
    from creval.reporting.output import CommandOutput


@build_common.build_command
def creval(
    images: build_common.Images,
    out: build_common.Out,
    writer: Annotated[str, options.spec("judges", "Model that writes instructions: openai:gpt-4o ...")],
    asker: Annotated[str, options.spec("judges", "Model that writes questions; preferably not the writer.")] = "",
    checker: Annotated[
        str, options.spec("judges", "Model that answers on the source alone; by default the writer.")
    ] = "",
    dimension: Annotated[
        str,
        typer.Option(
            metavar="NAME|balanced|fitting",
            help="Dimension of the samples. balanced: all equally often; fitting: the writer chooses.",
        ),
    ] = "balanced",
    instructions: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own instructions by image: CSV, JSON or JSONL.")
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(metavar="FILE|DIR", help="Your own examples by dimension: CSV, JSON, JSONL, text files."),
    ] = None,
    rewrite: Annotated[bool, typer.Option("--rewrite", help="Add checkable attributes to your instructions.")] = False,
    no_blind: Annotated[
        bool, typer.Option("--no-blind", help="Skip the check of questions on the source image alone.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Temperature of the writer, by default 1; the other models use 0.")
    ] = None,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Write instructions and questions for your images. Resumes an interrupted build."""
    from creval.building.creval.builder import CrevalBuilder, CrevalBuildOptions
    from creval.building.creval.pipeline import count_questions
    from creval.building.creval.review import CrevalReview

    settings = common.settings(out)
    wish = CrevalBuildOptions(
        dimension,
        Path(instructions) if instructions else None,
        rewrite,
        not no_blind,
        Path(examples) if examples else None,
    )
    roles = {"writer": writer, "asker": asker or writer, "checker": checker or writer}
    work = CrevalBuilder(
        Path(images),
        Path(out),
        roles,
        wish,
        settings,
        temperature=temperature,
        duplicates=common.duplicates,
        dry_run=common.dry_run,
    )

    def describe(result: GenerationResult[SampleDraft]) -> build_common.BuildOutput:
        counts = count_questions(result.results.values())
        rejected = Counter(one["rule"] for all_ in work.rejected.values() for one in all_)
        table = _samples_table(result, work, counts, rejected)
        notes = _list_notes(work, counts, rejected)
        return build_common.BuildOutput(bool(result.results), table, notes=notes)

    build_common.run_build(work, common, CrevalReview, describe)


def _samples_table(
    result: GenerationResult[SampleDraft], builder: CrevalBuilder, counts: QuestionCounts, rejected: Counter[str]
) -> CommandOutput:
    from creval.benchmarks.creval.release import METRICS
    from creval.reporting.output import CommandOutput, OutputTable

    made = [builder.item_count, len(result.results), len(result.left_out)]
    made += [counts.by_metric[metric] for metric in METRICS]
    made += [sum(rejected.values()), counts.flagged]
    heads = ["images", "samples", "left out", *METRICS, "rejected", "flagged"]
    data = {
        "pictures": builder.item_count,
        "samples": len(result.results),
        "questions": {metric: counts.by_metric[metric] for metric in METRICS},
        "rejected": dict(sorted(rejected.items())),
        "flagged": counts.flagged,
        "unchecked": counts.unchecked,
        "left_alone": builder.user_edited,
    }
    return CommandOutput((), [OutputTable(heads, [[f"{number:,}" for number in made]], text_columns=0)], data)


def _list_notes(builder: CrevalBuilder, counts: QuestionCounts, rejected: Counter[str]) -> list[str]:
    """Return notes on rejected, flagged and unchecked questions, and on files that were not overwritten."""
    from creval.building.build_manifest import BUILD_RECORD
    from creval.core.formatting import escape_control, pluralise

    notes, most = [], build_common.MAX_REASONS
    if rejected:
        rules = ", ".join(f"{rule} {n}" for rule, n in rejected.most_common(most))
        notes.append(f"rejected, by rule: {rules}; the reasons are in {BUILD_RECORD}")
    if counts.flagged:
        questions = pluralise(counts.flagged, "question")
        notes.append(f'{questions} kept although flagged, because too few were left: look for "flag"')
    if counts.unchecked:
        questions = pluralise(counts.unchecked, "question")
        notes.append(f'{questions} not checked, because the checker did not answer: look for "on_source": "unanswered"')
    edited = builder.user_edited
    notes += [escape_control(f"not overwritten, because it was changed by hand: {name}") for name in edited[:most]]
    if len(edited) > most:
        notes.append(f"... and {len(edited) - most} more")
    return notes
