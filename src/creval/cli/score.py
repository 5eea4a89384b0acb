"""`creval score`: the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import options, screen
from creval.core.errors import CrevalError, known_name

if TYPE_CHECKING:
    from creval.stats.scorecard import Scorecard


def score(
    run: options.RunFolder,
    by: Annotated[
        str | None,
        typer.Option(metavar="LEVEL,...", help="overall, category, dimension, sample ..."),
    ] = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    models: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these models, joined by commas.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="open=A,B,closed=C", help="Mark best and second within groups."),
    ] = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print a row a cell.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Score a run: every cell with its 95 % interval and its coverage."""
    from creval.report import sentences, tables
    from creval.store import open_run

    if json + csv + markdown + latex > 1:
        raise CrevalError("choose one of --json, --csv, --markdown and --latex.")
    with open_run(run) as opened:
        card = opened.score(
            strict=strict,
            subset=subset,
            weights=options.weights(weights),
            systems=options.names(models, "--models"),
            resamples=resamples,
            seed=seed,
        )
        named = options.groups(groups)
        for name in (name for members in named.values() for name in members):
            known_name("model", name, card.table.systems)
        levels = _levels(card, by, everything=json or csv)
        if json:
            screen.print_json(tables.as_json(card, opened.manifest, levels))
            return
        if csv:
            print(tables.csv_table(card, levels), end="")
            return
        problems = int(opened.manifest.get("problems", 0))
        notes = [
            sentences.basis(card, opened.manifest, resamples),
            sentences.strictness(card, problems),
            *sentences.voices(opened, card),
        ]
        decided = sentences.decided(card)
    if markdown or latex:
        table = tables.markdown_table if markdown else tables.latex_table
        print(table(card, levels, named), end="")
        notes.append(decided)
    else:
        out = screen.console()
        for shown in tables.rich_tables(card, levels, named):
            out.print(shown)
        out.print(decided)
    for line in notes:
        screen.note(line)


def _levels(card: Scorecard, by: str | None, *, everything: bool) -> list[str]:
    from creval.stats.scorecard import SAMPLE

    known = [level.name for level in card.table.card.levels]
    wanted = options.names(by, "--by")
    if wanted is None:
        return known if everything else ["overall"]
    plural = {level.plural: level.name for level in card.table.card.levels} | {"samples": SAMPLE}
    return [known_name("level", plural.get(name, name), [*known, SAMPLE]) for name in wanted]
