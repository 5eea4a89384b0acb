from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.building.complex_edit.files import Rows
from creval.calls.text_generation import Item
from creval.core.errors import CrevalError
from tests.building.chains_made import draw_pictures, rows

EDIT: dict[str, object] = {"sequence": [], "compound": []}


def test_a_row_lies_beside_its_picture(tmp_path: Path) -> None:
    images = draw_pictures(tmp_path / "images", 1)
    found = Rows(tmp_path / "bench")
    assert (len(found), "p0.png" in found) == (0, False)
    found.write(Item("p0.png", images / "p0.png"), 7, EDIT, {"writer": "m"})
    assert rows(tmp_path / "bench") == {
        "0007.json": {
            "image": "0007.png", "picture": "p0.png", "edit": EDIT,
            "made": {"writer": "m"},
        }
    }  # fmt: skip
    copied = tmp_path / "bench" / "built" / "0007.png"
    assert copied.read_bytes() == (images / "p0.png").read_bytes()
    again = Rows(tmp_path / "bench")
    assert (len(again), "p0.png" in again) == (1, True)


def test_numbers_stay_when_pictures_come(tmp_path: Path) -> None:
    images = draw_pictures(tmp_path / "images", 3)
    found = Rows(tmp_path / "bench")
    assert found.numbered(["b", "c"]) == {"b": 0, "c": 1}
    found.write(Item("b", images / "p0.png"), 0, EDIT, {})
    found.write(Item("c", images / "p1.png"), 1, EDIT, {})
    again = Rows(tmp_path / "bench")
    assert again.numbered(["a", "b", "c", "d"]) == {"a": 2, "b": 0, "c": 1, "d": 3}


def test_a_name_that_is_no_text_is_found_again(tmp_path: Path) -> None:
    images = draw_pictures(tmp_path / "images", 1)
    found = Rows(tmp_path / "bench")
    found.write(Item("p\udcff.png", images / "p0.png"), 0, EDIT, {})
    assert "p\udcff.png" in found
    assert "p\udcff.png" in Rows(tmp_path / "bench")


def test_what_is_no_row_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "0001.json").write_text(json.dumps([1]))
    with pytest.raises(CrevalError, match=r"0001\.json is not a row; delete it"):
        Rows(tmp_path)
    with pytest.raises(CrevalError, match="a has no picture"):
        Rows(tmp_path / "other").write(Item("a"), 0, EDIT, {})
