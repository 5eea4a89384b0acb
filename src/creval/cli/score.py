"""`creval score`: the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, known_name


def score(
    run: options.RunFolder,
    by: Annotated[
        str | None,
        typer.Option(metavar="LEVEL|GROUP,...", help="overall, category, dimension, sample ..."),
    ] = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    models: options.Models = None,
    missing: options.Missing = "exclude",
    common_samples: options.CommonSamples = False,
    groups: Annotated[
        str | None,
        typer.Option(metavar="open=A,B,closed=C", help="Mark best and second within groups."),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="Groups beside each other, a row a model.")
    ] = False,
    average: Annotated[
        bool, typer.Option("--average", help="Add the mean over the models.")
    ] = False,
    correct: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also correct for the judge's errors (calibrate)."),
    ] = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print a row a cell.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Score a run: every cell with its 95 % interval and its coverage."""
    from creval.analysis.score_table import score as score_run
    from creval.core import formatting
    from creval.report import costs, sentences, tables
    from creval.report import missing as absent
    from creval.store import open_run
    from creval.store.provenance import makers

    if json + csv + markdown + latex > 1:
        raise CrevalError("choose one of --json, --csv, --markdown and --latex.")
    with open_run(run) as opened:
        card = score_run(
            opened,
            strict=strict,
            subset=subset,
            weights=options.weights(weights, opened.manifest),
            systems=options.names(models, "--models"),
            resamples=resamples,
            seed=seed,
            average=average,
            missing=missing,
            common=common_samples,
        )
        named = options.groups(groups)
        for name in (name for members in named.values() for name in members):
            known_name("model", name, card.table.systems)
        levels = [level.name for level in card.table.card.levels]
        wanted = options.names(by, "--by") or (levels if json or csv else ["overall"])
        shown = tables.chosen(card, wanted)
        corrected = None
        if correct is not None:
            from creval.analysis.correction import correct as corrected_for
            from creval.core.files import read_json
            from creval.stats.calibration import from_json

            rates = from_json(read_json(Path(correct)), correct)
            corrected = corrected_for(opened, card, rates, resamples=resamples, seed=seed)
            if not json and (csv or markdown or latex):
                raise CrevalError("--correct goes with a table for the terminal, or with --json.")
        notes = [
            sentences.basis(card, opened.manifest, resamples),
            sentences.strictness(card, int(opened.manifest.get("problems", 0))),
            *sentences.unsupported(card.table),
            *sentences.voices(opened, card),
            *sentences.flat(card),
            *sentences.few(card, shown),
        ]
        gone = absent.of_table(opened, card.table)
        rule = [*absent.told(gone), *absent.rule(card.table, gone)]
        if corrected is not None:
            notes += sentences.corrected(opened, corrected)
        decided = sentences.decided(card)
        if json:
            found = tables.as_json(card, opened.manifest, shown)
            found |= absent.data(gone, card.table)
            made = makers(opened.manifest)
            found["makers"] = costs.data({n: made[n] for n in card.systems if n in made})
            more = tables.corrected_json(corrected, shown) if corrected else {}
            console.print_json({"sentences": [decided, *rule, *notes], **found, **more})
            return
        if csv:
            print(tables.csv_table(card, shown), end="")
            return
    if markdown or latex:
        table = tables.markdown_table if markdown else tables.latex_table
        if latex and rule:
            print("".join(f"% {formatting.visible(line)}\n" for line in rule), end="")
        print(table(card, shown, named, wide=wide), end="")
        if markdown and rule:
            print("".join(f"\n{formatting.markdown(line)}\n" for line in rule), end="")
        notes.append(decided)
    else:
        out = console.console()
        for line in tables.sample_lines(card, shown):
            print(line)
        for grid in tables.grids(card, shown, named, wide=out.width if wide else 0):
            console.print_grid(grid)
        for line in (*rule, decided):
            out.print(line)
        if corrected is not None:
            for grid in tables.corrected_grids(card, corrected, shown):
                console.print_grid(grid)
    for line in notes:
        console.note(line)
