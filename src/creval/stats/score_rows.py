"""Score tables from rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from creval.core.human_ratings import ScoreRow
from creval.core.schema import OVERALL, Metric, ScoreSchema
from creval.stats.score_table import Floats, ScoreTable


def table_from_rows(rows: Sequence[ScoreRow], lower_is_better: Iterable[str] = ()) -> ScoreTable:
    """Return the scores of a file as a table. The file's first metric is the ranking column."""
    metrics, models, samples = (_number(getattr(row, name) for row in rows) for name in ("metric", "model", "sample"))
    values = np.full((len(models), len(samples), len(metrics)), np.nan)
    for row in rows:
        values[models[row.model], samples[row.sample], metrics[row.metric]] = row.score
    sources = {row.sample: row.source or row.sample for row in rows}
    scored = (~np.isnan(values)).astype(np.int64)
    lower = set(lower_is_better)
    schema = ScoreSchema(
        metrics=tuple(
            Metric(name, name, *_range_of(values[..., at]), higher_is_better=name not in lower)
            for name, at in metrics.items()
        ),
        composite=None,
        levels=(OVERALL,),
        rank_by=next(iter(metrics)),
    )
    return ScoreTable(
        schema=schema,
        models=tuple(models),
        samples=tuple(samples),
        groups={},
        values=values,
        scored=scored,
        total=scored,
        unanswered=dict.fromkeys(models, 0),
        unasked=dict.fromkeys(models, 0),
        clusters=np.unique([sources[name] for name in samples], return_inverse=True)[1].reshape(-1),
    )


def _number(names: Iterable[str]) -> Mapping[str, int]:
    """Return the index of each distinct name, in the order of first occurrence."""
    found: dict[str, int] = {}
    for name in names:
        found.setdefault(name, len(found))
    return found


def _range_of(values: Floats) -> tuple[float, float]:
    return float(np.nanmin(values)), float(np.nanmax(values))
