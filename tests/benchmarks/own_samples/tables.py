"""A folder of a user's own samples."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

WEATHER = """source,instruction,weather,difficulty
cat0.png,Make the cat red,rain,1
cat1.png,Make the cat blue,rain,2
cat2.png,Make the cat green,sun,10
cat3.png,Make the cat yellow,sun,2
cat4.png,Make the cat black,rain,1
cat5.png,Make the cat white,sun,10
"""


def write_samples(folder: Path, table: str = WEATHER, name: str = "samples.csv", images: int = 6) -> Path:
    """Write a table and a number of images."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(table, encoding="utf-8")
    write_images(folder, [f"cat{n}.png" for n in range(images)])
    return folder


def write_images(folder: Path, names: list[str], shade: int = 40) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for at, name in enumerate(names):
        Image.new("RGB", (32, 24), (shade * (at + 1) % 256, 100, 50)).save(folder / name)
