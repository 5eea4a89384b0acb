"""`creval init`: begin a benchmark from what one has."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options

app = typer.Typer(name="init", help="Begin a benchmark from what you have: images, or a table of samples.")


@app.callback(invoke_without_command=True)
def init(context: typer.Context) -> None:
    """Begin a benchmark from what you have: images, or a table of samples."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def samples(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The benchmark's folder.")],
    images: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The images; copied into DIR unless they lie there.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="FILE", help="A CSV or JSONL table of samples to take over.")
    ] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Also write questions.csv, to fill in yes/no questions.")
    ] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="The benchmark's title, else DIR's name.")] = "",
    json: options.Json = False,
) -> None:
    """Write samples.csv from images or a table, or check the one in DIR, and say what is missing."""
    from creval.api.init_samples import init_samples

    found = init_samples(folder, images=images, table=table, questions=questions, name=name)
    console.print_output(found.output, json)
