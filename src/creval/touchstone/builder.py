"""Build a touchstone benchmark, and the edits of simulated editors, on all cores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from creval.core.concurrency import parallel_map
from creval.core.errors import CrevalError
from creval.touchstone.files import save_scene, write_sample_list, write_touchstone_sample
from creval.touchstone.samples import TouchstoneSample, make_samples
from creval.touchstone.simulated_edits import SIMULATED_EDITORS, simulate_edit

ProgressCallback = Callable[[int, int], None]
"""Called with the number of images drawn and their total number."""


def build_touchstone(
    folder: str | Path,
    samples: int = 100,
    seed: int = 0,
    *,
    edits: str | Path | None = None,
    editors: Iterable[str] = SIMULATED_EDITORS,
    on_progress: ProgressCallback | None = None,
) -> list[TouchstoneSample]:
    """Draw a benchmark into a folder. The same seed gives the same images and questions.

    With `edits`, also draw the edits of each editor into a subfolder of it.
    """
    folder, edits = Path(folder), None if edits is None else Path(edits)
    if folder.exists() and not folder.is_dir():
        raise CrevalError(f"{folder} is a file; give a folder.")
    if folder.is_dir() and any(folder.iterdir()):
        raise CrevalError(f"{folder} already exists and is not empty; give another `out`.")
    made = make_samples(samples, seed)
    names = list(editors) if edits is not None else []
    jobs = partial(_draw_sample, folder, edits or folder, names, seed)
    images = 1 + len(names)
    try:
        for done, _ in enumerate(parallel_map(jobs, made), 1):
            if on_progress is not None:
                on_progress(done * images, len(made) * images)
    except BaseException:  # do not leave an incomplete benchmark behind
        shutil.rmtree(folder, ignore_errors=True)
        raise
    write_sample_list(folder, made)
    return made


def _draw_sample(folder: Path, edits: Path, editors: Sequence[str], seed: int, sample: TouchstoneSample) -> None:
    write_touchstone_sample(folder, sample)
    for editor in editors:
        path = edits / editor / f"{sample.id}.png"
        scene = simulate_edit(sample, editor, seed)
        if scene == sample.source:  # copying is faster than drawing again
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / "image" / path.name, path)
        else:
            save_scene(scene, path)
