"""Output of `creval metrics` and `creval measure`: available metrics and measured values, as tables and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from errno import EISDIR
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.files import atomic_write
from creval.core.formatting import escape_control, pluralise
from creval.core.schema import Metric
from creval.metrics.availability import MetricAvailability
from creval.metrics.base import MetricInfo
from creval.reporting.numbers import estimate_cell
from creval.reporting.output import CommandOutput, OutputTable, Row, TableCell
from creval.stats.intervals import Estimate, clustered_mean

if TYPE_CHECKING:
    from creval.analysis.measure_edits import MeasuredEdit

_MAX_REASONS = 8  # reasons listed in notes
_NOT_APPLICABLE = "not applicable to this sample and edit"


def metric_list_output(
    metric_infos: Iterable[tuple[MetricInfo, MetricAvailability]], packages: Mapping[str, str] = MappingProxyType({})
) -> CommandOutput:
    """Return all metrics, whether they can run here, and what must be installed first.

    `packages` names the package of each metric that does not come with creval.
    """
    rows: list[Row] = []
    data = []
    to_do: dict[str, list[str]] = {}
    for card, here in metric_infos:
        licences = [model.licence for model in card.models if model.origin != "optional"]
        rows.append(
            [
                TableCell(card.name, below=", ".join(card.needs)),
                TableCell(card.title, below=packages.get(card.name, "")),
                "; ".join(dict.fromkeys(map(_format_metric_range, card.values))),
                "; ".join([*licences, *([card.licence] if card.licence else [])]),
                "ready" if here.ready else "not yet",
            ]
        )
        for line in here.to_do:
            to_do.setdefault(line, []).append(card.name)
        package = {"package": packages[card.name]} if packages.get(card.name) else {}
        data.append({**_info_json(card), **package, "ready": here.ready, "to_do": list(here.to_do)})
    heads = ["metric\nneeds", "measures", "range, better", "licences", "status"]
    # A separate table, because commands to copy would be wrapped in a column.
    first: list[Row] = [[TableCell(line, below=f"for {', '.join(of)}")] for line, of in to_do.items()]
    grids = [OutputTable(heads, rows, text_columns=5), *([OutputTable(["to do first"], first)] if first else [])]
    note = "To use your own model: `metric_models` USE=FOLDER or USE=ORG/NAME. See docs/reference/metrics.md."
    return CommandOutput((), grids, {"gauges": data}, (note,))


def _format_metric_range(metric: Metric) -> str:
    return f"{metric.low:g} to {metric.high:g}, {'high' if metric.higher_is_better else 'low'}"


def measurements_output(measured_edits: Sequence[MeasuredEdit], metric_infos: Sequence[MetricInfo]) -> CommandOutput:
    """Return the mean of each metric over samples, with a row per model."""
    metrics = [metric for card in metric_infos for metric in card.values]
    by_model: dict[str, list[MeasuredEdit]] = {}
    for one in measured_edits:
        by_model.setdefault(one.key.model, []).append(one)
    there = [metric for metric in metrics if any(metric.name in one.values for one in measured_edits)]
    rows: list[Row] = []
    data = {}
    for model, edits in by_model.items():
        cells = {metric.name: _mean_over_samples(edits, metric) for metric in there}
        counts = {name: sum(name in one.values for one in edits) for name in cells}
        rows.append(
            [model, f"{len(edits):,}", *(_mean_cell(cells[m.name], m, counts[m.name], len(edits)) for m in there)]
        )
        data[model] = {
            name: {**cell.to_dict(), "measured": counts[name], "edits": len(edits)} for name, cell in cells.items()
        }
    heads = ["model", "edits", *(f"{metric.name} {'↑' if metric.higher_is_better else '↓'}" for metric in there)]
    edits_data = [
        {**_key_json(one.key), "values": dict(one.values), "unmeasured": dict(one.reasons)} for one in measured_edits
    ]
    return CommandOutput(
        (),
        [OutputTable(heads, rows)] if there else [],
        {"models": data, "edits": edits_data},
        _unmeasured_notes(measured_edits),
    )


def _unmeasured_notes(measured_edits: Sequence[MeasuredEdit]) -> list[str]:
    """Return notes on missing values: each reason, with the metrics and the number of edits that it concerns."""
    edits: dict[tuple[str, str], list[EditKey]] = {}
    for one in measured_edits:
        for metric, reason in one.reasons.items():
            edits.setdefault((reason, metric), []).append(one.key)
    # A reason that several metrics share for the same edits is stated once.
    metrics: dict[tuple[str, tuple[EditKey, ...]], list[str]] = {}
    for (reason, metric), keys in edits.items():
        metrics.setdefault((reason, tuple(keys)), []).append(metric)
    often = sorted(metrics.items(), key=lambda entry: -len(entry[0][1]))
    notes = [
        f"{', '.join(names)}: not measured for {pluralise(len(keys), 'edit')}: {escape_control(reason)}"
        for (reason, keys), names in often
    ]
    if len(notes) > _MAX_REASONS:
        notes[_MAX_REASONS:] = [f"and {pluralise(len(notes) - _MAX_REASONS, 'more reason')} (`json` lists all)"]
    return notes


def _mean_over_samples(edits: Sequence[MeasuredEdit], metric: Metric) -> Estimate:
    """Return the mean over samples. Several draws of a sample are averaged first."""
    draws: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    for one in edits:
        if metric.name in one.values:
            draws.setdefault(one.key.sample, []).append(one.values[metric.name])
            units[one.key.sample] = one.cluster
    values = np.array([sum(several) / len(several) for several in draws.values()])
    found = clustered_mean(values, list(units.values()))
    inside = values.size and metric.low <= values.min() and values.max() <= metric.high
    if not inside or found.low is None or found.high is None:
        return found  # predictors can return values outside the declared range
    return replace(found, low=max(found.low, metric.low), high=min(found.high, metric.high))


def _mean_cell(estimate: Estimate, metric: Metric, measured: int, edits: int) -> TableCell:
    """Return a cell with a mean, and the number of measured edits if some are missing."""
    cell = estimate_cell(estimate, metric.digits)
    share = "" if measured == edits else f"{measured:,} of {edits:,}"
    return cell._replace(below="  ".join(filter(None, (share, cell.below))))


def write_measurements(path: Path, measured_edits: Sequence[MeasuredEdit], metric_infos: Sequence[MetricInfo]) -> None:
    """Write a row per edit and value, as CSV, Parquet or JSON depending on the suffix."""
    first: dict[str, str] = {}
    for one in measured_edits:
        first.setdefault(one.cluster, one.key.sample)
    rows = [
        {**row, "source": first[one.cluster]}
        for one in measured_edits
        for card in metric_infos
        for row in measurement_rows(one, card)
    ]
    try:
        atomic_write(path, _encode_rows(rows, require_table_suffix(path)))
    except OSError as error:
        raise _unwritable_error(path, error) from error


def measurement_rows(measured: MeasuredEdit, info: MetricInfo) -> Iterator[Mapping[str, Any]]:
    """Yield a row per value of a metric for an edit, with the reason if the value is missing."""
    row = {**_key_json(measured.key), "gauge": info.name, "value_name": None, "value": None}
    reason = measured.reasons.get(info.name)
    if reason is not None and not any(metric.name in measured.values for metric in info.values):
        yield {**row, "unmeasured": reason}
        return
    for metric in info.values:
        found = measured.values.get(metric.name)
        why = (reason or _NOT_APPLICABLE) if found is None else None
        yield {**row, "value_name": metric.name, "value": found, "unmeasured": why}


def _encode_rows(rows: Sequence[Mapping[str, Any]], kind: str) -> bytes:
    if kind == ".json":
        return (json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode()
    import polars

    from creval.reporting.export.files import sanitise_frame

    texts: dict[str, Any] = dict.fromkeys(
        ("system", "sample", "draw", "gauge", "value_name", "value", "unmeasured", "source"), str
    )
    frame = polars.DataFrame(rows, schema=texts | {"draw": int, "value": float})
    content = BytesIO()
    if kind == ".csv":
        sanitise_frame(frame).write_csv(content)
    else:
        frame.write_parquet(content)
    return content.getvalue()


def require_writable(path: Path) -> None:
    """Raise an error if the output file cannot be written."""
    require_table_suffix(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise _unwritable_error(path, error) from error


def _unwritable_error(path: Path, error: OSError) -> CrevalError:
    return CrevalError(f"`out` {path} cannot be written: {error.strerror or error}.")


def require_table_suffix(path: Path) -> str:
    """Return the suffix of an output file, or raise an error if it is not supported."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".json"):
        raise CrevalError(f"`out` {path}: give a file that ends in .csv, .parquet or .json.")
    return kind


def _key_json(key: EditKey) -> dict[str, object]:
    return {"system": key.model, "sample": key.sample, "draw": key.draw}


def _info_json(info: MetricInfo) -> dict[str, object]:
    """Return a metric's facts under the stable keys of the JSON output."""
    entry = asdict(info)
    for name in ("models", "values"):
        entry[name] = [{_JSON_KEYS.get(key, key): of for key, of in part.items()} for part in entry[name]]
    return entry


_JSON_KEYS = {"slot": "use", "origin": "comes", "measured_only": "raw"}
