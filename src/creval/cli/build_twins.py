"""`creval build twins`: synthetic twins of the user's images."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from creval.cli import build_common, console, estimate_output, options


@partial(build_common.build_command, without=("name", "review"))
def twins(
    images: build_common.Images,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the pairs.")],
    writer: Annotated[str, options.spec("judges", "Model that describes the images.")],
    editor: Annotated[str, options.spec("editors", "Model that makes images from text: openai:gpt-image-1 ...")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the editor; repeatable.")
    ] = None,
    image_price: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="Price in US dollars per image.")
    ] = None,
    image_concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Concurrent images.")] = 4,
    editor_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the editor's API key.")
    ] = None,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Describe your images and make images from the descriptions alone. Resumes an interrupted build."""
    from creval.building.twins.twin_build import IMAGE_FOLDER, TwinBuild
    from creval.core.formatting import escape_control, pluralise
    from creval.editors.base import EditorOptions

    settings = common.settings(out)
    work = TwinBuild(
        Path(images),
        Path(out),
        writer,
        editor,
        settings,
        EditorOptions(
            options.parse_parameters(set_ or ()),
            concurrency=image_concurrency,
            price=image_price,
            key_env=editor_key_env,
        ),
        duplicates=common.duplicates,
        dry_run=common.dry_run,
    )
    console.print_note(*work.captions.warnings())
    expected = work.estimate()
    if common.dry_run:
        price = "--price IN,OUT (images: --image-price USD)"
        count = (len(work.captions.sources), "image")
        estimate_output.print_estimates(expected, settings.concurrency, common.json, count, price)
        return
    console.print_note(estimate_output.format_estimates(expected))
    with console.ProgressLine() as shown:
        result = work.run(console.watch_calls(shown))
    notes = [*result.captions.notes, *(result.made.notes if result.made else [])]
    for name, reason in list(result.left_out.items())[: build_common.MAX_REASONS]:
        notes.append(f"{name} is left out: {reason}")
    if len(result.left_out) > build_common.MAX_REASONS:
        notes.append(f"... and {len(result.left_out) - build_common.MAX_REASONS:,} more")
    notes += console.error_notes(result.captions.progress, "caption")
    notes.append(console.call_summary(result.captions.progress, kept="text"))
    if result.made:
        notes += console.error_notes(result.made.progress, "image")
        notes.append(console.call_summary(result.made.progress, kept="image", folder_cost=result.made.cost or 0.0))
    console.print_note(*map(escape_control, notes))
    console.print_note(f"{pluralise(result.pairs, 'pair')} complete, {len(result.left_out):,} left out.")
    if common.json:
        facts = {"pairs": result.pairs, "left_out": result.left_out, "stopped": result.stopped or None}
        console.print_json({**facts, "duplicates": work.captions.duplicates.as_record()})
    console.exit_if_stopped(result.stopped, "made")
    if result.pairs:
        folder = quote(str(Path(out) / IMAGE_FOLDER))
        console.print_note(f"Now: creval build complex-edit --images {folder} --out BENCH --writer {quote(writer)}")
    console.exit_if_too_many_missing(result.share_left_out, common.max_left_out, "were left out")
