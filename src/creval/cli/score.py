"""`creval score`: tables of scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, require_known

if TYPE_CHECKING:
    from creval.analysis.correction import CorrectedScores
    from creval.reporting.tables import ModelGroups, SampleGroups
    from creval.stats.scorecard import Scorecard


def score(
    run: options.RunFolder,
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
    groups: Annotated[
        str | None, typer.Option(metavar="open=A,B,closed=C", help="Mark the best and the second model of each group.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Groups as columns, one row per model.")] = False,
    average: Annotated[bool, typer.Option("--average", help="Add the mean over the models.")] = False,
    correct: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also correct for the judge's errors (creval calibrate).")
    ] = None,
    published: options.Published = False,
    label: options.Label = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one row per cell.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="With --latex: half-widths of intervals, coverage only below 99.5 %.")
    ] = False,
    values_only: Annotated[
        bool, typer.Option("--values-only", help="With --latex: no intervals and no coverage.")
    ] = False,
    save: Annotated[
        bool, typer.Option("--save", help="Save --subset, --missing, --weights and --models as the run's defaults.")
    ] = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Score a run: every cell with its 95 % interval and its coverage."""
    from creval.api import analyses
    from creval.reporting import published_tables, tables
    from creval.reporting.commands.score_output import score_output, score_text
    from creval.reporting.latex import LatexCells

    if json + csv + markdown + latex > 1:
        raise CrevalError("choose one of --json, --csv, --markdown and --latex.")
    if ((compact or values_only) and not latex) or (compact and values_only):
        raise CrevalError("--compact and --values-only are options of --latex, and exclude each other.")
    cells = LatexCells.COMPACT if compact else LatexCells.VALUES if values_only else LatexCells.FULL
    scoring = options.scoring(strict, subset, weights, models, missing, common_samples, resamples, seed)
    if save:
        analyses.save_scoring(run, scoring)
    with options.open_for_output(run, label, json) as opened:
        card = analyses.scorecard(opened, scoring, average=average)
        named = {
            group: [opened.resolve_model(name) for name in members]
            for group, members in options.parse_groups(groups).items()
        }
        for name in (name for members in named.values() for name in members):
            require_known("model", name, card.table.models)
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
            table = tables.csv_table(card, shown, named)
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
        draw = published_tables.latex_grid if latex else published_tables.markdown_grid
        print("".join(map(draw, output.tables)), end="")
        notes.append(decided)
    else:
        _print_tables(card, shown, named, corrected, sentences=(*rule, decided), wide=wide)
        for grid in output.tables:
            console.print_table(grid)
    console.print_note(*notes)


def _print_tables(
    card: Scorecard,
    sample_groups: SampleGroups,
    model_groups: ModelGroups,
    corrected: CorrectedScores | None,
    *,
    sentences: Iterable[str],
    wide: bool,
) -> None:
    from creval.reporting import tables

    out = console.stdout_console()
    for line in tables.format_sample_lines(card, sample_groups):
        print(line)
    for grid in tables.score_tables(card, sample_groups, model_groups, width=out.width if wide else 0):
        console.print_table(grid)
    for sentence in sentences:
        out.print(sentence)
    if corrected is not None:
        for grid in tables.corrected_tables(card, corrected, sample_groups):
            console.print_table(grid)
