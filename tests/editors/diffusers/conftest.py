"""Fixtures with tiny pipelines, each of which is written once."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SIZE = (90, 70)
"""Size of the sources, which is not a multiple of the pipelines' steps."""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the folder of a pipeline of a class."""
    from tests.editors.diffusers.tiny import write  # imports diffusers

    written: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in written:
            written[kind] = write(tmp_path_factory.mktemp("tiny") / kind, kind)
        return written[kind]

    return get


@pytest.fixture
def images(tmp_path: Path) -> list[Path]:
    """Return sources with different coloured fields."""
    paths = []
    for number in range(6):
        fields = np.random.default_rng(number).integers(0, 2, (2, 3, 3), np.uint8) * 255
        paths.append(tmp_path / f"source{number}.png")
        Image.fromarray(fields).resize(SIZE, Image.Resampling.NEAREST).save(paths[-1])
    return paths


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """Return a mask that protects the right half."""
    path = tmp_path / "half.png"
    mask = Image.new("L", SIZE, 0)
    mask.paste(255, (0, 0, SIZE[0] // 2, SIZE[1]))
    mask.save(path)
    return path


@pytest.fixture(autouse=True)
def _small_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the resolution at which Qwen-Image-Edit sees its source to a 128th of a megapixel."""
    for part in ("edit", "edit_inpaint", "edit_plus"):
        module = import_module(f"diffusers.pipelines.qwenimage.pipeline_qwenimage_{part}")
        whole = module.calculate_dimensions

        def smaller(area: float, ratio: float, whole: Callable[..., object] = whole) -> object:
            return whole(area / 128, ratio)

        monkeypatch.setattr(module, "calculate_dimensions", smaller)
