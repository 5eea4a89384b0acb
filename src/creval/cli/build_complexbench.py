"""`creval build complexbench`: three steps a picture, some building on each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from creval.cli import building, estimates, options, screen

if TYPE_CHECKING:
    from creval.benchmarks.coco import Annotated as Found
    from creval.build.chains.complexbench import Scene
    from creval.build.chains.complexbench_files import Entries
    from creval.build.chains.kinds import Types
    from creval.build.chains.scenes import Chosen
    from creval.engine.writing import Desk, Wrote


class _Job(NamedTuple):
    """A picture at a level, and its edit types."""

    name: str
    types: Types


def complexbench(
    images: building.Images,
    out: building.Out,
    writer: building.Writer,
    coco: Annotated[
        str | None, typer.Option(metavar="FILE", help="COCO's annotations of the pictures.")
    ] = None,
    gauge: Annotated[
        list[str] | None, typer.Option(metavar="boxes=MODEL", help="Or a detector for objects.")
    ] = None,
    checker: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Who says whether steps are feasible.")
    ] = None,
    level: Annotated[
        str, typer.Option(metavar="parallel|two-chain|three-chain|all", help="What to make.")
    ] = "all",
    limit: building.Limit = None,
    concurrency: building.Concurrency = 16,
    retries: building.Retries = 2,
    attempts: building.Attempts = 12,
    timeout: building.Timeout = 300.0,
    rpm: building.Rpm = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of the writer.")] = 0.7,
    prompts: building.Prompts = None,
    price: building.Price = None,
    budget: building.Budget = None,
    key_env: building.KeyEnv = None,
    max_unanswered: building.MaxUnanswered = "0.5",
    seed: building.Seed = 0,
    review: building.ReviewFlag = False,
    dry_run: building.DryRun = False,
    json: options.Json = False,
) -> None:
    """Let a model write parallel and chained steps, checked by another; go on where it stopped."""
    from creval.build.chains import complexbench as chains
    from creval.build.chains.complexbench_files import PICTURES, Entries
    from creval.build.chains.kinds import LEVELS
    from creval.build.chains.scenes import choose
    from creval.build.manifest import keep_manifest
    from creval.build.pictures import picture_names, some
    from creval.core.errors import CrevalError, known_name
    from creval.engine.writing import Item, Writing
    from creval.report.text import many

    allowed = options.percent(max_unanswered)
    known_name("level", level, (*LEVELS, "all"))
    settings = building.settings_of(
        limit=limit, concurrency=concurrency, retries=retries, attempts=attempts, timeout=timeout,
        rpm=rpm, prompts=prompts, price=price, budget=budget, key_env=key_env, seed=seed,
        gauges=options.models_by_use(gauge or ()),
    )  # fmt: skip
    texts = chains.load_texts(prompts)
    folder, source = Path(out), Path(images)
    writing: Writing[dict[str, Any]] = Writing(
        folder, {"writer": writer, "checker": checker or writer}, settings,
        warm={"writer": temperature}, dry=dry_run,
    )  # fmt: skip
    if checker in (None, writer):
        screen.note("warning: the writer checks its own work; --checker SPEC names another model.")
    names = [
        name for name in picture_names(source, folder) if Path(name).suffix.casefold() in PICTURES
    ]
    chosen = choose(names, source, _objects(names, source, folder, coco, settings.gauges))
    _tell_choice(chosen)
    if not chosen.scenes:
        raise CrevalError("no picture suits: at most two of a class and three classes are needed.")
    entries = Entries(folder)
    scenes = {name: chains.Scene(chosen.scenes[name], chosen.sizes[name]) for name in chosen.scenes}
    levels = tuple(LEVELS) if level == "all" else (level,)
    jobs = _jobs(some(list(scenes), limit, seed), levels, scenes, entries, seed)
    items = [Item(identity, source / job.name) for identity, job in jobs.items()]
    expected = writing.estimate(items, chains.STAGES)
    if dry_run:
        estimates.show(expected, concurrency, json, (len(items), "sample"))
        return
    keep_manifest("complexbench", writing, texts, {"temperature": temperature})
    screen.note(f"{many(len(items), 'sample')}: about {estimates.in_a_line(expected)}")

    async def made(desk: Desk) -> dict[str, Any]:
        name, types = jobs[desk.item.id]
        return await chains.write_sample(desk, texts, types, scenes[name], retries)

    line = screen.Line()
    try:
        wrote = writing.run(
            items, made, calls=sum(stage.calls for stage in chains.STAGES),
            watch=building.watcher(line),
        )  # fmt: skip
    finally:
        line.clear()
    by: dict[str, Any] = {role: judge.model for role, judge in writing.judges.items()}
    by["prompts"] = [prompt.version for prompt in texts]
    wrote.left_out |= _keep(entries, jobs, wrote, source, by) | chosen.broken
    building.tell_end(wrote, "sample")
    _tell_kinds(entries, wrote, folder, json)
    if review:
        from creval.build.chains.complexbench_review import ComplexBenchReview

        building.open_review(ComplexBenchReview(folder))
    building.end(wrote, len(items) + len(chosen.broken), allowed)


def _jobs(
    names: Sequence[str],
    levels: Sequence[str],
    scenes: Mapping[str, Scene],
    entries: Entries,
    seed: int,
) -> dict[str, _Job]:
    """What is still to be made, by a name for it."""
    from creval.build.chains.complexbench import types_of
    from creval.build.chains.kinds import LEVELS

    return {
        f"{level}: {name}": _Job(name, types_of(name, level, scenes[name], seed, turn))
        for turn, name in enumerate(names)
        for level in levels
        if not entries.has(LEVELS[level], name)
    }


def _objects(
    names: list[str], source: Path, folder: Path, coco: str | None, models: Any
) -> dict[str, list[Found]]:
    """What is in the pictures, from annotations or from a detector."""
    from creval.core.errors import CrevalError

    if (coco is None) == ("boxes" not in models):
        raise CrevalError("give --coco FILE, or --gauge boxes=MODEL to let a detector look.")
    if coco is not None:
        from creval.benchmarks.coco import read_pictures

        return read_pictures(Path(coco))
    from creval.build.chains.detected import detected
    from creval.gauges.boxes import Detector

    line = screen.Line()
    try:
        return detected(
            folder, {name: source / name for name in names}, models["boxes"],
            Detector(models["boxes"]).find, screen.counting(line, "pictures looked at"),
        )  # fmt: skip
    finally:
        line.clear()


def _tell_choice(chosen: Chosen) -> None:
    from creval.report.text import many

    screen.note(f"{many(len(chosen.scenes), 'picture')} kept.")
    for reason, number in chosen.unsuited.most_common():
        screen.note(f"{many(number, 'picture')} not kept: {reason}.")


def _keep(
    entries: Entries, jobs: dict[str, _Job], wrote: Wrote[Any], source: Path, by: dict[str, Any]
) -> dict[str, str]:
    """Write what was made; two pictures of one name cannot both be kept."""
    clashes = {}
    for identity, job in jobs.items():
        if identity in wrote.made:
            if entries.has((job.types.subset,), job.name):
                clashes[identity] = "another picture has this name"
                del wrote.made[identity]
                continue
            found = wrote.made[identity]
            entries.add(job.types.subset, job.name, source / job.name, found, by)
    if any(entries.subsets.values()):
        entries.save()
    return clashes


def _tell_kinds(entries: Entries, wrote: Wrote[Any], folder: Path, json: bool) -> None:
    from creval.benchmarks.complexbench_release import KINDS, SUBSETS
    from creval.report.built import edit_types

    counts = {
        subset: Counter(
            str(pair.get("edit_type"))
            for entry in entries.subsets[subset].values()
            for pair in entry.get("edit pair", ())
        )
        for subset in SUBSETS
    }
    found = edit_types(counts, KINDS)
    if json:
        screen.print_json({**building.facts_of(wrote), **found.as_json()})
    else:
        screen.show(found)
    screen.note(f"Now: creval bench {quote(str(folder))}")
