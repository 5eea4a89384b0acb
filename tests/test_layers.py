"""Packages import only what stands below them, wherever the import is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import creval

ROOT = Path(creval.__file__).parent
# From the lowest to the highest. Packages of one line do not import each other.
LAYERS = (
    ("core", "registry"),
    ("parsing", "prompts", "providers", "stats", "store"),
    ("editors", "judges", "metrics"),
    ("benchmarks",),
    ("testing", "touchstone"),
    ("calls",),
    ("analysis",),
    ("judging",),
    ("editing",),
    ("building",),
    ("reporting",),
    ("web",),
    ("api",),
    ("cli",),
)
RANK = {package: rank for rank, packages in enumerate(LAYERS) for package in packages}
# Packages whose members are plug-ins: one does not import another.
INDEPENDENT = ("benchmarks", "judges", "editors", "editors/remote", "metrics")
# What members of such a package may share.
SHARED = {"base", "spec", "__init__"}


def imported(path: Path, root: Path = ROOT) -> Iterator[tuple[int, str]]:
    """Each import of a module of creval, with its line: `from creval import x` counts as well."""
    here = ["creval", *path.relative_to(root).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*parts, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("creval."))


def against_the_order(path: Path, root: Path = ROOT) -> Iterator[str]:
    own = path.relative_to(root).parts[0].removesuffix(".py")
    for line, name in imported(path, root):
        other = name.split(".")[1]
        if other in RANK and own != other and RANK[other] >= RANK[own]:
            yield f"{path}:{line}: {own} imports {name}"


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT]


def test_every_package_has_a_rank() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    files = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert packages | files == set(RANK)


def test_imports_point_down() -> None:
    found = [line for path in modules() for line in against_the_order(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "from creval.cli import judge",
        "import creval.web.viewer.app",
        "from creval import reporting",
        "def late():\n    from creval.judging.judge_run import judge",
        "if TYPE_CHECKING:\n    from creval.calls.settings import CallSettings",
        "from creval.stats import bootstrap",
        "from ..judging import run",
    ],
)
def test_no_import_escapes_the_test(tmp_path: Path, text: str) -> None:
    path = tmp_path / "store" / "module.py"
    path.parent.mkdir()
    path.write_text(text)
    assert list(against_the_order(path, tmp_path))
