from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from creval import __version__
from creval.build.manifest import check_same, keep_manifest
from creval.core.errors import CrevalError
from creval.engine.settings import Settings
from creval.engine.writing import Writing
from creval.prompts import Prompt
from creval.store import Store

FIXED = {"system": "complex-edit", "steps": 4, "prompts": ["a@1"]}


def writing(folder: Path, model: str = "m", **settings: Any) -> Writing[Any]:
    roles = {"writer": f"openai:{model}@http://127.0.0.1:9/v1"}
    return Writing(folder, roles, Settings(**settings))


def test_what_is_used_is_written_down(tmp_path: Path) -> None:
    keep_manifest("complex-edit", writing(tmp_path, limit=3), [Prompt("a", "A.")], {"steps": 4})
    with Store(tmp_path) as store:
        held = store.manifest
    assert (held["system"], held["steps"], held["limit"]) == ("complex-edit", 4, 3)
    assert (held["creval"], held["seed"]) == (__version__, 0)
    assert held["models"] == {"writer": "openai:m@http://127.0.0.1:9/v1"}
    assert held["prompts"] == [Prompt("a", "A.").version]


def test_the_same_goes_on_and_something_else_does_not(tmp_path: Path) -> None:
    keep_manifest("complex-edit", writing(tmp_path), [Prompt("a", "A.")], {"steps": 4})
    keep_manifest("complex-edit", writing(tmp_path, limit=9), [Prompt("a", "A.")], {"steps": 4})
    with pytest.raises(CrevalError, match=r"begun with another steps \(4, not 5\)"):
        keep_manifest("complex-edit", writing(tmp_path, limit=7), [Prompt("a", "A.")], {"steps": 5})
    with pytest.raises(CrevalError, match="begun with another models"):
        keep_manifest("complex-edit", writing(tmp_path, "n"), [Prompt("a", "A.")], {"steps": 4})
    with pytest.raises(CrevalError, match="begun with another prompts"):
        keep_manifest("complex-edit", writing(tmp_path), [Prompt("a", "B.")], {"steps": 4})
    with pytest.raises(CrevalError, match="holds something else already"):
        keep_manifest("complexbench", writing(tmp_path), [], {})
    with Store(tmp_path) as store:
        assert store.manifest["limit"] == 9, "what was refused left nothing behind"


def test_what_an_older_manifest_does_not_say_is_no_difference() -> None:
    check_same(Path("bench"), {}, FIXED)
    check_same(Path("bench"), {"system": "complex-edit", "steps": 4}, FIXED)
    with pytest.raises(CrevalError, match="bench holds something else"):
        check_same(Path("bench"), {"benchmark": "creval"}, FIXED)
