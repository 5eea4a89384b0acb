from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.filenames import draw_filename, escape_draw_suffix, invalid_filename_reason, parse_edit_filename

texts = st.text(min_size=1)


@given(texts, st.integers(0, 999_999_999))
def test_what_is_written_is_read_back(name: str, draw: int) -> None:
    assert parse_edit_filename(draw_filename(name, draw)) == (name, draw)
    assert parse_edit_filename(name, {name}) == (name, 0)


@given(texts)
def test_names_similar_to_draws_are_not_read_as_draws(name: str) -> None:
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
        ("x" * 241, "cannot be a file name"),
        ("é" * 121, "cannot be a file name"),
        ("/".join(["x" * 200] * 20), "cannot be a file name"),
        ("a\0", "cannot be a file name"),
        ("", "points outside its folder"),
        ("/etc", "points outside its folder"),
        ("a/", "points outside its folder"),
        ("a//b", "points outside its folder"),
        ("../a", "points outside its folder"),
        (".", "points outside its folder"),
        (".a", "hidden file"),
        ("a/.b/c", "hidden file"),
    ],
)
def test_which_ids_can_be_names(name: str, reason: str) -> None:
    found = invalid_filename_reason(name)
    assert reason in found
    assert bool(found) == bool(reason)
