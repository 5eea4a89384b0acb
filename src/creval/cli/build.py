"""`creval build`: build a benchmark."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from creval.cli import (
    build_captions,
    build_complex_edit,
    build_complexbench,
    build_creval,
    build_ice,
    build_twins,
    console,
)

app = typer.Typer(name="build", help="Build a benchmark.")


@app.callback(invoke_without_command=True)
def build(context: typer.Context) -> None:
    """Build a benchmark."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("creval")(build_creval.creval)
app.command("complex-edit")(build_complex_edit.complex_edit)
app.command("complexbench")(build_complexbench.complexbench)
app.command("ice")(build_ice.ice)
app.command("captions")(build_captions.captions)
app.command("twins")(build_twins.twins)


@app.command()
def touchstone(
    out: Annotated[str, typer.Option(metavar="BENCH", help="The benchmark's folder.")],
    samples: Annotated[int, typer.Option(min=1, max=9999, help="Number of samples.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawn images.")] = 0,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The benchmark's title; by default the folder's name.")
    ] = "",
) -> None:
    """Draw a benchmark with known answers, to test judges."""
    from creval.benchmarks import check_title, write_title
    from creval.touchstone.builder import build_touchstone

    title = check_title(name) or Path(out).resolve().name
    with console.ProgressLine() as line:
        made = build_touchstone(Path(out), samples, seed, on_progress=console.count_progress(line, "drawn"))
    write_title(Path(out), title)
    asked = sum(len(questions) for sample in made for questions in sample.questions.values())
    console.print_note(f"{len(made):,} sample{'s' * (len(made) > 1)} with {asked:,} questions.")
    console.print_note(f"Now: creval bench {quote(out)}")
