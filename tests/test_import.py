"""Importing the package is fast and loads no heavy library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import creval


def test_importing_creval_imports_nothing_heavy() -> None:
    script = "import sys, creval; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True)
    for heavy in (
        "numpy",
        "polars",
        "PIL",
        "typer",
        "rich",
        "sqlite3",
        "aiohttp",
        "torch",
        "jinja2",
        "starlette",
        "uvicorn",
    ):
        assert f"'{heavy}'" not in loaded


def test_every_public_name_is_there() -> None:
    for name in creval.__all__:
        assert getattr(creval, name)
    with pytest.raises(AttributeError):
        creval.nothing  # noqa: B018


def test_the_version_is_that_of_the_project_file() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'\nversion = "{creval.__version__}"\n' in project
