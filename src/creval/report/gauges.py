"""What gauges there are, and what they found, as tables and for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.card import Metric
from creval.core.errors import CrevalError
from creval.core.files import write_whole
from creval.gauges.card import GaugeCard
from creval.gauges.readiness import Readiness
from creval.report.findings import Findings, Grid, Row, Spot
from creval.report.text import interval, many, value
from creval.stats.estimate import Estimate, mean

if TYPE_CHECKING:
    from creval.engine.gauging import Gauged

_REASONS = 8  # in a note


def listed(cards: Iterable[tuple[GaugeCard, Readiness]]) -> Findings:
    """All gauges, and whether they can run here."""
    rows: list[Row] = []
    data = []
    for card, here in cards:
        licences = [model.licence for model in card.models if model.comes != "optional"]
        rows.append(
            [
                Spot(card.name, below=", ".join(card.needs)),
                card.title,
                "; ".join(dict.fromkeys(map(_range, card.values))),
                "; ".join([*(["ready"] if here.ready else []), *here.to_do]),
                "; ".join([*licences, *([card.licence] if card.licence else [])]),
            ]
        )
        data.append({**asdict(card), "ready": here.ready, "to_do": list(here.to_do)})
    heads = ["gauge\nneeds", "measures", "range, better", "here", "licences"]
    note = "A model of your own: --gauge USE=FOLDER or USE=ORG/NAME. docs/gauges.md tells more."
    return Findings((), [Grid(heads, rows, left=5)], {"gauges": data}, (note,))


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
        rows.append([system, f"{len(edits):,}", *(_cell(cells[m.name], m) for m in there)])
        data[system] = {
            name: {**cell._asdict(), "measured": sum(name in one.values for one in edits),
                   "edits": len(edits)}
            for name, cell in cells.items()
        }  # fmt: skip
    reasons = Counter(reason for one in done for reason in one.reasons.values())
    notes = [f"{many(n, 'edit')} not measured: {reason}" for reason, n in reasons.most_common()]
    heads = ["model", "edits", *(f"{metric.name}{_arrow(metric)}" for metric in there)]
    edits_data = [
        {**one.key._asdict(), "values": dict(one.values), "unmeasured": dict(one.reasons)}
        for one in done
    ]
    return Findings(
        (),
        [Grid(heads, rows)] if there else [],
        {"models": data, "edits": edits_data},
        notes[:_REASONS],
    )


def _arrow(metric: Metric) -> str:
    return " ↑" if metric.higher_is_better else " ↓"


def _mean(edits: Sequence[Gauged], metric: Metric) -> Estimate:
    """The mean over samples; of several draws of one, their own mean counts."""
    by_sample: dict[str, list[float]] = {}
    for one in edits:
        if metric.name in one.values:
            by_sample.setdefault(one.key.sample, []).append(one.values[metric.name])
    found = mean(np.array([sum(draws) / len(draws) for draws in by_sample.values()]))
    if found.low is None or found.high is None:
        return found
    return found._replace(low=max(found.low, metric.low), high=min(found.high, metric.high))


def _cell(found: Estimate, metric: Metric) -> Spot:
    return Spot(value(found.value, metric.digits), below=interval(*found.ends, metric.digits))


def write_rows(path: Path, done: Sequence[Gauged], cards: Sequence[GaugeCard]) -> None:
    """A row for each edit and value, as CSV, Parquet or JSON, by the file's suffix."""
    gauges = {metric.name: card.name for card in cards for metric in card.values}
    rows: list[Mapping[str, Any]] = []
    for one in done:
        key = one.key._asdict()
        rows += [{**key, "gauge": gauges.get(n, n), "value_name": n, "value": v, "unmeasured": None}
                 for n, v in one.values.items()]  # fmt: skip
        rows += [{**key, "gauge": name, "value_name": None, "value": None, "unmeasured": reason}
                 for name, reason in one.reasons.items()]  # fmt: skip
    kind = check_kind(path)
    if kind == ".json":
        write_whole(path, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    import polars

    from creval.report.export.files import harmless

    frame = polars.DataFrame(rows, schema=_SCHEMA)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".csv":
        harmless(frame).write_csv(path)
    else:
        frame.write_parquet(path)


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
