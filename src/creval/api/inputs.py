"""Argument types of the Python API: paths or opened objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from creval.analysis.scoring_options import ScoringOptions as ScoringOptions
from creval.benchmarks import open_benchmark
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.core.human_ratings import HumanRatings, parse_rating_scale, read_human_ratings
from creval.editors.base import Editor
from creval.judges.judge_spec import JudgeSpec
from creval.store import Run, open_run

RunLike = str | Path | Run
"""The folder of a run, or an open run, which stays open."""
BenchmarkLike = str | Path | Benchmark
"""The folder of a benchmark, or an opened benchmark."""
JudgeLike = JudgeSpec
"""A judge's spec such as `openai:gpt-4o`, a judge object, a function, or several of these as a panel."""
EditorLike = str | Editor | Callable[..., Any]
"""An editor's spec such as `openai:gpt-image-1`, an editor object, or a function that edits an image."""


@contextmanager
def opened_run(run: RunLike, *, labels: bool = True) -> Iterator[Run]:
    """Open a run, and close it when the block ends. A run that is already open stays open."""
    if isinstance(run, Run):
        with run.explaining_damage():
            yield run
        return
    with open_run(run, labels=labels) as opened:
        yield opened


def as_benchmark(bench: BenchmarkLike, protocol: str | None = None) -> Benchmark:
    """Return the given benchmark, or open it if a folder is given."""
    if isinstance(bench, Benchmark):
        if protocol is not None:
            raise CrevalError("`protocol` needs the folder of a benchmark: open_benchmark(folder, protocol).")
        return bench
    return open_benchmark(bench, protocol)


def read_ratings(human: str | Path, scale: str | None, run: Run | None = None) -> HumanRatings:
    """Read human ratings from a file. With an open run, models get the names (or labels) that the run uses."""
    found = read_human_ratings(str(human), None if scale is None else parse_rating_scale(scale))
    if run is None or not run.labels:
        return found
    name = run.resolve_model
    ratings = tuple(
        replace(
            one,
            edits=tuple(edit._replace(model=name(edit.model)) for edit in one.edits),
            choice=one.choice and name(one.choice),
        )
        for one in found.ratings
    )
    return replace(found, ratings=ratings)


def editor_spec(editor: EditorLike) -> Any:
    """Return an editor as `open_editor` takes it. A function will run in a thread of this process."""
    if isinstance(editor, str | Editor):
        return editor
    module, name = getattr(editor, "__module__", ""), getattr(editor, "__name__", "")
    if not module or name != getattr(editor, "__qualname__", ""):
        raise CrevalError(f"`editor` {editor!r}: give a function that is defined at the top level of a module.")
    return editor
