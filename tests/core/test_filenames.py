from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.filenames import draw_filename, escape_draw_suffix, invalid_filename_reason, parse_edit_filename

texts = st.text(min_size=1)


@given(texts, st.integers(0, 999_999_999))
def test_what_is_written_is_read(name: str, draw: int) -> None:
    assert parse_edit_filename(draw_filename(name, draw)) == (name, draw)
    assert parse_edit_filename(name, {name}) == (name, 0)


@given(texts)
def test_what_is_like_no_draw_is_read_as_none(name: str) -> None:
    plain = escape_draw_suffix(name)
    assert parse_edit_filename(plain) == (plain, 0)
    assert escape_draw_suffix(plain) == plain


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a", ""),
        ("x/a--2", ""),
        ("é c|.d", ""),
        ("x" * 240, ""),
        ("x" * 241, "no file can have"),
        ("é" * 121, "no file can have"),
        ("/".join(["x" * 200] * 20), "no file can have"),
        ("a\0", "no file can have"),
        ("", "leads out of its folder"),
        ("/etc", "leads out of its folder"),
        ("a/", "leads out of its folder"),
        ("a//b", "leads out of its folder"),
        ("../a", "leads out of its folder"),
        (".", "leads out of its folder"),
        (".a", "hidden files"),
        ("a/.b/c", "hidden files"),
    ],
)
def test_which_ids_can_be_names(name: str, reason: str) -> None:
    found = invalid_filename_reason(name)
    assert reason in found
    assert bool(found) == bool(reason)
