"""`creval build ice`: items of ICE-Bench's tasks for the user's images."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import build_common, options

if TYPE_CHECKING:
    from creval.building.ice.files import ItemDraft
    from creval.calls.text_generation import GenerationResult

MODEL, PEOPLE = "model", "people"


@build_common.build_command
def ice(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer = "",
    captioner: Annotated[str, options.spec("judges", "Model that describes images; by default the writer.")] = "",
    tasks: Annotated[str, typer.Option(metavar="NAME,...", help="Only these tasks, or groups of tasks.")] = "",
    each: Annotated[int, typer.Option(min=1, max=31, help="Tasks per image.")] = 1,
    items: Annotated[str | None, typer.Option(metavar="FILE", help="Your own items: CSV, JSON or JSONL.")] = None,
    fill: Annotated[
        str, typer.Option(metavar="model|people", help="Let the writer or people fill in templates.")
    ] = MODEL,
    templates: Annotated[str | None, typer.Option(metavar="FILE", help="Your own templates by task: JSON.")] = None,
    derive: Annotated[
        bool, typer.Option("--derive", help="Derive edge, grey, blurred and bordered images from photographs.")
    ] = False,
    metric_model: Annotated[
        list[str] | None,
        typer.Option(metavar="depth|pose=MODEL", help="With --derive: derive depth maps or poses, too."),
    ] = None,
    source_type: Annotated[
        str, typer.Option(metavar="real|generated", help="Whether the source images are real or generated.")
    ] = "",
    temperature: Annotated[
        float, typer.Option(min=0, help="Temperature of the writer. The model that describes images has 0.")
    ] = 0.7,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Describe your images and write instructions by task. Resumes an interrupted build."""
    from creval.building.ice.builder import IceBuilder, IceBuildOptions
    from creval.building.ice.review import IceReview
    from creval.core.errors import CrevalError, require_known
    from creval.core.formatting import pluralise
    from creval.reporting.commands.build_output import tasks_output

    require_known("value of --fill", fill, (MODEL, PEOPLE))
    settings = common.settings(out, _parse_control_models(metric_model or (), derive))
    wish = IceBuildOptions(
        tasks, each, _optional_path(items), derive, fill == PEOPLE, _optional_path(templates), source_type.casefold()
    )
    if not writer and not (fill == PEOPLE and captioner):
        raise CrevalError("give --writer. It is optional only for --fill people with --captioner.")
    # Without a writer, the captioner decides whether a task suits an image.
    roles = {"writer": writer or captioner, "captioner": captioner or writer}
    work = IceBuilder(
        Path(images),
        Path(out),
        roles,
        wish,
        settings,
        temperature=temperature,
        duplicates=common.duplicates,
        dry_run=common.dry_run,
    )

    def describe(result: GenerationResult[ItemDraft]) -> build_common.BuildOutput:
        number, unfilled = len(work.ice_items.entries), work.ice_items.unfilled_count
        table = tasks_output(work.ice_items.count_by_task(), unfilled)
        notes = []
        if unfilled and not common.review:
            notes.append(f"Fill in {pluralise(unfilled, 'template')}: creval review {quote(out)}")
        ready = number > (0 if common.review else unfilled)
        return build_common.BuildOutput(ready, table, {"made": len(result.results)}, notes)

    build_common.run_build(work, common, IceReview, describe)


def _optional_path(given: str | None) -> Path | None:
    return Path(given) if given else None


def _parse_control_models(given: list[str] | tuple[()], derive: bool) -> dict[str, str]:
    """Return the models that make control images, by control metric."""
    from creval.building.ice.control_images import MODEL_DERIVABLE
    from creval.core.errors import CrevalError

    found = options.parse_metric_models(given)
    if found and not (found.keys() <= set(MODEL_DERIVABLE) and derive):
        raise CrevalError("--metric-model takes only depth=MODEL and pose=MODEL here, and needs --derive.")
    return found
