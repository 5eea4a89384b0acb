"""Size, time and memory of the report of a run of 8 models x 904 samples x 17 questions.

The images are noise, so that thumbnails have the largest possible size.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from creval.analysis.scoring import score
from creval.reporting.html import report_page
from creval.store import open_run
from measure_view import MODELS, SAMPLES, write_run

MOST = 15.0  # MB


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        run = write_run(Path(scratch))
        chance = np.random.default_rng(1)
        for path in Path(scratch).glob("*.png"):
            noise = chance.integers(0, 255, (768, 1024, 3), dtype=np.uint8)
            Image.fromarray(noise).resize((1024, 768)).save(path)
        began = time.perf_counter()
        with open_run(run) as opened:
            card = score(opened)
            scored = time.perf_counter()
            content = report_page(opened, card, 2_000)
        done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"report of {MODELS} models x {SAMPLES} samples: {len(content.encode()) / 1e6:.1f} MB (at "
        f"most {MOST:g}), scores {scored - began:.1f} s, the page {done - scored:.1f} s, "
        f"{peak:.0f} MB of memory"
    )


if __name__ == "__main__":
    main()
