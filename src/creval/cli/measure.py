"""`creval measure`: metrics of a benchmark's edits, or of images."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from creval.analysis.measure_edits import MeasuredEdit
    from creval.reporting.result import Result


def measure(
    metric_names: Annotated[
        str,
        typer.Argument(
            metavar="METRIC[,METRIC]",
            help="Metrics to measure (creval metrics).",
            autocompletion=options.complete_names("metrics"),
        ),
    ],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE] EDIT", help="One or two images, depending on the metric.")
    ] = None,
    edits: Annotated[
        list[str] | None, typer.Option(metavar="DIR...", help="Folder of each model's edits: DIR or NAME=DIR.")
    ] = None,
    bench: Annotated[str | None, typer.Option(metavar="BENCH", help="The benchmark of the edits.")] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(metavar="USE=MODEL", help="Model of a metric: clip=ORG/NAME or a folder.")
    ] = None,
    mask: Annotated[str | None, typer.Option(metavar="FILE", help="Mask; white is the region to edit.")] = None,
    caption: Annotated[str | None, typer.Option(metavar="TEXT", help="Description of the expected edit.")] = None,
    source_caption: Annotated[str | None, typer.Option(metavar="TEXT", help="Description of the source.")] = None,
    wanted: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Text that the edit should contain.")] = None,
    removed: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Text that the edit should not contain.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N samples.")] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Cache what the metrics' models compute in this run's folder.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="File for all values: .csv, .parquet or .json.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Measure a benchmark's edits, or one or two images."""
    from creval.api import runs

    program = metric_names.startswith("command:")
    names = (metric_names,) if program else options.parse_names(metric_names, "METRIC") or ()
    measuring = partial(runs.measure, names, metric_models=options.parse_metric_models(metric_model or ()))
    if edits and bench:
        _refuse_options(
            "one or two images, not with --edits and --bench",
            {
                "--mask": mask,
                "--caption": caption,
                "--source-caption": source_caption,
                "--wanted": wanted,
                "--removed": removed,
            },
        )
        if run is not None:
            _check_run(run)
        given = [*edits, *(files or ())]
        _measure_edits(names, partial(measuring, edits=given, bench=bench, limit=limit, cache=run), out, json)
    elif files and not (edits or bench):
        _refuse_options("--edits and --bench", {"--limit": limit, "--run": run, "--out": out})
        found = measuring(
            *files,
            mask=mask,
            caption=caption or "",
            source_caption=source_caption or "",
            wanted=wanted or (),
            removed=removed or (),
        )
        _print_values(found.value[0], json)
    else:
        raise CrevalError(
            "nothing to measure: give two images (creval measure ssim a.png b.png), or --edits DIR --bench BENCH."
        )


def _refuse_options(context: str, options: Mapping[str, object]) -> None:
    """Raise an error if options were given that have no effect here."""
    for name, value in options.items():
        if value is not None and value != []:
            raise CrevalError(f"{name} can only be used with {context}.")


def _print_values(measured: MeasuredEdit, json: bool) -> None:
    from creval.core.formatting import escape_control

    if json:
        console.print_json({**measured.values, **({"unmeasured": measured.reasons} if measured.reasons else {})})
    else:
        for name, value in measured.values.items():
            print(f"{escape_control(name)}  {value:.6g}")
        for name, reason in measured.reasons.items():
            console.print_note(f"{name} not measured: {reason}")
    if not measured.values:
        raise typer.Exit(1)


def _measure_edits(
    names: Sequence[str], measuring: Callable[[], Result[Sequence[MeasuredEdit]]], out: str | None, json: bool
) -> None:
    from creval.metrics.base import image_metric_class
    from creval.reporting.commands.metrics_output import require_writable, write_measurements

    if out is not None:
        require_writable(Path(out))
    found = measuring()
    if out is not None:
        write_measurements(Path(out), found.value, [image_metric_class(name).info for name in names])
        console.print_note(f"written: {out}")
    console.print_output(found.output, json)
    if not any(one.values for one in found.value):
        raise typer.Exit(1)


def _check_run(run: str) -> None:
    if not run.strip():
        raise CrevalError("--run takes the name of a folder, not an empty string.")
    if Path(run).exists() and not Path(run).is_dir():
        raise CrevalError(f"--run takes a folder, but {run} is a file.")


def metrics(json: options.Json = False) -> None:
    """List the metrics, whether they are installed, what to install, and the licences."""
    from creval import registry
    from creval.metrics.availability import metric_availability
    from creval.metrics.base import image_metric_class
    from creval.reporting.commands.metrics_output import metric_list_output

    infos = {name: image_metric_class(name).info for name in registry.metrics.names()}
    packages = {info.name: registry.metrics.origin(name) for name, info in infos.items()}
    listed = [(info, metric_availability(info)) for info in infos.values()]
    console.print_output(metric_list_output(listed, packages), json)
