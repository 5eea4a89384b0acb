"""`creval plot`: a run as an image, for a paper or a page."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options

_PLOT_KINDS = "radar, forest, plane, weights, complexity, repeats, groups, cost"


def plot(
    run: options.RunFolder,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{_PLOT_KINDS}.")],
    out: Annotated[str, typer.Option(metavar="FILE", help="The plot: .svg, .png or .pdf.")],
    level: Annotated[str | None, typer.Option(metavar="LEVEL", help="Whose groups: category, dimension ...")] = None,
    models: options.Models = None,
    metrics: Annotated[str | None, typer.Option(metavar="IF,VC", help="Only these metrics, joined by commas.")] = None,
    human: Annotated[
        str | None, typer.Option(metavar="FILE", help="With weights: mark those that people agree with most.")
    ] = None,
    scale: options.Scale = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = "exclude",
    common_samples: options.CommonSamples = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Draw a run: radar, forest, plane, weights, complexity, repeats, groups or cost."""
    from creval.api import outputs
    from creval.store import open_run

    with open_run(run) as opened:
        outputs.plot(
            opened,
            kind,
            out,
            level=level,
            metrics=options.parse_names(metrics, "--metrics") or (),
            human=human,
            scale=scale,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            models=options.parse_names(models, "--models"),
            resamples=resamples,
            seed=seed,
            missing=missing,
            common_samples=common_samples,
        )
    console.print_note(f"wrote {out}: {outputs.PLOT_KINDS[kind]}")
