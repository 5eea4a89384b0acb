"""A run for leaderboards: one JSON of a form that stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creval import __version__
from creval.stats.scorecard import Scorecard

SCHEMA = "creval-leaderboard"
VERSION = 1
"""Goes up when something that was there is no more, or means something else."""


def leaderboard(card: Scorecard, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked of whom, and each model's cells, best first; unrounded, null where there is
    none. docs/passing-on.md describes it."""
    table = card.table
    protocol = table.card
    alike = [list(group) for group in card.alike if len(group) > 1]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "creval": __version__,
        "benchmark": manifest["benchmark"],
        "protocol": manifest.get("protocol", manifest["benchmark"]),
        "judge": manifest["judge"] or None,
        "date": manifest.get("date"),
        "subset": table.subset,
        "strict": table.strict,
        "missing": table.missing,
        "common_of": table.common_of,
        "samples": len(table.samples),
        "ranking": protocol.ranking,
        "weights": dict(protocol.composite.weights) if protocol.composite else None,
        "metrics": [_metric(card, column) for column in protocol.columns],
        "models": [_model(card, name) for name in card.systems],
        "alike": alike,
    }


def _metric(card: Scorecard, column: str) -> dict[str, Any]:
    metric = card.table.card.metric(column)
    return {
        "name": column,
        "label": metric.label,
        "low": metric.low,
        "high": metric.high,
        "higher_is_better": metric.higher_is_better,
    }


def _model(card: Scorecard, name: str) -> dict[str, Any]:
    levels = card.table.card.levels
    return {
        "name": name,
        "places": list(card.places[name]),
        "overall": _cells(card, name, "overall", "overall"),
        "groups": {
            level.plural: {
                group: _cells(card, name, level.name, group) for group in card.groups(level.name)
            }
            for level in levels
            if level.name != "overall"
        },
    }


def _cells(card: Scorecard, name: str, level: str, group: str) -> dict[str, Any]:
    columns = card.table.card.columns
    return {column: card.cell(name, column, group, level)._asdict() for column in columns}
