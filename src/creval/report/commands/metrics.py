"""What gauges there are, and what they found, as tables and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from errno import EISDIR
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.errors import CrevalError
from creval.core.files import write_whole
from creval.core.formatting import interval, many, value, visible
from creval.core.schema import Metric
from creval.metrics.availability import Readiness
from creval.metrics.base import GaugeCard
from creval.report.output import Findings, Grid, Row, Spot
from creval.stats.intervals import Estimate, mean

if TYPE_CHECKING:
    from creval.analysis.measure_edits import Gauged
    from creval.core.edit import EditKey

_REASONS = 8  # in notes
_NOTHING_TO_MEASURE_BY = "the sample and the edit give nothing to measure it by"


def listed(cards: Iterable[tuple[GaugeCard, Readiness]]) -> Findings:
    """All gauges, whether they can run here, and what is to be done first where they cannot."""
    rows: list[Row] = []
    data = []
    to_do: dict[str, list[str]] = {}
    for card, here in cards:
        licences = [model.licence for model in card.models if model.comes != "optional"]
        rows.append(
            [
                Spot(card.name, below=", ".join(card.needs)),
                card.title,
                "; ".join(dict.fromkeys(map(_range, card.values))),
                "; ".join([*licences, *([card.licence] if card.licence else [])]),
                "ready" if here.ready else "not yet",
            ]
        )
        for line in here.to_do:
            to_do.setdefault(line, []).append(card.name)
        data.append({**asdict(card), "ready": here.ready, "to_do": list(here.to_do)})
    heads = ["gauge\nneeds", "measures", "range, better", "licences", "here"]
    # In a column of their own words that are to be copied would be broken.
    first: list[Row] = [[Spot(line, below=f"for {', '.join(of)}")] for line, of in to_do.items()]
    grids = [Grid(heads, rows, left=5), *([Grid(["to do first"], first)] if first else [])]
    note = "A model of your own: --gauge USE=FOLDER or USE=ORG/NAME. docs/gauges.md tells more."
    return Findings((), grids, {"gauges": data}, (note,))


def _range(metric: Metric) -> str:
    return f"{metric.low:g} to {metric.high:g}, {'high' if metric.higher_is_better else 'low'}"


def found(done: Sequence[Gauged], cards: Sequence[GaugeCard]) -> Findings:
    """What gauges found in edits: a row for each model, with means over samples."""
    metrics = [metric for card in cards for metric in card.values]
    by_system: dict[str, list[Gauged]] = {}
    for one in done:
        by_system.setdefault(one.key.system, []).append(one)
    there = [metric for metric in metrics if any(metric.name in one.values for one in done)]
    rows: list[Row] = []
    data = {}
    for system, edits in by_system.items():
        cells = {metric.name: _mean(edits, metric) for metric in there}
        counts = {name: sum(name in one.values for one in edits) for name in cells}
        rows.append(
            [system, f"{len(edits):,}",
             *(_cell(cells[m.name], m, counts[m.name], len(edits)) for m in there)]
        )  # fmt: skip
        data[system] = {
            name: {**cell._asdict(), "measured": counts[name], "edits": len(edits)}
            for name, cell in cells.items()
        }
    heads = ["model", "edits", *(f"{metric.name}{_arrow(metric)}" for metric in there)]
    edits_data = [
        {**one.key._asdict(), "values": dict(one.values), "unmeasured": dict(one.reasons)}
        for one in done
    ]
    return Findings(
        (),
        [Grid(heads, rows)] if there else [],
        {"models": data, "edits": edits_data},
        _unmeasured(done),
    )


def _unmeasured(done: Sequence[Gauged]) -> list[str]:
    """Why edits were not measured, with the gauges and how many edits that concerns."""
    edits: dict[tuple[str, str], list[EditKey]] = {}
    for one in done:
        for gauge, reason in one.reasons.items():
            edits.setdefault((reason, gauge), []).append(one.key)
    # What keeps several gauges from the same edits is said once.
    gauges: dict[tuple[str, tuple[EditKey, ...]], list[str]] = {}
    for (reason, gauge), keys in edits.items():
        gauges.setdefault((reason, tuple(keys)), []).append(gauge)
    often = sorted(gauges.items(), key=lambda entry: -len(entry[0][1]))
    notes = [
        f"{', '.join(names)}: {many(len(keys), 'edit')} not measured: {visible(reason)}"
        for (reason, keys), names in often
    ]
    if len(notes) > _REASONS:
        notes[_REASONS:] = [f"and {many(len(notes) - _REASONS, 'more reason')} (--json has all)"]
    return notes


def _arrow(metric: Metric) -> str:
    return " ↑" if metric.higher_is_better else " ↓"


def _mean(edits: Sequence[Gauged], metric: Metric) -> Estimate:
    """The mean over samples; of several draws of one, their own mean counts."""
    draws: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    for one in edits:
        if metric.name in one.values:
            draws.setdefault(one.key.sample, []).append(one.values[metric.name])
            units[one.key.sample] = one.unit
    values = np.array([sum(several) / len(several) for several in draws.values()])
    found = mean(values, list(units.values()))
    inside = values.size and metric.low <= values.min() and values.max() <= metric.high
    if not inside or found.low is None or found.high is None:
        return found  # a predictor can leave its range
    return found._replace(low=max(found.low, metric.low), high=min(found.high, metric.high))


def _cell(found: Estimate, metric: Metric, measured: int, edits: int) -> Spot:
    """A mean; where not all edits were measured, with how many were."""
    ends = interval(*found.ends, metric.digits)
    share = "" if measured == edits else f"{measured:,} of {edits:,}"
    return Spot(value(found.value, metric.digits), below="  ".join(filter(None, (share, ends))))


def write_rows(path: Path, done: Sequence[Gauged], cards: Sequence[GaugeCard]) -> None:
    """A row for each edit and value, as CSV, Parquet or JSON, by the file's suffix."""
    rows = [row for one in done for card in cards for row in _rows(one, card)]
    try:
        write_whole(path, _written(rows, check_kind(path)))
    except OSError as error:
        raise _unwritable(path, error) from error


def _rows(one: Gauged, card: GaugeCard) -> Iterator[Mapping[str, Any]]:
    """What a gauge found in an edit, and why it did not find the rest."""
    row = {**one.key._asdict(), "gauge": card.name, "value_name": None, "value": None}
    reason = one.reasons.get(card.name)
    if reason is not None and not any(metric.name in one.values for metric in card.values):
        yield {**row, "unmeasured": reason}
        return
    for metric in card.values:
        found = one.values.get(metric.name)
        why = (reason or _NOTHING_TO_MEASURE_BY) if found is None else None
        yield {**row, "value_name": metric.name, "value": found, "unmeasured": why}


def _written(rows: Sequence[Mapping[str, Any]], kind: str) -> bytes:
    if kind == ".json":
        return (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode()
    import polars

    from creval.report.export.files import harmless

    frame = polars.DataFrame(rows, schema=_SCHEMA)
    content = BytesIO()
    if kind == ".csv":
        harmless(frame).write_csv(content)
    else:
        frame.write_parquet(content)
    return content.getvalue()


def check_out(path: Path) -> None:
    """Refuse a file of rows that could not be written in the end."""
    check_kind(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> CrevalError:
    return CrevalError(f"--out {path} cannot be written: {error.strerror or error}.")


def check_kind(path: Path) -> str:
    """The kind of a file of rows, by its suffix."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".json"):
        raise CrevalError(f"--out takes a file that ends in .csv, .parquet or .json, not {path}.")
    return kind


_SCHEMA: Any = {
    "system": str, "sample": str, "draw": int, "gauge": str, "value_name": str, "value": float,
    "unmeasured": str,
}  # fmt: skip
