"""Packages import only from lower layers, also inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import creval

ROOT = Path(creval.__file__).parent
# From the lowest to the highest. Packages in the same line do not import each other.
LAYERS = (
    ("core", "registry"),
    ("parsing", "prompts", "providers", "stats", "store"),
    ("editors", "judges", "metrics"),
    ("benchmarks",),
    ("testing", "touchstone"),
    ("calls", "downloads"),
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
# Packages whose members do not import each other, with the modules that all members may import. A subpackage is one
# member, unless it is listed itself.
SHARED = {
    "benchmarks": set[str](),
    "judges": {"base", "judge_spec"},
    "editors": {"base", "editor_spec", "output_checks"},
    "editors.remote": {"base", "payload"},
    "metrics": {
        *("base", "availability", "batch", "checkpoints", "features", "metric_inputs", "model_loading"),
        *("control_maps", "object_detection", "pixel_distance", "requested_text"),
    },
}
# Module names that may occur in several packages.
PATTERNS = {"__init__", "base", "protocol", "release", "builder", "pipeline", "files", "review", "app"}


def imported(path: Path, root: Path = ROOT) -> Iterator[tuple[int, str]]:
    """Yield all imports of creval's modules with their lines, including `from creval import x`."""
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


def siblings(path: Path, root: Path = ROOT) -> Iterator[str]:
    """Yield all imports between members of a package, except by the modules that members share."""
    own = path.relative_to(root).with_suffix("").parts
    for line, name in imported(path, root):
        parts = name.split(".")[1:]
        for package, shared in SHARED.items():
            depth = package.count(".") + 1
            inside = all(".".join(of[:depth]) == package and len(of) > depth for of in (own, parts))
            if not inside or {own[depth], parts[depth]} & {*shared, "__init__"} or own[depth] == parts[depth]:
                continue
            if f"{package}.{parts[depth]}" not in SHARED and is_module(root / Path(*parts[: depth + 1])):
                yield f"{path}:{line}: {'.'.join(own)} imports {name}"


def is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_members_do_not_import_their_siblings() -> None:
    found = [line for path in modules() for line in siblings(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("metrics/ssim.py", "from creval.metrics.clip import ClipScores"),
        ("metrics/ssim.py", "def late():\n    from creval.metrics import clip"),
        ("judges/chat.py", "from creval.judges.local import open_local"),
        ("editors/remote/openai.py", "from creval.editors.remote.google import GoogleEditor"),
        ("editors/folder.py", "from creval.editors.diffusers.pipeline import load"),
        ("benchmarks/creval/release.py", "from creval.benchmarks.viescore import VIEScore"),
        ("benchmarks/viescore.py", "from creval.benchmarks.ice_bench.tasks import TASKS"),
    ],
)
def test_no_import_of_a_sibling_escapes_the_test(tmp_path: Path, module: str, text: str) -> None:
    for path in modules():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    (tmp_path / module).write_text(text)
    assert list(siblings(tmp_path / module, tmp_path))


def repeated(names: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that occur in more than one place, with the places."""
    found: dict[str, list[str]] = {}
    for name, place in dict.fromkeys(names):
        found.setdefault(name, []).append(place)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_module_names_are_unique() -> None:
    found = repeated((path.stem, str(path.relative_to(ROOT))) for path in ROOT.rglob("*.py"))
    assert not found.keys() - PATTERNS, found


def test_few_class_names_repeat() -> None:
    found = repeated(
        (node.name, str(path.relative_to(ROOT)))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert len(found) <= 10, found
