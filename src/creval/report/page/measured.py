"""What gauges measured of a sample's edits, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from creval.core.probe import Measurement, Probe
from creval.report.findings import Grid
from creval.report.text import measurement
from creval.store.run import Answer


def measured(
    probes: Sequence[Probe],
    systems: Sequence[str],
    answers: Mapping[tuple[str, str], Sequence[Answer]],
) -> Grid | None:
    """Each measurement in a row, each model in a column; none where nothing is measured.

    `answers` are by model and probe, one for each draw.
    """
    rows = [
        [measurement(probe.id, probe.metric)]
        + [", ".join(map(_number, answers.get((name, probe.id), ()))) or "–" for name in systems]
        for probe in probes
        if isinstance(probe, Measurement)
    ]
    return Grid(["measured", *systems], rows) if rows else None


def _number(answer: Answer) -> str:
    return answer.status if answer.value is None else f"{answer.value:.4g}"
