"""`creval measure`: gauges on a benchmark's edits, or on pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from creval.metrics.base import ImageMetric


def measure(
    metric_names: Annotated[str, typer.Argument(metavar="METRIC[,METRIC]", help="What to measure (creval metrics).")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[SOURCE] EDIT", help="Two pictures, or one, as the gauge needs.")
    ] = None,
    edits: Annotated[
        list[str] | None, typer.Option(metavar="DIR...", help="A folder for each model: DIR or NAME=DIR.")
    ] = None,
    bench: Annotated[str | None, typer.Option(metavar="BENCH", help="The benchmark that the edits are of.")] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(metavar="USE=MODEL", help="Measure with a model: clip=ORG/NAME or a folder.")
    ] = None,
    mask: Annotated[str | None, typer.Option(metavar="FILE", help="White is what was to be edited.")] = None,
    caption: Annotated[str | None, typer.Option(metavar="TEXT", help="What the edit is to show.")] = None,
    source_caption: Annotated[str | None, typer.Option(metavar="TEXT", help="What the source shows.")] = None,
    wanted: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A text that is to be there.")] = None,
    removed: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A text that is to be gone.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N samples.")] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Keep what models make there, and use what is kept.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Every value: .csv, .parquet or .json.")] = None,
    json: options.Json = False,
) -> None:
    """Measure a benchmark's edits, or one or two pictures, with gauges."""
    from creval.metrics.base import open_image_metrics, require_used_slots

    models = options.parse_metric_models(metric_model or ())
    names = options.parse_names(metric_names, "GAUGE") or ()
    gauges = open_image_metrics(names, models)
    require_used_slots(models, gauges)
    if edits and bench:
        _refuse_options(
            "one or two pictures, not with --edits and --bench",
            {
                "--mask": mask,
                "--caption": caption,
                "--source-caption": source_caption,
                "--wanted": wanted,
                "--removed": removed,
            },
        )
        _measure_edits(gauges, [*edits, *(files or ())], bench, limit, run, out, json)
    elif files and not (edits or bench):
        _refuse_options("--edits and --bench", {"--limit": limit, "--run": run, "--out": out})
        given = {name: texts for name, texts in (("wanted", wanted), ("removed", removed)) if texts}
        _check_texts(given)
        captions = {"source": source_caption or "", "target": caption or ""}
        _measure_files(gauges, files, mask, captions, given, json)
    else:
        raise CrevalError(
            "give what to measure: two pictures (creval measure ssim a.png b.png), or --edits DIR --bench BENCH."
        )


def _refuse_options(context: str, options: Mapping[str, object]) -> None:
    """Refuse options that would be passed over."""
    for name, value in options.items():
        if value is not None and value != []:
            raise CrevalError(f"{name} goes with {context}.")


def _check_texts(given: Mapping[str, Sequence[str]]) -> None:
    from creval.metrics.requested_text import normalise_for_comparison

    for name, texts in given.items():
        if not all(map(normalise_for_comparison, texts)):
            raise CrevalError(f"--{name} takes a text that can be read, not an empty one.")


def _measure_files(
    gauges: Mapping[str, ImageMetric],
    files: Sequence[str],
    mask: str | None,
    captions: Mapping[str, str],
    given: Mapping[str, Any],
    json: bool,
) -> None:
    from creval.core.formatting import escape_control
    from creval.core.images import read_image_size
    from creval.core.sample import Sample
    from creval.metrics.batch import MetricJob, evaluate_batch, measured_values
    from creval.metrics.features import FeatureCache
    from creval.metrics.metric_inputs import ImageCache, MetricInputs

    if len(files) > 2:
        raise CrevalError("give one picture, or two: what it is compared with, and the edit.")
    if mask is not None and not mask.strip():
        raise CrevalError("--mask takes a file, and none is named.")
    for file in (*files, *([mask] if mask else [])):
        read_image_size(file)  # what is no picture is said before anything is measured
    first = Path(files[0]) if len(files) == 2 else None
    sample = Sample(
        "pictures",
        "",
        first,
        mask=Path(mask) if mask else None,
        references=(first,) if first else (),
        captions=captions,
    )
    shelf = ImageCache()
    jobs = [MetricJob(gauge, MetricInputs(sample, Path(files[-1]), shelf, given)) for gauge in gauges.values()]
    values: dict[str, float] = {}
    unmeasured: dict[str, str] = {}
    for name, outcome in zip(gauges, evaluate_batch(jobs, FeatureCache()), strict=True):
        values |= measured_values(outcome)
        if isinstance(outcome, Exception):
            unmeasured[name] = str(outcome) or repr(outcome)
    if json:
        console.print_json({**values, **({"unmeasured": unmeasured} if unmeasured else {})})
    else:
        for name, value in values.items():
            print(f"{escape_control(name)}  {value:.6g}")
        for name, reason in unmeasured.items():
            console.print_note(escape_control(f"{name} not measured: {reason}"))
    if not values:
        raise typer.Exit(1)


def _measure_edits(
    gauges: Mapping[str, ImageMetric],
    edits: Sequence[str],
    bench: str,
    limit: int | None,
    run: str | None,
    out: str | None,
    json: bool,
) -> None:
    from creval.analysis.measure_edits import measure_edits
    from creval.benchmarks import open_benchmark
    from creval.metrics.features import FeatureCache
    from creval.reporting.commands.metrics_output import measurements_output, require_writable, write_measurements
    from creval.store.feature_cache_file import FeatureCacheFile

    if out is not None:
        require_writable(Path(out))
    if run is not None:
        _check_run(run)
    benchmark = open_benchmark(bench)
    line = console.ProgressLine()
    keeper = None
    if run is not None:
        Path(run).mkdir(parents=True, exist_ok=True)
        keeper = FeatureCacheFile(run)
    try:
        done = measure_edits(
            benchmark,
            edits,
            gauges,
            FeatureCache(keeper),
            limit=limit,
            on_progress=console.count_progress(line, "edits measured"),
        )
    finally:
        line.clear()
        if keeper is not None:
            keeper.close()
    cards = [gauge.info for gauge in gauges.values()]
    if out is not None:
        write_measurements(Path(out), done, cards)
        console.print_note(f"written: {out}")
    console.print_output(measurements_output(done, cards), json)
    if not any(one.values for one in done):
        raise typer.Exit(1)


def _check_run(run: str) -> None:
    if not run.strip():
        raise CrevalError("--run takes a folder, and none is named.")
    if Path(run).exists() and not Path(run).is_dir():
        raise CrevalError(f"--run takes a folder, and {run} is a file.")
