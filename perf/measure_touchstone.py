"""Time to draw, edit and judge a hundred samples with six editors, and the load of the cores.

Drawing and judging an image in one process is also measured. The gain of several processes is given as a ratio.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from creval.benchmarks import open_benchmark
from creval.core.concurrency import usable_cpu_count
from creval.judging.judge_run import judge
from creval.touchstone.builder import build_touchstone
from creval.touchstone.recognition import recognise_scene
from creval.touchstone.render import draw_scene
from creval.touchstone.samples import make_samples
from creval.touchstone.simulated_edits import SIMULATED_EDITORS, simulate_edit

SAMPLES = 100
ALONE = 9  # samples drawn and judged in this process
SEED = 7
MOST = 60.0  # limit in seconds for everything, on two cores


def main() -> None:
    began = time.perf_counter()
    images = 0
    for sample in make_samples(ALONE, SEED):
        for editor in SIMULATED_EDITORS:
            recognise_scene(draw_scene(simulate_edit(sample, editor, SEED)))
            images += 1
    alone = (time.perf_counter() - began) / images
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        clock, busy = time.perf_counter(), _busy()
        build_touchstone(folder / "bench", SAMPLES, SEED, edits=folder / "edits")
        drawn = time.perf_counter() - clock
        edits = [folder / "edits" / editor for editor in SIMULATED_EDITORS]
        judge(open_benchmark(folder), edits, "pixel", folder / "run")
        whole, spent = time.perf_counter() - clock, _busy() - busy
    print(f"one image drawn and recognised in one process: {1000 * alone:.0f} ms")
    print(f"{SAMPLES} samples x {len(SIMULATED_EDITORS)} editors on {usable_cpu_count()} cores: {whole:.1f} s")
    print(f"  drawing {drawn:.1f} s, judging {whole - drawn:.1f} s (at most {MOST:.0f} s on two)")
    print(f"  {spent / whole:.2f} cores busy")


def _busy() -> float:
    """Return the CPU seconds of this process and of its finished child processes."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
