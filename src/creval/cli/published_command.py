"""`creval published`: the numbers that the benchmarks' papers published."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError


def published(
    benchmark: Annotated[
        str | None, typer.Argument(metavar="[BENCHMARK]", help="Name of a benchmark, such as creval or ice-bench.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(metavar="2,S1", help="Values of these tables only, joined by commas.")
    ] = None,
    models: options.Models = None,
    metrics: Annotated[str | None, typer.Option(metavar="IF,VC", help="Only these metrics, joined by commas.")] = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one row per value.")] = False,
) -> None:
    """List the numbers that the benchmarks' papers published, with notes where a paper contradicts itself."""
    from creval.api.published import publication_of
    from creval.api.published import published as select_published
    from creval.reporting.commands.published_output import published_values_csv

    if json and csv:
        raise CrevalError("choose one of --json and --csv.")
    if csv and benchmark is None:
        raise CrevalError("--csv prints the values of one benchmark: give its name, such as creval.")
    found = select_published(
        benchmark,
        tables=options.parse_names(tables, "--tables"),
        models=options.parse_names(models, "--models"),
        metrics=options.parse_names(metrics, "--metrics") or (),
    )
    if csv and benchmark is not None:
        print(published_values_csv(publication_of(benchmark), found.value), end="")
        return
    console.print_output(found.output, json)
