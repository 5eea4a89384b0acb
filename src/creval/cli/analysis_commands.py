"""Commands that analyse a run: comparisons, agreement, reliability."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, estimate_output, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.analysis.scoring_options import ScoringOptions
    from creval.api.inputs import RunLike


def compare(
    runs: options.Sources,
    first: Annotated[str, typer.Argument(metavar="A", help="A model of the run.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another model of the run.")],
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = None,
    top: Annotated[int, typer.Option(min=0, help="Number of samples to show.")] = 5,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="IF,VC", help="Compare in these metrics instead of the one that ranks the models."),
    ] = None,
    lower: options.Lower = None,
    label: options.Label = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Compare two models on the samples that both have: how much they differ, and where."""
    from creval.api import analyses
    from creval.api.side_by_side import compare_sources

    run = options.single_run(runs, metrics)
    if run is None:
        options.refuse_for_several(label=label)
        scoring = options.scoring(strict, subset, weights, None, missing, False, resamples, seed)
        columns, worse = options.parse_names(metrics, "--metrics"), options.parse_names(lower, "--lower")
        differences = compare_sources(runs, (first, second), metrics=columns or (), lower=worse or (), **scoring)
        console.print_output(differences.output, json)
        return
    if lower is not None:
        raise CrevalError("--lower is for score files.")

    found = analyses.compare(
        options.open_for_output(run, label, json),
        first,
        second,
        strict=strict,
        subset=subset,
        weights=weights,
        missing=missing,
        top=top,
        resamples=resamples,
        seed=seed,
    )
    console.print_output(found.output, json)


def agree(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="One run, or several runs of the same benchmark.")
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Human ratings (CSV or JSONL): measure the agreement of these people instead."
        ),
    ] = None,
    scale: options.Scale = None,
    by: Annotated[str | None, typer.Option(metavar="LEVEL", help="Also by group: category, dimension ...")] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            metavar="nominal|ordinal|interval",
            help="Distance of Krippendorff's alpha; by default as the answers' scale requires.",
        ),
    ] = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Measure the agreement of judges and repeats, or of people."""
    from creval.api import analyses

    found = analyses.agree(
        runs or (), human=human, scale=scale, by=by, distance=distance, resamples=resamples, seed=seed
    )
    console.print_output(found.output, json)


def items(
    run: options.RunFolder,
    subset: options.Subset = None,
    top: Annotated[int, typer.Option(min=0, help="Number of questions to list.")] = 20,
    label: options.Label = None,
    json: options.Json = False,
) -> None:
    """Show the difficulty and discrimination of questions, and which questions to review."""
    from creval.api import analyses

    opened = options.open_for_output(run, label, json)
    console.print_output(analyses.items(opened, subset=subset, top=top).output, json)


def sensitivity(
    run: options.RunFolder,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = None,
    common_samples: options.CommonSamples = False,
    human: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Human ratings (CSV or JSONL): also find the weights that agree best with them."
        ),
    ] = None,
    scale: options.Scale = None,
    label: options.Label = None,
    json: options.Json = False,
) -> None:
    """Show which model is best under other weights of the metrics, and how stable the ranking is."""
    from creval.api import analyses

    scoring: ScoringOptions = {"strict": strict, "subset": subset, "weights": weights, "missing": missing}
    scoring["common_samples"] = common_samples
    found = analyses.sensitivity(options.open_for_output(run, label, json), human=human, scale=scale, **scoring)
    console.print_output(found.output, json)


def repeats(
    run: options.RunFolder,
    error: Annotated[
        float | None, typer.Option(min=0.0, help="Find the number of repeats with which scores vary by at most this.")
    ] = None,
    label: options.Label = None,
    json: options.Json = False,
    seed: options.Seed = 0,
) -> None:
    """Show how much scores vary between repeats, and how many repeats a given error needs."""
    from creval.api import analyses

    opened = options.open_for_output(run, label, json)
    console.print_output(analyses.repeats(opened, error=error, seed=seed).output, json)


def unchanged(
    run: options.RunFolder,
    subset: options.Subset = None,
    label: options.Label = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Show which models left sources unchanged, and how consistent the edits are that follow their instruction."""
    from creval.api import analyses

    opened = options.open_for_output(run, label, json)
    console.print_output(analyses.unchanged(opened, subset=subset, resamples=resamples, seed=seed).output, json)


def align(
    human: Annotated[str, typer.Option(metavar="FILE", help="Human ratings or choices: CSV or JSONL.")],
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...", help="Runs and score files. Without any, only the ratings are shown.", show_default=False
        ),
    ] = None,
    scores: Annotated[
        str | None, typer.Option(metavar="FILE", help="Scores of any metrics: CSV, JSONL or Parquet.")
    ] = None,
    scale: options.Scale = None,
    lower: options.Lower = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Compare scores of runs, or of any metric, with human ratings or choices."""
    from creval.api import analyses

    given = list(runs or ())
    sources: RunLike | list[str] = given
    if len(given) == 1 and scores is None and (run := options.single_run(given)) is not None:
        sources = options.open_for_output(run, (), json)

    found = analyses.align(
        sources,
        human=human,
        scores=scores,
        scale=scale,
        lower=options.parse_names(lower, "--lower"),
        subset=subset,
        strict=strict,
        weights=weights,
        resamples=resamples,
        seed=seed,
    )
    console.print_output(found.output, json)


def calibrate(
    judge: Annotated[str, options.spec("judges", "openai:gpt-4o, pixel ...")],
    out: Annotated[str, typer.Option(metavar="FILE", help="JSON file to write the error rates to.")],
    samples: Annotated[int, typer.Option(min=6, max=9999, help="Number of edits to judge.")] = 60,
    repeat: Annotated[int, typer.Option(min=1, help="Judge the unmodified edits K times.")] = 2,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants/--no-variants", help="Also test variants: images swapped or halved, questions reworded ..."
        ),
    ] = True,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Concurrent calls.")] = 32,
    price: options.Price = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawn images.")] = 0,
    json: options.Json = False,
    dry_run: options.DryRun = False,
) -> None:
    """Measure the error rates of a judge with questions whose answers are known."""
    from creval.api import runs
    from creval.calls.settings import JudgeSettings

    found = runs.calibrate(
        judge,
        out,
        samples=samples,
        repeat=repeat,
        variants=variants,
        settings=JudgeSettings(temperature=0.0, concurrency=concurrency, price=options.parse_token_price(price)),
        seed=seed,
        dry_run=dry_run,
        on_estimate=lambda expected: console.print_note(estimate_output.format_estimates(expected)),
    )
    if found is None:
        return
    console.print_output(found.output, json)
    page = Path(out).with_suffix(".html")
    console.print_note(f"wrote {out}, for creval score RUN --correct {out}, and the page {page}.")
