"""How much scores vary when they are measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creval.core.formatting import visible
from creval.report.output import FAINT, Findings, Grid, Spot

if TYPE_CHECKING:
    from creval.analysis.repeats import Repeats

_FURTHER = (1, 2, 5, 10, 20, 50)


def repeats(found: Repeats, error: float | None) -> Findings:
    """The variation of means of K measurements, and the K that a wanted error needs."""
    metrics = list(found.values)
    counts = {count for observed in found.observed.values() for count in observed}
    rows = []
    for count in sorted({*counts, *_FURTHER}):
        mark = "" if count in counts else FAINT
        shown = (f"{found.variation(metric, count):.3f}" for metric in metrics)
        rows.append([Spot(words, mark=mark) for words in (f"{count}", *shown)])
    note = (
        "The variation of a sample's mean over so many measurements: half the range of four such "
        "means over distinct measurements, averaged over samples. Dim rows are not observed; they "
        "follow from how single measurements scatter."
    )
    data = {
        "metrics": {
            metric: {
                "measurements": int(found.values[metric].shape[1]),
                "deviation": found.deviation[metric],
                "variation": {str(n): v for n, v in found.observed[metric].items()},
                "needed": None if error is None else found.needed(metric, error),
            }
            for metric in metrics
        }
    }
    grid = Grid(["measurements", *metrics], rows, left=0)
    return Findings([_scatter(found, error)], [grid], data, [note])


def _scatter(found: Repeats, error: float | None) -> str:
    parts = [f"{visible(metric)} by {value:.2f}" for metric, value in found.deviation.items()]
    sentence = (
        f"Measured again, a sample's scores scatter: {', '.join(parts)} (standard deviation)."
    )
    if error is None:
        return sentence
    needed = {metric: found.needed(metric, error) for metric in found.values}
    words = [f"{visible(m)} {'too many' if n is None else n}" for m, n in needed.items()]
    return f"{sentence} A variation of {error:g} takes, in measurements: {', '.join(words)}."
