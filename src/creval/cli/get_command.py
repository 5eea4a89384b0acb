"""`creval get`: the official releases of the benchmarks."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options


def get(
    benchmark: Annotated[
        str | None, typer.Argument(metavar="[BENCHMARK]", help="Name of a benchmark, such as creval or ice-bench.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="The folder to download into.")] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="COMMIT|BRANCH", help="Version to download; by default the newest.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print size and commit, then exit.")] = False,
    json: options.Json = False,
) -> None:
    """Download a benchmark's official release. Without a name, list where the releases are."""
    from creval.api import releases

    found = releases.get(
        benchmark,
        out,
        revision=revision,
        dry_run=dry_run,
        announce=lambda plan: console.print_note(f"downloading {plan} into {out}"),
    )
    console.print_output(found.output, json)
