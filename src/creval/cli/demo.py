"""`creval demo`: the whole pipeline, offline."""

from __future__ import annotations

import shutil
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from creval.cli import console
from creval.cli.judge import judge
from creval.cli.output_commands import report
from creval.cli.score import score

_SEED = 7


def demo(
    out: Annotated[str, typer.Option(metavar="DIR", help="Output folder.")] = "creval-demo",
    samples: Annotated[int, typer.Option(min=1, max=9999, help="Number of samples.")] = 36,
) -> None:
    """Draw a benchmark, edit it in six ways, judge, score and report, offline."""
    from creval.core.errors import CrevalError
    from creval.touchstone.builder import build_touchstone
    from creval.touchstone.simulated_edits import SIMULATED_EDITORS

    folder = Path(out)
    marker = folder / ".creval-demo"
    if folder.is_file() or (folder.is_dir() and not marker.exists() and any(folder.iterdir())):
        raise CrevalError(f"{folder} already exists and has other files. Give --out DIR.")
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text("made by `creval demo`, which may overwrite this folder\n")
    bench, edits, run = folder / "bench", folder / "edits", folder / "run"
    for made in (bench, run, *(edits / editor for editor in SIMULATED_EDITORS)):
        shutil.rmtree(made, ignore_errors=True)
    console.print_note(
        f"Drawing {samples} sample{'s' * (samples > 1)}, and the edits of {len(SIMULATED_EDITORS)} editors "
        f"of known skill, into {out} ..."
    )
    with console.ProgressLine() as line:
        build_touchstone(bench, samples, _SEED, edits=edits, on_progress=console.count_progress(line, "images drawn"))
    console.print_note("Judging them with `pixel`, a judge that looks at the pixels ...")
    folders = [str(edits / editor) for editor in SIMULATED_EDITORS]
    try:
        judge(str(bench), edits=folders, judge="pixel", run=str(run))
    except typer.Exit as ended:
        if ended.exit_code != 1:  # go on if only some questions are unanswered
            raise
    score([str(run)])
    report([str(run)], out=str(folder / "report.html"))
    where = quote(str(run))
    console.print_note(f"Look closer:  creval score {where} --by dimension; creval compare {where} faithful overeager")
    console.print_note(f"In a browser: creval view {where}")
    console.print_note(
        f"Your judge:   creval judge {quote(str(bench))} --edits {quote(str(edits))}/* "
        "--judge openai:gpt-4o --run runs/judge"
    )
    console.print_note(
        "Your models:  creval judge BENCH --edits outputs/ModelA outputs/ModelB "
        "--judge openai:gpt-4o --run runs/models --dry-run"
    )
