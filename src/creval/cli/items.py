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
    from creval.api import analyses

    console.print_output(analyses.items(run, subset=subset, top=top).output, json)
