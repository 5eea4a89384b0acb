"""`creval items`: the questions of a run, one by one."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options


def items(
    run: options.RunFolder,
    subset: options.Subset = None,
    top: Annotated[int, typer.Option(min=0, help="How many questions to list.")] = 20,
    json: options.Json = False,
) -> None:
    """Say how hard each question is, what it tells, and which are worth rewriting."""
    from creval.analysis.item_statistics import item_statistics
    from creval.reporting.commands.items_output import items_output as shown
    from creval.store import open_run

    with open_run(run) as opened:
        found = item_statistics(opened, subset)
    console.print_output(shown(found, top), json)
