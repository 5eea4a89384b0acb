"""Best-of-N selection: a judge scores the candidates of a sample, and the one with the best score is selected."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from creval.calls.retry import ProgressCallback
from creval.calls.settings import JudgeSettings
from creval.core.benchmark import Benchmark, EditFile
from creval.core.edit_record import Edit, EditKey
from creval.core.filenames import draw_filename
from creval.core.sample import Sample
from creval.editing.strategies import Selection, Selector, StrategyStoppedError
from creval.judging.judge_run import judge
from creval.stats.score_table import add_composite
from creval.store import open_run
from creval.store.edit_folders import SELECTION_FOLDER


def make_selector(
    benchmark: Benchmark,
    spec: str,
    folder: Path,
    settings: Callable[[Path], JudgeSettings],
    watch: ProgressCallback | None = None,
) -> Selector:
    """Return a selector that judges candidates in runs inside `folder`.

    `settings` maps the folder of such a run to its judge settings.
    """

    def select(
        stage: str, known: Sequence[Sample], candidates: Sequence[tuple[Sample, Sequence[Edit]]]
    ) -> Mapping[str, Selection]:
        stage_folder = folder / SELECTION_FOLDER / stage.replace(" ", "-")
        edits = stage_folder / "candidates"
        shutil.rmtree(edits, ignore_errors=True)
        placed: dict[str, EditFile] = {}
        for number, (sample, several) in enumerate(candidates, 1):
            for edit in several:
                if edit.image is not None:
                    # A sample's id is no safe name: `ID--DRAW` can be the id of another sample.
                    stem = draw_filename(f"candidate {number}", edit.key.draw)
                    placed[stem] = EditFile(sample.id, edit.key.draw)
                    _link_image(edit.image, edits / f"{stem}{edit.image.suffix}")
        # All known samples, so that later starts with other samples continue the same run.
        dataset = replace(
            benchmark.dataset, samples=tuple(known), subsets={}, match_edit_file=placed.get, read_model_outputs=None
        )
        judged = judge(
            replace(benchmark, dataset=dataset),
            [edits],
            spec,
            stage_folder / "run",
            settings(stage_folder / "run"),
            watch=watch,
        )
        if judged.stopped:
            raise StrategyStoppedError(judged.stopped)
        repeated = settings(stage_folder / "run").repeat > 1
        scores = _read_draw_scores(benchmark, stage_folder / "run", averaged=repeated)
        sign = 1 if benchmark.schema.higher_is_better(benchmark.schema.ranking_column) else -1
        found = {}
        for sample, several in candidates:
            by_draw = {edit.key.draw: scores.get((sample.id, edit.key.draw)) for edit in several}
            scored = [draw for draw, score in by_draw.items() if score is not None]
            if scored:
                best = max(scored, key=lambda draw: (sign * (by_draw[draw] or 0.0), -draw))
                found[sample.id] = Selection(EditKey(several[0].key.model, sample.id, best), by_draw)
        return found

    return select


def _read_draw_scores(benchmark: Benchmark, run: Path, *, averaged: bool) -> dict[tuple[str, int], float | None]:
    """Return the score in the ranking column of each draw of each sample.

    If `averaged`, a question's value is the mean of its repeated answers.
    """
    schema = benchmark.schema
    at = schema.columns.index(schema.ranking_column)
    found: dict[tuple[str, int], float | None] = {}
    with open_run(run) as opened:
        for key, values in opened.values_by_edit(averaged=averaged):
            scores = benchmark.protocol.score(opened.samples[key.sample], opened.probes[key.sample], values)
            row = [scores[metric.name].value for metric in schema.metrics]
            score = float(add_composite(schema, np.array(row, dtype=np.float64))[at])
            found[key.sample, key.draw] = None if np.isnan(score) else score
    return found


def _link_image(image: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        os.link(image, destination)
        return
    shutil.copyfile(image, destination)
