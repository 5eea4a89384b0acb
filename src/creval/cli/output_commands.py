"""Commands that output a run or a benchmark: pages, plots, files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import console, options

_LARGE = 15.0  # MB
_PLOT_KINDS = "radar, forest, plane, weights, complexity, repeats, groups, cost, best-of, sources"


def report(
    runs: options.Sources,
    out: Annotated[str, typer.Option(metavar="FILE", help="The file to write, a single HTML page.")] = "report.html",
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = None,
    common_samples: options.CommonSamples = False,
    models: options.Models = None,
    groups: options.Groups = None,
    images: Annotated[
        str, typer.Option(metavar="inside|link", help="Embed thumbnails in the page, or link to the image files.")
    ] = "inside",
    samples: Annotated[int, typer.Option(min=0, max=100, help="Number of samples of each kind to show.")] = 6,
    published: options.Published = False,
    label: options.Label = None,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Write a report page: conclusions, tables, plots and samples."""
    from creval.api import outputs

    run, *beside = runs
    options.keep_labels(run, label)
    scoring = options.scoring(strict, subset, weights, models, missing, common_samples, resamples, seed)
    path = outputs.report(
        run,
        out,
        images=images,
        samples=samples,
        groups=options.parse_groups(groups),
        beside=beside,
        published=published,
        **scoring,
    )
    size = path.stat().st_size / 1e6
    console.print_note(f"wrote {out} ({size:.1f} MB)")
    if size > _LARGE:
        console.print_note("This is large for a page. Show fewer with --samples N, or embed none with --images link.")


def view(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, or a folder that contains runs.")],
    subset: options.Subset = None,
    weights: options.Weights = None,
    missing: options.Missing = None,
    models: options.Models = None,
    label: options.Label = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    token: options.Token = False,
    open_: options.Open = False,
) -> None:
    """Browse a run, or a folder of runs: scores, samples, questions, answers, images."""
    from creval.api import outputs

    options.keep_labels(run, label)
    outputs.view(
        run,
        host=host,
        port=port,
        open_browser=open_,
        token=token,
        subset=subset,
        weights=weights,
        missing=missing,
        models=options.parse_names(models, "--models"),
    )


def plot(
    runs: options.Sources,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"{_PLOT_KINDS}.", autocompletion=lambda: _PLOT_KINDS.split(", "))
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="The file to write: .svg, .png or .pdf.")],
    level: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Level of the groups: category, dimension ...")
    ] = None,
    models: options.Models = None,
    metrics: Annotated[str | None, typer.Option(metavar="IF,VC", help="Only these metrics, joined by commas.")] = None,
    human: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Human ratings for the plot `weights`: mark the weights that agree best with them."
        ),
    ] = None,
    scale: options.Scale = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = None,
    common_samples: options.CommonSamples = False,
    published: options.Published = False,
    label: options.Label = None,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Plot a run: radar, forest, plane, weights, complexity, repeats, groups, cost, best-of or sources."""
    from creval.api import outputs

    run, *beside = runs
    options.keep_labels(run, label)
    scoring = options.scoring(strict, subset, weights, models, missing, common_samples, resamples, seed)
    names = options.parse_names(metrics, "--metrics") or ()
    outputs.plot(
        run,
        kind,
        out,
        level=level,
        metrics=names,
        human=human,
        scale=scale,
        beside=beside,
        published=published,
        **scoring,
    )
    console.print_note(f"wrote {out}: {outputs.PLOT_KINDS[kind]}")


def export(
    runs: options.Sources,
    out: Annotated[str, typer.Option(metavar="DIR", help="The folder to write.")],
    models: options.Models = None,
    groups: options.Groups = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = None,
    common_samples: options.CommonSamples = False,
    force: Annotated[bool, typer.Option("--force", help="Write into the folder even if it has other files.")] = False,
    label: options.Label = None,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Write verdicts and scores as Parquet and CSV, tables for papers, and JSON."""
    from creval.api import outputs

    run, *beside = runs
    options.keep_labels(run, label)
    scoring = options.scoring(strict, subset, weights, models, missing, common_samples, resamples, seed)
    files = outputs.export(run, out, force=force, groups=options.parse_groups(groups), beside=beside, **scoring)
    console.print_note(f"wrote {len(files)} files into {out}; {Path(out) / 'README.md'} describes them")


def review(
    bench: options.Benchmark,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    token: options.Token = False,
    open_: options.Open = False,
    as_: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Your name. Named reviewers do not see each other's verdicts.")
    ] = "",
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Print how far named reviewers agree, and where they differ.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Review a built benchmark in a browser: accept, change or drop samples."""
    if agreement:
        from creval.api.reviews import review_agreement

        console.print_output(review_agreement(bench).output, json)
        return
    from creval.building.review.loader import open_review
    from creval.web.review.app import serve_review

    serve_review(open_review(Path(bench), as_), host, port, open_, token)
