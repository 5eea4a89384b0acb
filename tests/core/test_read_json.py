from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.core.files import coerce_text, filename_stem, parse_json, read_json


def test_stems_of_any_path() -> None:
    assert filename_stem("image/1718655347.8155239.jpg") == "1718655347.8155239"
    assert filename_stem("image\\a.png") == "a"
    assert filename_stem("") == ""


def test_values_are_coerced_to_text() -> None:
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


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "-1E+999", "9" * 5000])
def test_numbers_too_large_for_a_float_are_errors(tmp_path: Path, number: str) -> None:
    (tmp_path / "a.json").write_text(f'{{"weight": [{number}]}}')
    with pytest.raises(CrevalError, match=r"a\.json is not valid JSON: the number -?[1-9][0-9.eE+]*.* is too large\."):
        read_json(tmp_path / "a.json")


def test_other_numbers_and_texts_are_as_they_are() -> None:
    assert parse_json('[1e300, 1e-400, 12345678901234567890, "1e400"]') == [1e300, 0.0, 12345678901234567890, "1e400"]
    assert parse_json(b'\xef\xbb\xbf["' + b"0" * 400 + b'"]') == ["0" * 400]
    assert parse_json("[1]".encode("utf-16")) == [1]


def test_a_json_file_of_three_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(CrevalError, match=r"a\.json cannot be read: it is larger than 64 MB, the limit"):
        read_json(tmp_path / "a.json")
