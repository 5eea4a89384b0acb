"""The package is light to import and its rooms depend on each other one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import creval

ROOT = Path(creval.__file__).parent
RANK = {"core": 0, "benchmarks": 1, "gauges": 1, "judges": 1, "prompts": 1, "stats": 1, "store": 1,
        "editors": 1, "engine": 2, "build": 2, "report": 2, "web": 2, "cli": 3}  # fmt: skip


def test_importing_creval_imports_nothing_heavy() -> None:
    script = "import sys, creval; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True)
    for heavy in (
        "numpy", "polars", "PIL", "typer", "rich", "sqlite3", "aiohttp", "torch", "jinja2",
        "starlette", "uvicorn",
    ):  # fmt: skip
        assert f"'{heavy}'" not in loaded


def test_every_public_name_is_there() -> None:
    for name in creval.__all__:
        assert getattr(creval, name)
    with pytest.raises(AttributeError):
        creval.nothing  # noqa: B018


def test_the_version_stands_once_more_only_in_the_project_file() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'\nversion = "{creval.__version__}"\n' in project


def test_imports_point_one_way() -> None:
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0]
        if room not in RANK:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("creval."):
                other = str(node.module).split(".")[1]
                assert RANK[other] <= RANK[room], f"{path}: {room} imports {other}"
