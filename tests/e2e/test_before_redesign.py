"""Tests that files of the version before the redesign open, score to the same numbers, and resume without new calls.

The fixtures and their format: tests/fixtures/before_redesign/README.md.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import importlib.util
import io
import json
import math
import re
import runpy
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from creval.testing.fake_chat_server import FakeServer
from tests.commands import creval
from tests.serving import serving

FIXTURES = Path(__file__).parents[1] / "fixtures" / "before_redesign"
MADE_AT = "127.0.0.1:18734"
move_port = runpy.run_path(str(FIXTURES / "tools" / "port.py"))["move"]
TORCH = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
QUICK = ("02-remote", "03-measured")
NOT_COMPARED = {
    "written",  # digests of texts that name the server's address
    "creval",  # the version that exported
    "title",  # benchmarks had no names
}
ADDED = {
    *("wins_decided", "answers.csv", "answers.parquet", "instruction_words", "questions_per_sample", "steps"),
    *("said", "differences", "duplicates", "hashes.json", "examples", "types", "operations", "operation_categories"),
}
"""Keys and files that newer versions add."""


def read_expected(path: Path) -> Any:
    """Return the recorded output of the older version, or None if there is none."""
    packed = path.with_name(f"{path.name}.gz")
    if not path.exists() and not packed.exists():
        return None
    text = (gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()).decode()
    return json.loads(text) if path.suffix == ".json" else text


def read_files(folder: Path, suffixes: list[str], port: int) -> dict[str, object]:
    """Return the files of a folder: JSON and text files with their content, others as digests, without databases."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        internal = path.name.startswith(("creval.db", "creval.lock", "vectors.db")) or {".judged", ".plans"} & set(
            path.relative_to(folder).parts
        )
        if not path.is_file() or internal or (suffixes and path.suffix not in suffixes):
            continue
        if path.suffix in (".json", ".jsonl", ".md", ".csv", ".tex", ".txt"):
            text = path.read_text(encoding="utf-8").replace(f"127.0.0.1:{port}", MADE_AT)
            found[name] = json.loads(text) if path.suffix == ".json" else text
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def split_tables(files: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Split CSV files into rows, with the columns of the older version. Columns may be added."""
    found = dict(files)
    for name in (name for name in wanted if name.endswith(".csv") and name in files):
        columns = next(csv.reader(io.StringIO(wanted[name])))
        rows = csv.DictReader(io.StringIO(files[name]))
        found[name] = [{column: row.get(column) for column in columns} for row in rows]
    return found


def is_prose(text: object) -> bool:
    return isinstance(text, str) and " " in text


def without_address(text: object) -> object:
    """Remove the server's address, which is no longer part of a judge's name."""
    return text.replace(f"@http://{MADE_AT}/v1", "") if isinstance(text, str) else text


def differences(want: object, got: object, *, prose: bool, at: str = "", tolerance: float = 1e-9) -> Iterator[str]:
    """Yield the differences between two values. If `prose` is false, sentences may differ.

    Labels describe metrics for display, so their wording may always change.
    """
    if isinstance(want, dict) and isinstance(got, dict):
        added = {key for key in got.keys() - want.keys() if key.rpartition("/")[2] in ADDED}
        for key in sorted((want.keys() ^ got.keys()) - NOT_COMPARED - added):
            yield f"{at}/{key}: only {'wanted' if key in want else 'found'}"
        for key in sorted((want.keys() & got.keys()) - NOT_COMPARED - (set() if prose else {"sentences"})):
            is_exact = prose and key != "label"
            yield from differences(want[key], got[key], prose=is_exact, at=f"{at}/{key}", tolerance=tolerance)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for number, (first, second) in enumerate(zip(want, got, strict=True)):
            yield from differences(first, second, prose=prose, at=f"{at}/{number}", tolerance=tolerance)
    elif isinstance(want, float) and isinstance(got, float):
        if not math.isclose(want, got, rel_tol=tolerance, abs_tol=1e-12):
            yield f"{at}: wanted {want!r}, found {got!r}"
    elif without_address(want) != without_address(got) and (prose or not (is_prose(want) and is_prose(got))):
        yield f"{at}: wanted {str(want)[:200]!r}, found {str(got)[:200]!r}"


class Fixture:
    """An unpacked fixture whose files name the port of the running fake server."""

    def __init__(self, name: str, folder: Path, server: FakeServer, port: int) -> None:
        self.source, self.folder, self.server, self.port = FIXTURES / name, folder, server, port
        with tarfile.open(self.source / "data.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        move_port(folder, int(MADE_AT.partition(":")[2]), port)

    def check(self, step: Mapping[str, Any], outcome: Mapping[str, int]) -> Iterator[str]:
        """Run a command, and yield the differences from the older version."""
        name, expected = step["name"], self.source / "expected"
        if "sql" in step:
            self.execute(*step["sql"])
        before = self.server.stats["requests"]
        done = creval(*(part.replace(MADE_AT, f"127.0.0.1:{self.port}") for part in step["command"]))
        found = {"status": done.returncode, "calls": self.server.stats["requests"] - before}
        if found != outcome:
            yield f"{name}: wanted {outcome}, found {found}\n{done.stderr[-600:]}"
        printed = done.stdout.replace(str(self.folder), "{here}").replace(f"127.0.0.1:{self.port}", MADE_AT)
        if not step.get("silent"):
            # Values of models depend on the number of threads. Student's quantile was an approximation before.
            tolerance = 1e-6 if "needs" in step else 1e-4 if name.startswith(("align", "measure")) else 1e-9
            yield from self.compare_printed(name, printed, step.get("ignore", ()), tolerance)
        for folder in step.get("trees", ()):
            files = read_files(self.folder / folder, step.get("only", []), self.port)
            wanted = read_expected(expected / f"{step.get('tree', name)}.tree.json")
            both = split_tables(wanted, wanted), split_tables(files, wanted)
            yield from differences(*both, prose=True, at=f"{name}:{folder}")

    def execute(self, database: str, *statements: str) -> None:
        with contextlib.closing(sqlite3.connect(self.folder / database)) as opened, opened:
            for statement in statements:
                opened.execute(statement.replace("{here}", str(self.folder)))

    def compare_printed(self, name: str, printed: str, ignored: list[str], tolerance: float) -> Iterator[str]:
        """Compare JSON by keys and values, and a table by its numbers."""
        wanted = read_expected(self.source / "expected" / f"{name}.json")
        if wanted is not None:
            found = without(json.loads(printed), ignored)
            yield from differences(without(wanted, ignored), found, prose=False, at=name, tolerance=tolerance)
            return
        texts = read_expected(self.source / "expected" / f"{name}.txt"), printed
        numbers = [re.findall(r"\d+(?:\.\d+)?", text) for text in texts]
        yield from differences(*numbers, prose=True, at=name)


def without(value: Any, keys: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(part, keys) for key, part in value.items() if key not in keys}
    return [without(part, keys) for part in value] if isinstance(value, list) else value


def test_differences_are_found() -> None:
    wanted = {"share": 0.5, "why": "no edit", "status": "answered", "gone": 1}
    found = {"share": 0.5 + 1e-12, "why": "no image", "status": "unsure", "new": 1, "creval": "2"}
    assert list(differences(wanted, found, prose=False)) == [
        "/gone: only wanted",
        "/new: only found",
        "/status: wanted 'answered', found 'unsure'",
    ]
    assert "/why: wanted 'no edit', found 'no image'" in differences(wanted, found, prose=True)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.parent.name, marks=[] if path.parent.name in QUICK else pytest.mark.slow)
        for path in sorted(FIXTURES.glob("*/checks.json"))
    ],
)
def test_files_of_the_older_version(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = json.loads((FIXTURES / name / "expected" / "outcomes.json").read_text())
    monkeypatch.chdir(tmp_path)
    server = FakeServer()
    with serving(server.app()) as address:
        fixture = Fixture(name, tmp_path, server, int(address.rpartition(":")[2]))
        for step in json.loads((FIXTURES / name / "checks.json").read_text()):
            if TORCH or "needs" not in step:
                assert "\n".join(fixture.check(step, outcomes[step["name"]])) == ""
