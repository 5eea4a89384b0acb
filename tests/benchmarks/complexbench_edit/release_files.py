"""A small version of ComplexBench-Edit's release."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from creval.benchmarks.complexbench_edit.release import SUBSETS


def write_release(folder: Path, each: int = 2) -> Path:
    """Write a small release. The caller assigns scores to its samples."""
    for subset in SUBSETS:
        entries = {}
        for number in range(each):
            key = f"{1000 * (1 + list(SUBSETS).index(subset)) + number}"
            kinds = ["change object", "chain two" if "chain" in subset else "color", "text"]
            if subset.endswith("global"):
                kinds[2] = "change style"
            entries[key] = {
                "img_path": f"{int(key):012d}.jpg",
                "new_ins": "change the cat\r\nadd a collar\r\nwrite Hello",
                "edit pair": [{"edit_type": kind, "ori obj": "cat", "new_obj": ""} for kind in kinds],
            }
            image = folder / "data" / "images" / f"{key}-{int(key):012d}.jpg"
            image.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), (number, 90, 90)).save(image)
        path = folder / "data" / "instructions" / subset / "final_update_v2.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(entries))
    return folder
