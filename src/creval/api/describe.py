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
    if plot is None:
        return BenchmarkContents(as_benchmark(bench))
    from creval.reporting import plots

    plots.check_suffix(plot, "plot")
    contents = BenchmarkContents(as_benchmark(bench))
    plots.save_figure(plots.distribution(contents), plot)
    return contents
