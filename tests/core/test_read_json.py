from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.core.files import coerce_text, filename_stem, read_json


def test_stems_of_any_path() -> None:
    assert filename_stem("image/1718655347.8155239.jpg") == "1718655347.8155239"
    assert filename_stem("image\\a.png") == "a"
    assert filename_stem("") == ""


def test_what_should_be_text_becomes_text() -> None:
    assert [coerce_text(value) for value in ("a", None, 3)] == ["a", "", "3"]
    assert [coerce_text(value) for value in (["a"], {"a": 1}, float("nan"))] == [""] * 3


def test_faulty_files_become_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}
    for content in (b"{", b"\xff\xfe\xfd", b"[" * 100_000):
        (tmp_path / "b.json").write_bytes(content)
        with pytest.raises(CrevalError, match=r"b\.json is not valid JSON"):
            read_json(tmp_path / "b.json")
    with pytest.raises(CrevalError, match=r"c\.json cannot be read: No such file"):
        read_json(tmp_path / "c.json")


@pytest.mark.parametrize("digits", [301, 401, 5_000])
def test_a_number_that_no_float_can_hold_becomes_a_sentence(tmp_path: Path, digits: int) -> None:
    (tmp_path / "a.json").write_text(f'{{"weight": {"9" * digits}}}')
    with pytest.raises(
        CrevalError, match=r"a\.json is not valid JSON: a number has .* digits; at most 300 are allowed"
    ):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.json").write_text(f'{{"weight": {"9" * 300}}}')
    assert float(read_json(tmp_path / "a.json")["weight"]) == 1e300
