"""`creval build ice`: items of ICE-Bench's tasks for anyone's pictures."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import build_common, console, options

if TYPE_CHECKING:
    from creval.building.ice.files import IceItems
    from creval.reporting.output import CommandOutput

MODEL, PEOPLE = "model", "people"


@build_common.build_command
def ice(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer = "",
    captioner: Annotated[str, typer.Option(metavar="SPEC", help="Who describes pictures; else the writer.")] = "",
    tasks: Annotated[str, typer.Option(metavar="NAME,...", help="Only these tasks, or groups of tasks.")] = "",
    each: Annotated[int, typer.Option(min=1, max=31, help="Tasks for each picture.")] = 1,
    items: Annotated[str | None, typer.Option(metavar="FILE", help="Your own table of items, CSV or JSON.")] = None,
    fill: Annotated[str, typer.Option(metavar="model|people", help="Who fills in templates.")] = MODEL,
    templates: Annotated[str | None, typer.Option(metavar="FILE", help="Your own templates by task, JSON.")] = None,
    derive: Annotated[
        bool, typer.Option("--derive", help="Make edges, grey, blur and borders of photographs.")
    ] = False,
    metric_model: Annotated[
        list[str] | None, typer.Option(metavar="depth=MODEL", help="With --derive: depth, too.")
    ] = None,
    source_type: Annotated[str, typer.Option(metavar="real|generated", help="Where the sources come from.")] = "",
    temperature: Annotated[float, typer.Option(min=0, help="Of the writer; descriptions are written at 0.")] = 0.7,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Let models describe pictures and fill in instructions by task; go on where it stopped."""
    from creval.building.ice.builder import IceBuilder, IceBuildOptions
    from creval.building.ice.review import IceReview
    from creval.core.errors import CrevalError, require_known
    from creval.core.formatting import pluralise

    require_known("choice of who fills in", fill, (MODEL, PEOPLE))
    settings = common.settings(out, _parse_depth_model(metric_model or (), derive))
    wish = IceBuildOptions(
        tasks, each, _optional_path(items), derive, fill == PEOPLE, _optional_path(templates), source_type.casefold()
    )
    if not writer and not (fill == PEOPLE and captioner):
        raise CrevalError("--writer is missing; only --fill people with --captioner needs none.")
    # Without a writer, whoever describes pictures says whether a task suits them.
    roles = {"writer": writer or captioner, "captioner": captioner or writer}
    folder = Path(out)
    work = IceBuilder(Path(images), folder, roles, wish, settings, temperature=temperature, dry_run=common.dry_run)
    wrote = build_common.run_build(work, common, work.unusable)
    if wrote is None:
        return
    build_common.print_made_summary(wrote, work.unit, out)
    found = _tasks_output(work.items)
    if common.json:
        facts = {"made": len(wrote.results), **build_common.build_facts(wrote)}
        console.print_json({**facts, **found.as_json()})
    else:
        console.print_output(found)
    number, open_ = len(work.items.entries), work.items.unfilled_count
    if open_ and not common.review:
        console.print_note(f"Fill in {pluralise(open_, 'template')}: creval review {quote(out)}")
    build_common.finish_build(wrote, common, out, number > (0 if common.review else open_), IceReview)


def _optional_path(given: str | None) -> Path | None:
    return Path(given) if given else None


def _parse_depth_model(given: list[str] | tuple[()], derive: bool) -> dict[str, str]:
    """The model that estimates depth, if one is given."""
    from creval.core.errors import CrevalError

    found = options.parse_metric_models(given)
    if found and (set(found) != {"depth"} or not derive):
        raise CrevalError("--metric-model takes depth=MODEL here, together with --derive.")
    return found


def _tasks_output(items: IceItems) -> CommandOutput:
    from creval.reporting.commands.build_output import tasks_output

    return tasks_output(items.count_by_task(), items.unfilled_count)
