"""The command line: one file a command."""

from __future__ import annotations

import os
import sys

import typer

from creval.cli import bench, compare, demo, replay, score
from creval.core.errors import CrevalError

app = typer.Typer(
    name="creval",
    help="Which image-editing model is better, at what, how sure that is, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (demo.demo, bench.bench, replay.replay, score.score, compare.compare):
    app.command()(command)


def main() -> None:
    """Run creval; a wrong input ends in one sentence and exit status 2."""
    try:
        app()
    except CrevalError as error:
        from creval.report.text import visible

        print(f"creval: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("creval: stopped.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read the output, `head` for one, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
