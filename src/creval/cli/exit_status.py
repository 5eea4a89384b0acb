"""How commands end that ask models: what stopped them, and with which exit status."""

from __future__ import annotations

import sys

import typer

from creval.cli import console


def exit_if_stopped(stopped: str, done_word: str) -> None:
    """Exit where it did not come to its end; `done_word` is what was done so far, such as `answered`."""
    if stopped == "interrupted":
        console.print_note(f"stopped: what was {done_word} is kept; repeat the command to go on.")
        sys.exit(130)  # all is said: typer.Exit would be taken for an interrupt of its own
    if stopped == "budget":
        console.print_note(
            "stopped: the budget is reached, or what is left may not pay the next call; raise it to go on."
        )
        raise typer.Exit(1)


def exit_if_too_many_missing(share: float, allowed: float, what: str) -> None:
    """Exit with 1 where a larger share did not come than is allowed; `what` says of what."""
    if share > allowed:
        console.print_note(f"{100 * share:.1f} % {what}: exit status 1 (--max-unanswered).")
        raise typer.Exit(1)
