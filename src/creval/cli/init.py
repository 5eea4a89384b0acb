"""`creval init`: start a benchmark from images or a table."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options

app = typer.Typer(name="init", help="Start a benchmark from your images, or from a table of samples.")


@app.callback(invoke_without_command=True)
def init(context: typer.Context) -> None:
    """Start a benchmark from your images, or from a table of samples."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def samples(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The benchmark's folder.")],
    images: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Folder of images; copied into DIR unless already there.")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="FILE", help="CSV or JSONL table of samples to import.")] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Also write questions.csv for your yes/no questions.")
    ] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="The benchmark's title; by default DIR's name.")] = "",
    json: options.Json = False,
) -> None:
    """Write samples.csv from images or a table, or check the sample table in DIR. Report what is missing."""
    from creval.api.init_samples import init_samples

    found = init_samples(folder, images=images, table=table, questions=questions, name=name)
    console.print_output(found.output, json)


@app.command()
def ice(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder to write images into.")],
    images: Annotated[str, typer.Option(metavar="FOLDER", help="The dataset's folder.")],
    layout: Annotated[str, typer.Option(metavar="coco|dreambooth|viton-hd", help="The dataset's layout.")],
    annotations: Annotated[
        str | None, typer.Option(metavar="FILE", help="COCO's instances_*.json, or VITON-HD's file of pairs.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only N images with their masks and references, chosen at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choice.")] = 0,
    json: options.Json = False,
) -> None:
    """Copy images of a public dataset, with masks and references, for creval build ice."""
    from creval.api.init_ice import init_ice

    found = init_ice(folder, images=images, layout=layout, annotations=annotations, limit=limit, seed=seed)
    console.print_output(found.output, json)
