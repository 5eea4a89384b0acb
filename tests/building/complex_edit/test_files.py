from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.building.complex_edit.files import ComplexEditRows
from creval.calls.text_generation import GenerationItem
from creval.core.errors import CrevalError
from tests.building.chains_made import draw_images, rows

EDIT: dict[str, object] = {"sequence": [], "compound": []}


def test_a_row_is_stored_next_to_its_image(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 1)
    found = ComplexEditRows(tmp_path / "bench")
    assert (len(found), "p0.png" in found) == (0, False)
    found.write(GenerationItem("p0.png", images / "p0.png"), 7, EDIT, {"writer": "m"})
    assert rows(tmp_path / "bench") == {
        "0007.json": {"image": "0007.png", "picture": "p0.png", "edit": EDIT, "made": {"writer": "m"}}
    }
    copied = tmp_path / "bench" / "built" / "0007.png"
    assert copied.read_bytes() == (images / "p0.png").read_bytes()
    again = ComplexEditRows(tmp_path / "bench")
    assert (len(again), "p0.png" in again) == (1, True)


def test_numbers_do_not_change_when_images_are_added(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 3)
    found = ComplexEditRows(tmp_path / "bench")
    assert found.assign_numbers(["b", "c"]) == {"b": 0, "c": 1}
    found.write(GenerationItem("b", images / "p0.png"), 0, EDIT, {})
    found.write(GenerationItem("c", images / "p1.png"), 1, EDIT, {})
    again = ComplexEditRows(tmp_path / "bench")
    assert again.assign_numbers(["a", "b", "c", "d"]) == {"a": 2, "b": 0, "c": 1, "d": 3}


def test_a_name_that_is_no_text_is_found_again(tmp_path: Path) -> None:
    images = draw_images(tmp_path / "images", 1)
    found = ComplexEditRows(tmp_path / "bench")
    found.write(GenerationItem("p\udcff.png", images / "p0.png"), 0, EDIT, {})
    assert "p\udcff.png" in found
    assert "p\udcff.png" in ComplexEditRows(tmp_path / "bench")


def test_a_file_that_is_no_row_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "0001.json").write_text(json.dumps([1]))
    with pytest.raises(CrevalError, match=r"0001\.json does not contain a JSON object\. Delete it"):
        ComplexEditRows(tmp_path)
    with pytest.raises(CrevalError, match="a has no image"):
        ComplexEditRows(tmp_path / "other").write(GenerationItem("a"), 0, EDIT, {})
