"""Scores of several runs and score files side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from creval.analysis.scoring_options import ScoringOptions
from creval.core.errors import CrevalError, require_known
from creval.reporting.result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from creval.stats.source_agreement import SourceComparison


def compare_sources(
    sources: Sequence[str | Path],
    pair: Sequence[str] = (),
    *,
    metrics: Sequence[str] = (),
    lower: Sequence[str] = (),
    **scoring: Unpack[ScoringOptions],
) -> Result[SourceComparison]:
    """Compare scores from several runs and score files: ranks, rank correlations, and pairs in opposite order.

    A source is the folder of a run, a file of scores or the folder of an export, optionally named, such as
    `gpt4o=runs/a`. With a `pair` of models, show their difference in each source instead. `metrics` selects columns;
    the default is the column that ranks a run, and every metric of a file. `lower` names metrics in files that are
    better when lower.
    """
    from creval.reporting.commands.sources_output import source_differences_output, source_records, sources_output

    found = read_comparison(sources, metrics=metrics, lower=lower, **scoring)
    if not pair:
        return Result(found, sources_output(found), source_records(found))
    first, second = pair
    if first == second:
        raise CrevalError(f"{first!r} is given twice; give two different models.")
    for name in pair:
        require_known("model", name, found.models)
    output = source_differences_output(found, first, second)
    return Result(found, output, output.data["sources"])


def read_comparison(
    sources: Sequence[str | Path],
    *,
    metrics: Sequence[str] = (),
    lower: Sequence[str] = (),
    **scoring: Unpack[ScoringOptions],
) -> SourceComparison:
    """Read several runs and score files, and compare each pair of them."""
    from creval.analysis.score_sources import read_sources
    from creval.stats.source_agreement import compare_sources as compare

    read = read_sources(sources, scoring, metrics=metrics, lower=lower)
    return compare(read, resamples=scoring.get("resamples", 2_000), seed=scoring.get("seed", 0))
