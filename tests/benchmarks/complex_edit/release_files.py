"""A small version of Complex-Edit's dataset, in the formats of Hugging Face."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars
from PIL import Image

OPERATIONS = ("Add an Object", "Change Color", "Remove an Object")


def row(number: int, complexity: int = 3, content: bytes | None = None) -> dict[str, Any]:
    """Return a row of the dataset, by default with a small plain image."""
    buffer = io.BytesIO()
    Image.new("RGB", (32, 24), (number * 20 % 255, 90, 120)).save(buffer, "PNG")
    return {
        "image": {"bytes": content or buffer.getvalue(), "path": f"{number}.png"},
        "edit": {
            "sequence": [
                {"name": OPERATIONS[at % 3], "instruction": f"Step {at + 1} of {number}."} for at in range(complexity)
            ],
            "compound": [
                {"reasoning": "", "compound_instruction": f"Do {at + 1} things to {number}."}
                for at in range(complexity)
            ],
        },
    }


def write_parquet(folder: Path, **splits: Sequence[dict[str, Any]]) -> Path:
    """Write the files as on the hub: `data/SPLIT-00000-of-00001.parquet`."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        frame = polars.DataFrame(rows, infer_schema_length=None)
        frame.write_parquet(folder / "data" / f"{split}-00000-of-00001.parquet")
    return folder


def write_saved(folder: Path, **splits: Sequence[dict[str, Any]]) -> Path:
    """Write the files as `DatasetDict.save_to_disk` does: Arrow streams, two per split."""
    folder.mkdir(parents=True)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": list(splits)}))
    for split, rows in splits.items():
        (folder / split).mkdir()
        half = (len(rows) + 1) // 2
        for at, part in enumerate((rows[:half], rows[half:])):
            name = f"data-{at:05d}-of-00002.arrow"
            polars.DataFrame(part).write_ipc_stream(folder / split / name, compat_level=COMPAT)
        (folder / split / "state.json").write_text(json.dumps({"_split": split}))
        features = {"image": {"_type": "Image"}, "edit": {}}
        (folder / split / "dataset_info.json").write_text(json.dumps({"features": features}))
    return folder


COMPAT = polars.CompatLevel.oldest()
