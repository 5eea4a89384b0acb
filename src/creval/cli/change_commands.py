"""Commands that rename a model of a run, or remove it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError


def rename(
    run: options.RunFolder,
    old: Annotated[str, typer.Argument(metavar="OLD", help="A model of the run.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    json: options.Json = False,
) -> None:
    """Rename a model of a run. No question is asked again."""
    from creval.api import run_changes

    console.print_output(run_changes.rename(run, old, new).output, json)


def remove(
    run: options.RunFolder,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of the run.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    json: options.Json = False,
) -> None:
    """Delete a model from a run, with all answers about it."""
    from creval.api import run_changes

    if not yes:
        count = run_changes.count_replies(run, model)
        if not sys.stdin.isatty():
            raise CrevalError(
                f"{count:,} replies about {model!r} would be deleted from {run}. Add --yes to delete them."
            )
        typer.confirm(f"Delete {model} and {count:,} replies about it from {run}?", abort=True, err=True)
    console.print_output(run_changes.remove(run, model).output, json)
