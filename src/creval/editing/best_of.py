"""A judge picks: candidates are judged as any edits are, and the best score wins."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from creval.calls.event_loop import Watch
from creval.calls.settings import Settings
from creval.core.benchmark import Benchmark, Placed
from creval.core.edit import Edit, EditKey
from creval.core.filenames import of_draw
from creval.core.sample import Sample
from creval.editing.strategies import Choice, HaltedError, Pick
from creval.judging.run import judge
from creval.stats.score_table import add_composite
from creval.store import open_run
from creval.store.edit_folders import JUDGED


def picking(
    benchmark: Benchmark,
    spec: str,
    folder: Path,
    settings: Callable[[Path], Settings],
    watch: Watch | None = None,
) -> Pick:
    """Candidates judged by this judge, in runs beside the edits; equal scores go to the first.
    `settings` are those of the run in a folder."""

    def pick(
        stage: str, known: Sequence[Sample], candidates: Sequence[tuple[Sample, Sequence[Edit]]]
    ) -> Mapping[str, Choice]:
        here = folder / JUDGED / stage.replace(" ", "-")
        edits = here / "candidates"
        shutil.rmtree(edits, ignore_errors=True)
        placed: dict[str, Placed] = {}
        for number, (sample, several) in enumerate(candidates, 1):
            for edit in several:
                if edit.image is not None:
                    # Not by its id: another id may be that of its draw.
                    stem = of_draw(f"candidate {number}", edit.key.draw)
                    placed[stem] = Placed(sample.id, edit.key.draw)
                    _link(edit.image, edits / f"{stem}{edit.image.suffix}")
        # Whatever is chosen later, it is about the same samples.
        dataset = replace(
            benchmark.dataset, samples=tuple(known), subsets={}, place=placed.get, told=None
        )
        judged = judge(replace(benchmark, dataset=dataset), [edits], spec, here / "run",
                       settings(here / "run"), watch=watch)  # fmt: skip
        if judged.stopped:
            raise HaltedError(judged.stopped)
        scores = _scores(benchmark, here / "run")
        found = {}
        for sample, several in candidates:
            mine = {edit.key.draw: scores.get((sample.id, edit.key.draw)) for edit in several}
            scored = [draw for draw, score in mine.items() if score is not None]
            if scored:
                sign = 1 if benchmark.card.higher_is_better(benchmark.card.ranking) else -1
                best = max(scored, key=lambda draw: (sign * (mine[draw] or 0.0), -draw))
                found[sample.id] = Choice(EditKey(several[0].key.system, sample.id, best), mine)
        return found

    return pick


def _scores(benchmark: Benchmark, run: Path) -> dict[tuple[str, int], float | None]:
    """The score of each draw of each sample in the column that ranks."""
    card, protocol = benchmark.card, benchmark.protocol
    at = card.columns.index(card.ranking)
    found: dict[tuple[str, int], float | None] = {}
    with open_run(run) as opened:
        for key, values in opened.values():
            sample, probes = opened.samples[key.sample], opened.probes[key.sample]
            scores = protocol.score(sample, probes, values)
            row = [scores[metric.name].value for metric in card.metrics]
            whole = add_composite(card, np.array(row, dtype=np.float64))
            score = float(whole[at])
            found[key.sample, key.draw] = None if np.isnan(score) else score
    return found


def _link(image: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        os.link(image, place)
        return
    shutil.copyfile(image, place)
