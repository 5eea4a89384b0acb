"""Fixtures for tests of several editors."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a b.png"
    Image.new("RGB", (40, 30), (10, 200, 90)).save(path)
    return path
