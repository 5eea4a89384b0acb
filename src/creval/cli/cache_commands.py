"""`creval cache`: show or delete cached answers."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

app = typer.Typer(name="cache", help="Show or delete the cached answers that runs share.")
_DURATION = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SIZE = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@app.callback(invoke_without_command=True)
def cache(context: typer.Context, json: options.Json = False) -> None:
    """Show or delete the cached answers that runs share."""
    if context.invoked_subcommand is None:
        from creval.api import caches

        console.print_output(caches.cache().output, json)


@app.command()
def prune(
    older_than: Annotated[
        str | None, typer.Option(metavar="30d", help="Delete answers older than this: 12h, 30d, 8w.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="1GB", help="Delete the oldest answers until the cache has at most this size.")
    ] = None,
    judge: Annotated[str | None, typer.Option(metavar="SPEC", help="Only answers of this judge.")] = None,
    json: options.Json = False,
) -> None:
    """Delete cached answers. Answers in runs are kept."""
    from creval.api import caches

    found = caches.prune_cache(
        older_than=_parse_amount(older_than, _DURATION, "--older-than takes a time such as 30d"),
        max_bytes=_parse_amount((to or "").upper().removesuffix("B") or to, _SIZE, "--to takes a size such as 1GB"),
        judge=judge,
    )
    console.print_output(found.output, json)


def _parse_amount(given: str | None, units: dict[str, int], sentence: str) -> float | None:
    """Parse an amount with a unit, such as `30d` or `1.5G`."""
    if given is None:
        return None
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([A-Za-z]?)", given.strip())
    if match is None or match[2] not in units:
        raise CrevalError(f"{sentence}, not {given!r}.")
    return float(match[1]) * units[match[2]]
