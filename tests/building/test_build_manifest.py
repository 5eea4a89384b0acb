from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from creval import __version__
from creval.building.build_manifest import build_fingerprint, require_same_fingerprint, save_build_manifest
from creval.calls.settings import Settings
from creval.calls.text_generation import TextGenerator
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.core.verdict import VerdictStatus
from creval.prompts import Prompt
from creval.store import RunWriter

FIXED = {"system": "complex-edit", "steps": 4, "prompts": ["a@1"]}


def writing(folder: Path, model: str = "m", **settings: Any) -> TextGenerator[Any]:
    roles = {"writer": f"openai:{model}@http://127.0.0.1:9/v1"}
    return TextGenerator(folder, roles, Settings(**settings))


def keep(
    folder: Path,
    benchmark: str = "complex-edit",
    model: str = "m",
    text: str = "A.",
    *,
    limit: int | None = None,
    steps: int = 4,
) -> None:
    used = writing(folder, model, limit=limit)
    save_build_manifest(used, build_fingerprint(benchmark, used, [Prompt("a", text)], steps=steps))


def write_text(folder: Path) -> None:
    """Store a text of a model in a folder."""
    edit = EditKey("writer", "cat")
    with RunWriter(folder) as store, store.transaction():
        store.put_edits([Edit(edit)])
        store.put_replies([(CallKey("m", edit, ("plan",)), Reply(VerdictStatus.ANSWERED, "A cat."), ())])


def test_the_manifest_lists_the_settings(tmp_path: Path) -> None:
    keep(tmp_path, limit=3)
    with RunWriter(tmp_path) as store:
        held = store.manifest
    assert (held["system"], held["steps"], held["limit"]) == ("complex-edit", 4, 3)
    assert (held["creval"], held["seed"]) == (__version__, 0)
    assert held["models"] == {"writer": "openai:m"}
    assert held["prompts"] == [Prompt("a", "A.").version]


def test_only_the_same_settings_can_be_resumed(tmp_path: Path) -> None:
    keep(tmp_path)
    write_text(tmp_path)
    keep(tmp_path, limit=9)
    with pytest.raises(CrevalError, match=r"started with other steps \(4, not 5\)"):
        keep(tmp_path, limit=7, steps=5)
    with pytest.raises(CrevalError, match="started with other models"):
        keep(tmp_path, model="n")
    with pytest.raises(CrevalError, match="started with other prompts"):
        keep(tmp_path, text="B.")
    with pytest.raises(CrevalError, match="already contains something else"):
        keep(tmp_path, "complexbench")
    with RunWriter(tmp_path) as store:
        assert store.manifest["limit"] == 9, "refused settings are not stored"


def test_before_the_first_text_all_can_be_changed(tmp_path: Path) -> None:
    keep(tmp_path, model="misspelt", steps=5)
    keep(tmp_path)
    with RunWriter(tmp_path) as store:
        assert store.manifest["steps"] == 4


def test_settings_missing_from_an_older_manifest_are_ignored() -> None:
    require_same_fingerprint(Path("bench"), {}, FIXED)
    require_same_fingerprint(Path("bench"), {"system": "complex-edit", "steps": 4}, FIXED)
    with pytest.raises(CrevalError, match="bench already contains something else"):
        require_same_fingerprint(Path("bench"), {"benchmark": "creval"}, FIXED)
