"""`creval measure`: gauges on a benchmark's edits, or on pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from creval.metrics.base import Gauge


def measure(
    gauge_names: Annotated[
        str, typer.Argument(metavar="GAUGE[,GAUGE]", help="What to measure (creval gauges).")
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SOURCE] EDIT", help="Two pictures, or one, as the gauge needs."),
    ] = None,
    edits: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR...", help="A folder for each model: DIR or NAME=DIR."),
    ] = None,
    bench: Annotated[
        str | None, typer.Option(metavar="BENCH", help="The benchmark that the edits are of.")
    ] = None,
    gauge: Annotated[
        list[str] | None,
        typer.Option(metavar="USE=MODEL", help="Measure with a model: clip=ORG/NAME or a folder."),
    ] = None,
    mask: Annotated[
        str | None, typer.Option(metavar="FILE", help="White is what was to be edited.")
    ] = None,
    caption: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the edit is to show.")
    ] = None,
    source_caption: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the source shows.")
    ] = None,
    wanted: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text that is to be there.")
    ] = None,
    removed: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text that is to be gone.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N samples.")] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Keep what models make there, and use what is kept."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Every value: .csv, .parquet or .json.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Measure a benchmark's edits, or one or two pictures, with gauges."""
    from creval.metrics.base import check_uses, open_gauges

    models = options.models_by_use(gauge or ())
    names = options.names(gauge_names, "GAUGE") or ()
    gauges = open_gauges(names, models)
    check_uses(models, gauges)
    if edits and bench:
        _refuse("one or two pictures, not with --edits and --bench", {
            "--mask": mask, "--caption": caption, "--source-caption": source_caption,
            "--wanted": wanted, "--removed": removed,
        })  # fmt: skip
        _measure_edits(gauges, [*edits, *(files or ())], bench, limit, run, out, json)
    elif files and not (edits or bench):
        _refuse("--edits and --bench", {"--limit": limit, "--run": run, "--out": out})
        given = {name: texts for name, texts in (("wanted", wanted), ("removed", removed)) if texts}
        _check_texts(given)
        captions = {"source": source_caption or "", "target": caption or ""}
        _measure_files(gauges, files, mask, captions, given, json)
    else:
        raise CrevalError(
            "give what to measure: two pictures (creval measure ssim a.png b.png), or --edits DIR "
            "--bench BENCH."
        )


def _refuse(belongs: str, options: Mapping[str, object]) -> None:
    """Refuse options that would be passed over."""
    for name, value in options.items():
        if value is not None and value != []:
            raise CrevalError(f"{name} goes with {belongs}.")


def _check_texts(given: Mapping[str, Sequence[str]]) -> None:
    from creval.metrics.requested_text import plain

    for name, texts in given.items():
        if not all(map(plain, texts)):
            raise CrevalError(f"--{name} takes a text that can be read, not an empty one.")


def _measure_files(
    gauges: Mapping[str, Gauge],
    files: Sequence[str],
    mask: str | None,
    captions: Mapping[str, str],
    given: Mapping[str, Any],
    json: bool,
) -> None:
    from creval.core.formatting import visible
    from creval.core.images import size_of
    from creval.core.sample import Sample
    from creval.metrics.batch import Job, measure_all, values_of
    from creval.metrics.embeddings import Embeddings
    from creval.metrics.inputs import Exhibit, Shelf

    if len(files) > 2:
        raise CrevalError("give one picture, or two: what it is compared with, and the edit.")
    if mask is not None and not mask.strip():
        raise CrevalError("--mask takes a file, and none is named.")
    for file in (*files, *([mask] if mask else [])):
        size_of(file)  # what is no picture is said before anything is measured
    first = Path(files[0]) if len(files) == 2 else None
    sample = Sample(
        "pictures", "", first, mask=Path(mask) if mask else None,
        references=(first,) if first else (), captions=captions,
    )  # fmt: skip
    shelf = Shelf()
    jobs = [Job(gauge, Exhibit(sample, Path(files[-1]), shelf, given)) for gauge in gauges.values()]
    values: dict[str, float] = {}
    unmeasured: dict[str, str] = {}
    for name, outcome in zip(gauges, measure_all(jobs, Embeddings()), strict=True):
        values |= values_of(outcome)
        if isinstance(outcome, Exception):
            unmeasured[name] = str(outcome) or repr(outcome)
    if json:
        console.print_json({**values, **({"unmeasured": unmeasured} if unmeasured else {})})
    else:
        for name, value in values.items():
            print(f"{visible(name)}  {value:.6g}")
        for name, reason in unmeasured.items():
            console.note(visible(f"{name} not measured: {reason}"))
    if not values:
        raise typer.Exit(1)


def _measure_edits(
    gauges: Mapping[str, Gauge],
    edits: Sequence[str],
    bench: str,
    limit: int | None,
    run: str | None,
    out: str | None,
    json: bool,
) -> None:
    from creval.analysis.measure_edits import gauge_edits
    from creval.benchmarks import open_benchmark
    from creval.metrics.embeddings import Embeddings
    from creval.report.commands.metrics import check_out, found, write_rows
    from creval.store.embedding_cache import Vectors

    if out is not None:
        check_out(Path(out))
    if run is not None:
        _check_run(run)
    benchmark = open_benchmark(bench)
    line = console.Line()
    keeper = None
    if run is not None:
        Path(run).mkdir(parents=True, exist_ok=True)
        keeper = Vectors(run)
    try:
        done = gauge_edits(
            benchmark, edits, gauges, Embeddings(keeper), limit=limit,
            watch=console.counting(line, "edits measured"),
        )  # fmt: skip
    finally:
        line.clear()
        if keeper is not None:
            keeper.close()
    cards = [gauge.card for gauge in gauges.values()]
    if out is not None:
        write_rows(Path(out), done, cards)
        console.note(f"written: {out}")
    console.show(found(done, cards), json)
    if not any(one.values for one in done):
        raise typer.Exit(1)


def _check_run(run: str) -> None:
    if not run.strip():
        raise CrevalError("--run takes a folder, and none is named.")
    if Path(run).exists() and not Path(run).is_dir():
        raise CrevalError(f"--run takes a folder, and {run} is a file.")
