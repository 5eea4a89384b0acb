"""Contents of a benchmark."""

from __future__ import annotations

from pathlib import Path

from creval.analysis.benchmark_contents import BenchmarkContents
from creval.api.inputs import BenchmarkLike, as_benchmark


def describe_benchmark(bench: BenchmarkLike, plot: str | Path | None = None) -> BenchmarkContents:
    """Return the contents of a benchmark as counts, and its problems. `as_json()` returns all of it.

    `plot` is a file (.svg, .png or .pdf) for the distribution plot, which
    `creval.reporting.plots.distribution(contents)` returns as a figure.
    """
    from creval.reporting.plots.files import check_suffix

    if plot is not None:
        check_suffix(plot, "plot")
    contents = BenchmarkContents(as_benchmark(bench))
    if plot is not None:
        from creval.reporting.plots import distribution, save_figure

        save_figure(distribution(contents), plot)
    return contents
