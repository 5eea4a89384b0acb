"""`creval build ice`: items of ICE-Bench's tasks for anyone's pictures."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import build_common, console, options

if TYPE_CHECKING:
    from creval.building.ice.files import Items
    from creval.report.output import Findings

MODEL, PEOPLE = "model", "people"


@build_common.command
def ice(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer = "",
    captioner: Annotated[
        str, typer.Option(metavar="SPEC", help="Who describes pictures; else the writer.")
    ] = "",
    tasks: Annotated[
        str, typer.Option(metavar="NAME,...", help="Only these tasks, or groups of tasks.")
    ] = "",
    each: Annotated[int, typer.Option(min=1, max=31, help="Tasks for each picture.")] = 1,
    items: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own table of items, CSV or JSON.")
    ] = None,
    fill: Annotated[
        str, typer.Option(metavar="model|people", help="Who fills in templates.")
    ] = MODEL,
    templates: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own templates by task, JSON.")
    ] = None,
    derive: Annotated[
        bool, typer.Option("--derive", help="Make edges, grey, blur and borders of photographs.")
    ] = False,
    gauge: Annotated[
        list[str] | None, typer.Option(metavar="depth=MODEL", help="With --derive: depth, too.")
    ] = None,
    source_type: Annotated[
        str, typer.Option(metavar="real|generated", help="Where the sources come from.")
    ] = "",
    temperature: Annotated[
        float, typer.Option(min=0, help="Of the writer; descriptions are written at 0.")
    ] = 0.7,
    *,
    common: build_common.Common,
) -> None:
    """Let models describe pictures and fill in instructions by task; go on where it stopped."""
    from creval.building.ice.builder import IceBuilding, Wish
    from creval.building.ice.review import IceReview
    from creval.core.errors import CrevalError, known_name
    from creval.core.formatting import many

    known_name("choice of who fills in", fill, (MODEL, PEOPLE))
    settings = common.settings(out, _depth(gauge or (), derive))
    wish = Wish(
        tasks, each, _path(items), derive, fill == PEOPLE, _path(templates), source_type.casefold()
    )
    if not writer and not (fill == PEOPLE and captioner):
        raise CrevalError("--writer is missing; only --fill people with --captioner needs none.")
    # Without a writer, whoever describes pictures says whether a task suits them.
    roles = {"writer": writer or captioner, "captioner": captioner or writer}
    folder = Path(out)
    work = IceBuilding(
        Path(images), folder, roles, wish, settings, temperature=temperature, dry=common.dry_run
    )
    wrote = build_common.carry_out(work, common, work.without)
    if wrote is None:
        return
    build_common.tell_made(wrote, work.what, out)
    found = _findings(work.items)
    if common.json:
        facts = {"made": len(wrote.made), **build_common.facts_of(wrote)}
        console.print_json({**facts, **found.as_json()})
    else:
        console.show(found)
    number, open_ = len(work.items.entries), work.items.unfilled
    if open_ and not common.review:
        console.note(f"Fill in {many(open_, 'template')}: creval review {quote(out)}")
    build_common.end(wrote, common, out, number > (0 if common.review else open_), IceReview)


def _path(given: str | None) -> Path | None:
    return Path(given) if given else None


def _depth(given: list[str] | tuple[()], derive: bool) -> dict[str, str]:
    """The model that estimates depth, if one is given."""
    from creval.core.errors import CrevalError

    found = options.models_by_use(given)
    if found and (set(found) != {"depth"} or not derive):
        raise CrevalError("--gauge takes depth=MODEL here, together with --derive.")
    return found


def _findings(items: Items) -> Findings:
    from creval.report.commands.built import tasks

    return tasks(items.counted(), items.unfilled)
