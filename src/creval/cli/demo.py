"""`creval demo`: the whole way, offline."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from creval.cli import screen
from creval.cli.replay import replay
from creval.cli.score import score


def demo(
    out: Annotated[str, typer.Option(metavar="DIR", help="Where it is put.")] = "creval-demo",
) -> None:
    """Make a small benchmark with recorded answers, replay and score it, offline."""
    from creval.build.miniature import write_miniature
    from creval.core.errors import CrevalError

    folder = Path(out)
    marker = folder / ".creval-demo"
    if folder.is_file() or (folder.is_dir() and not marker.exists() and any(folder.iterdir())):
        raise CrevalError(f"{folder} is there already and holds other things; give --out DIR.")
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text("made by `creval demo`, which may overwrite this folder\n")
    screen.note(f"Making a small benchmark with recorded answers in {folder} ...")
    write_miniature(folder, samples=54)
    run = str(folder / "run")
    replay(str(folder), answers=str(folder / "answers"), run=run)
    score(run)
    screen.note(f"Look further: creval score {quote(run)} --by dimension")
    screen.note(f"              creval compare {quote(run)} Careful Follower")
    screen.note(f"              creval bench {quote(str(folder))}")
