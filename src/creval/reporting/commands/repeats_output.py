"""Output of `creval repeats`: variation of scores between repeated measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creval.core.formatting import escape_control
from creval.reporting.output import FAINT, CommandOutput, OutputTable, TableCell

if TYPE_CHECKING:
    from creval.analysis.measurement_repeats import RepeatVariation

_EXTRAPOLATED_COUNTS = (1, 2, 5, 10, 20, 50)


def repeats_output(repeats: RepeatVariation, error: float | None) -> CommandOutput:
    """Return the variation of means of K measurements, and the K needed for a given error."""
    metrics = list(repeats.values)
    counts = {count for observed in repeats.observed.values() for count in observed}
    rows = []
    for count in sorted({*counts, *_EXTRAPOLATED_COUNTS}):
        mark = "" if count in counts else FAINT
        shown = (f"{repeats.variation(metric, count):.3f}" for metric in metrics)
        rows.append([TableCell(words, mark=mark) for words in (f"{count}", *shown)])
    note = (
        "Each row: the variation of a sample's mean over this number of measurements. It is half the range of four "
        "such means over distinct measurements, averaged over samples. Dim rows are not observed but extrapolated "
        "from the standard deviation of single measurements."
    )
    data = {
        "metrics": {
            metric: {
                "measurements": int(repeats.values[metric].shape[1]),
                "deviation": repeats.standard_deviation[metric],
                "variation": {str(n): v for n, v in repeats.observed[metric].items()},
                "needed": None if error is None else repeats.repeats_needed(metric, error),
            }
            for metric in metrics
        }
    }
    grid = OutputTable(["measurements", *metrics], rows, text_columns=0)
    return CommandOutput([_scatter_sentence(repeats, error)], [grid], data, [note])


def _scatter_sentence(repeats: RepeatVariation, error: float | None) -> str:
    parts = [f"{escape_control(metric)} {value:.2f}" for metric, value in repeats.standard_deviation.items()]
    sentence = f"Standard deviation of a sample's score between repeated measurements: {', '.join(parts)}."
    if error is None:
        return sentence
    needed = {metric: repeats.repeats_needed(metric, error) for metric in repeats.values}
    words = [f"{escape_control(m)} {'too many' if n is None else n}" for m, n in needed.items()]
    return f"{sentence} Measurements needed for a variation of {error:g}: {', '.join(words)}."
