"""The numbers that the benchmarks' papers published."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.errors import CrevalError, require_known
from creval.core.published_numbers import Publication, PublishedValue
from creval.reporting.result import Result


def published(
    benchmark: str | None = None,
    *,
    tables: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
) -> Result[tuple[PublishedValue, ...]]:
    """Return the published numbers of a benchmark, or of all benchmarks, as a frame and as tables.

    `tables`, `models` and `metrics` select values by name; case and punctuation are ignored. Without a selection, the
    frame has all values and the tables are an overview.
    """
    from creval.analysis.published_scores import publications
    from creval.reporting.commands import published_output as output

    known = publications()
    if benchmark is None:
        if tables is not None or models is not None or metrics:
            raise CrevalError("`tables`, `models` and `metrics` select values of one benchmark: give its name.")
        everything = [(of, value) for of in known.values() for value in of.values]
        records = [record for of, value in everything for record in output.published_records(of, [value])]
        return Result(tuple(value for _, value in everything), output.overview_output(known), records)
    publication = known[require_known("benchmark with published numbers", benchmark.casefold(), known)]
    selected = tables is not None or models is not None or bool(metrics)
    values = publication.select(tables, models, metrics)
    shown = output.publication_output(publication, values, with_values=selected)
    return Result(values, shown, output.published_records(publication, values))


def publication_of(benchmark: str) -> Publication:
    """Return the published numbers of a benchmark with its tables, models and notes."""
    from creval.analysis.published_scores import publications

    known = publications()
    return known[require_known("benchmark with published numbers", benchmark.casefold(), known)]
