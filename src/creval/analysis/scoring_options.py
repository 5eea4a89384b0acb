"""Scoring options, which are the same wherever scores are shown, and can be saved with a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypedDict, cast

from creval.benchmarks import protocol_of_run
from creval.core.errors import CrevalError
from creval.core.files import read_json
from creval.core.schema import ScoreSchema, Weights
from creval.stats.missing import EXCLUDE

SAVED_CHOICE = "scoring"
"""Entry in a run's manifest with the saved options: the defaults for options that are not given."""
_RESET_VALUES = {"subset": "all", "models": ("all",), "missing": EXCLUDE, "weights": "default"}
"""The options that can be saved, each with the value that resets it."""


class ViewOptions(TypedDict, total=False):
    """Arguments of `score` that the viewer takes too, and that can be saved with a run."""

    subset: str | None
    missing: str | None
    weights: Weights | None
    models: tuple[str, ...] | None


class ScoringOptions(ViewOptions, total=False):
    """Arguments of `score` that other functions take too."""

    strict: bool
    resamples: int
    seed: int
    common_samples: bool


def resolve_options(given: ScoringOptions | ViewOptions, manifest: Mapping[str, Any]) -> ScoringOptions:
    """Return the options with parsed weights. Options not given have the values saved with the run."""
    found: dict[str, Any] = {**given, **_chosen(given, manifest, manifest.get(SAVED_CHOICE, {}))}
    found["missing"] = found["missing"] or EXCLUDE
    if found["models"] is not None:
        found["models"] = tuple(found["models"])
    return cast(ScoringOptions, found)


def choice_to_save(given: ScoringOptions, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options to save with a run: those given, and those saved before."""
    if given.get("strict") or given.get("common_samples"):
        raise CrevalError("`save` does not store `strict` and `common_samples`: omit them.")
    if all(given.get(name) is None for name in _RESET_VALUES):
        raise CrevalError("`save` stores `subset`, `missing`, `weights` and `models`: give at least one of them.")
    chosen = _chosen(given, manifest, manifest.get(SAVED_CHOICE, {}))
    return {name: value for name, value in chosen.items() if value is not None}


def describe_choice(manifest: Mapping[str, Any]) -> str:
    """Return a run's saved options as text; an empty string if there are none."""
    parts = []
    for name, value in manifest.get(SAVED_CHOICE, {}).items():
        words = ",".join(f"{key}={part}" for key, part in value.items()) if isinstance(value, Mapping) else value
        parts.append(f"{name} {', '.join(words) if isinstance(words, list | tuple) else words}")
    return "; ".join(parts)


def _chosen(
    given: ScoringOptions | ViewOptions, manifest: Mapping[str, Any], saved: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, reset in _RESET_VALUES.items():
        value: Any = given.get(name)
        value = tuple(value) if name == "models" and value is not None else value
        found[name] = saved.get(name) if value is None else None if value == reset else value
    found["weights"] = parse_weights(found["weights"], manifest)
    return found


def parse_weights(given: Weights | None, manifest: Mapping[str, Any]) -> Weights | None:
    """Parse weights given as `IF=0.4,VC=0.6`, as a JSON file, or as a name that the run's protocol defines."""
    if not isinstance(given, str):
        return given
    if os.path.isfile(given):  # noqa: PTH113 (it may not be a valid path)
        return _read_weights_file(given)
    protocol = protocol_of_run(manifest)
    example = f"METRIC=NUMBER, such as {_example_weights(protocol.schema)}"
    if "=" not in given:
        try:
            protocol.with_weights(given)
        except CrevalError as error:
            raise CrevalError(f"`weights`: there is no file {given!r}, and {error}. Or give {example}.") from error
        return given
    found: dict[str, float] = {}
    for part in given.split(","):
        name, equals, number = part.partition("=")
        if name.strip() in found:
            raise CrevalError(f"`weights` has {name.strip()} twice.")
        try:
            found[name.strip()] = float(number)
        except ValueError as error:
            raise CrevalError(f"`weights` takes {example}, not {part!r}.") from error
        if not equals or not name.strip():
            raise CrevalError(f"`weights` has no metric in {part!r}.")
    return found


def _example_weights(schema: ScoreSchema) -> str:
    """Return a schema's weights in the format of `weights`; without a composite, equal weights of all metrics."""
    metrics = (metric.name for metric in schema.metrics if metric.name != schema.ranking_column)
    own = schema.composite.weights if schema.composite is not None else dict.fromkeys(metrics, 1)
    return ",".join(f"{name}={weight:.3g}" for name, weight in own.items())


def _read_weights_file(file: str) -> Weights:
    def number(of: object) -> bool:
        return isinstance(of, int | float) and not isinstance(of, bool)

    def numbers(of: object) -> bool:
        return isinstance(of, dict) and all(map(number, of.values()))

    found = read_json(file)
    entries = found.values() if isinstance(found, dict) else ()
    if not entries or not all(number(of) or numbers(of) for of in entries):
        raise CrevalError(
            f"`weights` {file}: expected a JSON object that maps metrics to numbers, or groups to such objects."
        )
    weights: Weights = found
    return weights
