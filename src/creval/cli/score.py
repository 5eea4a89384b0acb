"""`creval score`: tables of scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.analysis.correction import CorrectedScores
    from creval.analysis.scoring_options import ScoringOptions
    from creval.reporting.tables import ModelGroups, SampleGroups
    from creval.stats.scorecard import Scorecard


def score(
    runs: options.Sources,
    by: Annotated[
        str | None,
        typer.Option(metavar="LEVEL|GROUP,...", help="Levels or groups: overall, category, dimension, sample ..."),
    ] = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    models: options.Models = None,
    missing: options.Missing = None,
    common_samples: options.CommonSamples = False,
    groups: options.Groups = None,
    wide: Annotated[bool, typer.Option("--wide", help="Show groups as columns, with one row per model.")] = False,
    average: Annotated[bool, typer.Option("--average", help="Add a row with the mean over the models.")] = False,
    correct: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Also show scores corrected for the judge's errors (file of creval calibrate)."
        ),
    ] = None,
    published: options.Published = False,
    label: options.Label = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one row per value.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")] = False,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact", help="With --latex: show intervals as ± half their width, and coverage only below 99.5 %."
        ),
    ] = False,
    values_only: Annotated[
        bool, typer.Option("--values-only", help="Leave intervals and coverage out of the tables.")
    ] = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="IF,VC", help="Compare these metrics with each other: ranks and correlations.")
    ] = None,
    lower: options.Lower = None,
    save: Annotated[
        bool, typer.Option("--save", help="Save --subset, --missing, --weights and --models as the run's defaults.")
    ] = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Score a run, each value with its 95 % interval and its coverage, or compare several runs."""
    from creval.api import analyses
    from creval.reporting import published_tables, tables
    from creval.reporting.commands.score_output import score_output, score_text
    from creval.reporting.latex import LatexCells
    from creval.reporting.table_formats import latex_from_table, markdown_from_table

    if json + csv + markdown + latex > 1:
        raise CrevalError("choose one of --json, --csv, --markdown and --latex.")
    run = options.single_run(runs, metrics)
    if run is None:
        options.refuse_for_several(
            by=by,
            groups=groups,
            wide=wide,
            average=average,
            correct=correct,
            label=label,
            compact=compact,
            save=save,
            published=published,
        )
        scoring = options.scoring(strict, subset, weights, models, missing, common_samples, resamples, seed)
        formats = {"json": json, "csv": csv, "markdown": markdown, "latex": latex}
        chosen = next((name for name, wanted in formats.items() if wanted), "")
        _score_side_by_side(runs, scoring, metrics, lower, chosen, values_only)
        return
    if lower is not None:
        raise CrevalError("--lower is for score files.")
    if compact and (values_only or not latex):
        raise CrevalError("--compact needs --latex, and excludes --values-only.")
    if values_only and json:
        raise CrevalError("--values-only is for tables, not for --json.")
    cells = LatexCells.COMPACT if compact else LatexCells.VALUES if values_only else LatexCells.FULL
    scoring = options.scoring(strict, subset, weights, models, missing, common_samples, resamples, seed)
    if save:
        analyses.save_scoring(run, scoring)
    with options.open_for_output(run, label, json) as opened:
        named = analyses.resolve_groups(opened, options.parse_groups(groups))
        card = analyses.scorecard(opened, scoring, average=average, groups=named)
        levels = [level.name for level in card.table.schema.levels]
        wanted = options.parse_names(by, "--by") or (levels if json or csv else ["overall"])
        shown = tables.select_groups(card, wanted)
        beside = analyses.published_scores(opened, card) if published else None
        corrected = None
        if correct is not None:
            corrected = analyses.corrected_scores(opened, card, correct, resamples, seed)
            if not json and (csv or markdown or latex):
                raise CrevalError("--correct supports only tables in the terminal and --json.")
        if csv:
            table = tables.csv_table(card, shown, named, values_only=values_only)
            print(table if beside is None else published_tables.published_csv(beside, shown, table), end="")
            return
        output = score_output(opened, card, shown, resamples, corrected, published=beside)
    if json:
        groups_of_models = {"model_groups": named} if named else {}
        console.print_json({**output.as_json(), **groups_of_models, "sentences": [*output.sentences, *output.notes]})
        return
    (decided, *rule), notes = output.sentences, list(output.notes)
    if markdown or latex:
        print(score_text(card, shown, rule, latex=latex, model_groups=named, wide=wide, cells=cells), end="")
        draw = latex_from_table if latex else markdown_from_table
        print("".join(f"\n{draw(table)}" for table in output.tables), end="")
        notes.append(decided)
    else:
        _print_tables(card, shown, named, corrected, sentences=(*rule, decided), wide=wide, values_only=values_only)
        for grid in output.tables:
            console.print_table(grid)
    console.print_note(*notes)


def _score_side_by_side(
    sources: list[str], scoring: ScoringOptions, metrics: str | None, lower: str | None, chosen: str, values_only: bool
) -> None:
    """Print the scores of several runs and score files, in the chosen format."""
    from creval.api.side_by_side import compare_sources
    from creval.reporting.output import strip_to_values
    from creval.reporting.table_formats import latex_from_table, markdown_from_table

    found = compare_sources(
        sources,
        metrics=options.parse_names(metrics, "--metrics") or (),
        lower=options.parse_names(lower, "--lower") or (),
        **scoring,
    )
    scores, *others = found.tables
    tables = [strip_to_values(scores) if values_only else scores, *others]
    if chosen == "csv":
        print(found.frame().write_csv(), end="")
    elif chosen in ("markdown", "latex"):
        form = markdown_from_table if chosen == "markdown" else latex_from_table
        print("\n".join(map(form, tables)), end="")
        console.print_note(*found.sentences, *found.notes)
    else:
        console.print_output(replace(found.output, tables=tables), chosen == "json")


def _print_tables(
    card: Scorecard,
    sample_groups: SampleGroups,
    model_groups: ModelGroups,
    corrected: CorrectedScores | None,
    *,
    sentences: Iterable[str],
    wide: bool,
    values_only: bool,
) -> None:
    from creval.reporting import tables
    from creval.reporting.output import strip_to_values

    out = console.stdout_console()
    for line in tables.format_sample_lines(card, sample_groups):
        print(line)
    for grid in tables.score_tables(card, sample_groups, model_groups, width=out.width if wide else 0):
        console.print_table(strip_to_values(grid) if values_only else grid)
    for sentence in sentences:
        out.print(sentence)
    if corrected is not None:
        for grid in tables.corrected_tables(card, corrected, sample_groups):
            console.print_table(grid)
