from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from creval.benchmarks.complexbench_release import SUBSETS
from creval.build.chains.complexbench_files import Entries, file_of, has_place, key_of
from creval.core.errors import CrevalError


def made(text: str = "Add a kite.") -> dict[str, Any]:
    return {"new_ins": text, "edit pair": [], "rejected": ["step 1: format"]}


def test_keys_are_numbers_where_names_are() -> None:
    assert key_of("val2017/000000198641.jpg") == "198641"
    assert key_of("a/Ünïcode x.png") == "Ünïcode x"
    assert key_of("0" * 12 + ".jpg") == "0"
    assert key_of("9" * 30 + ".jpg") == "9" * 30, "too long for a number"
    assert key_of("a\udcff.png") == "a?"
    assert [has_place(name) for name in ("a.JPG", "b.webp", "c.gif", "d")] == [
        True,
        True,
        False,
        False,
    ]


def test_what_is_added_is_written_with_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "000000000012.jpg"
    picture.write_bytes(b"picture")
    entries = Entries(tmp_path / "bench")
    assert not entries.has(SUBSETS, picture.name)
    entries.add("two-chain", picture.name, picture, made(), {"writer": "w"})
    entries.save()
    assert entries.has(["parallel", "two-chain"][1:], picture.name)
    again = Entries(tmp_path / "bench")
    assert again.subsets["two-chain"] == {
        "12": {
            "img_path": "000000000012.jpg", "new_ins": "Add a kite.", "edit pair": [],
            "made": {"writer": "w", "rejected": ["step 1: format"]},
        }
    }  # fmt: skip
    copied = tmp_path / "bench" / "data" / "images" / "12-000000000012.jpg"
    assert copied.read_bytes() == b"picture"
    assert all(file_of(tmp_path / "bench", subset).is_file() for subset in SUBSETS), "or empty"


def test_samples_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    entries = Entries(tmp_path)
    entries.subsets["two-chain"] = {key: {} for key in ("10", "9", "cat", "100")}
    entries.save(["two-chain"])
    assert list(json.loads(file_of(tmp_path, "two-chain").read_text())) == ["9", "10", "100", "cat"]
    assert not file_of(tmp_path, "three-chain").exists(), "only what is named is written"


@pytest.mark.parametrize("content", ["[]", "{", '"x"'])
def test_a_file_of_another_form_gets_a_sentence(tmp_path: Path, content: str) -> None:
    path = file_of(tmp_path, "two-chain")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(CrevalError, match="two-chain"):
        Entries(tmp_path)
