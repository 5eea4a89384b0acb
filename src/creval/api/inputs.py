"""Arguments of the Python API: paths or opened objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from creval.benchmarks import get_protocol, open_benchmark
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.core.files import read_json
from creval.core.human_ratings import HumanRatings, parse_rating_scale, read_human_ratings
from creval.core.schema import ScoreSchema, Weights
from creval.editors.base import Editor
from creval.judges.judge_spec import JudgeSpec
from creval.store import Run, open_run

RunLike = str | Path | Run
"""The folder of a run, or a run that is open. An open one stays open."""
BenchmarkLike = str | Path | Benchmark
"""The folder of a benchmark, or a benchmark that is open."""
JudgeLike = JudgeSpec
"""A judge's spec, such as `openai:gpt-4o`, a judge, a function, or several of them as a panel."""
EditorLike = str | Editor | Callable[..., Any]
"""An editor's spec, such as `openai:gpt-image-1`, an editor, or a function that edits."""


class ScoringOptions(TypedDict, total=False):
    """Arguments of `score` that other functions take, too."""

    strict: bool
    subset: str | None
    weights: Weights | None
    models: tuple[str, ...] | None
    resamples: int
    seed: int
    missing: str
    common_samples: bool


@contextmanager
def opened_run(run: RunLike, *, labels: bool = True) -> Iterator[Run]:
    """Open a run and close it at the end; leave a run alone that is open already."""
    if isinstance(run, Run):
        yield run
        return
    with open_run(run, labels=labels) as opened:
        yield opened


def as_benchmark(bench: BenchmarkLike, protocol: str | None = None) -> Benchmark:
    """Return a benchmark, opened if need be."""
    if isinstance(bench, Benchmark):
        if protocol is not None:
            raise CrevalError("`protocol` goes with the folder of a benchmark: open_benchmark(folder, protocol).")
        return bench
    return open_benchmark(bench, protocol)


def read_ratings(human: str | Path, scale: str | None, run: Run | None = None) -> HumanRatings:
    """Read what people said, about models by the names that an open run has for them."""
    said = read_human_ratings(str(human), None if scale is None else parse_rating_scale(scale))
    if run is None or not run.labels:
        return said
    name = run.resolve_model
    ratings = tuple(
        replace(
            one,
            edits=tuple(edit._replace(model=name(edit.model)) for edit in one.edits),
            choice=one.choice and name(one.choice),
        )
        for one in said.ratings
    )
    return replace(said, ratings=ratings)


def editor_spec(editor: EditorLike) -> Any:
    """Return what `open_editor` takes. A function becomes `python:MODULE:FUNCTION`."""
    if isinstance(editor, str | Editor):
        return editor
    module, name = getattr(editor, "__module__", ""), getattr(editor, "__name__", "")
    if not module or name != getattr(editor, "__qualname__", ""):
        raise CrevalError(f"`editor` {editor!r}: give a function that is defined at the top level of a module.")
    return f"python:{module}:{name}"


def parse_weights(given: Weights | None, manifest: Mapping[str, Any]) -> Weights | None:
    """Return weights that may be given as `IF=0.4,VC=0.6`, as a JSON file, or by a name of the run's protocol."""
    if not isinstance(given, str):
        return given
    if os.path.isfile(given):  # noqa: PTH113 (it may be no path at all)
        return _read_weights_file(given)
    protocol = get_protocol(manifest["protocol"])
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
            raise CrevalError(f"`weights` gives {name.strip()} twice.")
        try:
            found[name.strip()] = float(number)
        except ValueError as error:
            raise CrevalError(f"`weights` takes {example}, not {part!r}.") from error
        if not equals or not name.strip():
            raise CrevalError(f"`weights` has no metric in {part!r}.")
    return found


def _example_weights(schema: ScoreSchema) -> str:
    """Return a schema's own weights as they are given, or all that could be given, alike."""
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
            f"`weights` {file}: it should hold an object of numbers by metric, of such objects by group, or of both."
        )
    weights: Weights = found
    return weights
