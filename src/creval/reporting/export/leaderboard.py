"""Leaderboard export: one JSON file with a stable format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creval import __version__
from creval.stats.scorecard import Scorecard
from creval.store.manifest import benchmark_title

SCHEMA = "creval-leaderboard"
VERSION = 1
"""Version of the format. Increased when a key is removed or changes its meaning."""


def leaderboard_json(card: Scorecard, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaderboard data, models best first. docs/howto/passing-on.md describes the format."""
    table = card.table
    protocol = table.schema
    own = {label: name for name, label in manifest.get("labels", {}).items()}
    alike = [[own.get(name, name) for name in group] for group in card.indistinguishable if len(group) > 1]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "creval": __version__,
        "benchmark": manifest["benchmark"],
        "title": benchmark_title(manifest),
        "protocol": manifest.get("protocol", manifest["benchmark"]),
        "judge": manifest["judge"] or None,
        "date": manifest.get("date"),
        "subset": table.subset,
        "strict": table.strict,
        "missing": table.missing,
        "common_of": table.sample_count_before_common,
        "samples": len(table.samples),
        "ranking": protocol.ranking_column,
        "weights": dict(protocol.composite.weights) if protocol.composite else None,
        "metrics": [_metric_json(card, column) for column in protocol.columns],
        "models": [_model_json(card, name, own.get(name, name)) for name in card.models],
        "alike": alike,
    }


def _metric_json(card: Scorecard, column: str) -> dict[str, Any]:
    metric = card.table.schema.find_metric(column)
    return {
        "name": column,
        "label": metric.label,
        "low": metric.low,
        "high": metric.high,
        "higher_is_better": metric.higher_is_better,
    }


def _model_json(card: Scorecard, name: str, own_name: str) -> dict[str, Any]:
    levels = card.table.schema.levels
    return {
        "name": own_name,
        **({"label": name} if name != own_name else {}),
        "places": list(card.rank_ranges[name]),
        "overall": _cells_json(card, name, "overall", "overall"),
        "groups": {
            level.plural: {group: _cells_json(card, name, level.name, group) for group in card.groups(level.name)}
            for level in levels
            if level.name != "overall"
        },
    }


def _cells_json(card: Scorecard, name: str, level: str, group: str) -> dict[str, Any]:
    columns = card.table.schema.columns
    return {column: card.cell(name, column, group, level).to_dict() for column in columns}
