"""How commands end that ask models: what stopped them, and with which exit status."""

from __future__ import annotations

import typer

from creval.cli import screen


def exit_if_stopped(stopped: str, kept: str) -> None:
    """Exit where it did not come to its end; `kept` is what was done so far, such as `answered`."""
    if stopped == "interrupted":
        screen.note(f"stopped: what was {kept} is kept; repeat the command to go on.")
        raise typer.Exit(130)
    if stopped == "budget":
        screen.note("stopped: the budget is reached; raise it to go on.")
        raise typer.Exit(1)


def exit_if_too_many(share: float, allowed: float, what: str) -> None:
    """Exit with 1 where a larger share did not come than is allowed; `what` says of what."""
    if share > allowed:
        screen.note(f"{100 * share:.1f} % {what}: exit status 1 (--max-unanswered).")
        raise typer.Exit(1)
