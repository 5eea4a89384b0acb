from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.filenames import of_draw, read_name, unlike_draws, unnameable

texts = st.text(min_size=1)


@given(texts, st.integers(0, 999_999_999))
def test_what_is_written_is_read(name: str, draw: int) -> None:
    assert read_name(of_draw(name, draw)) == (name, draw)
    assert read_name(name, {name}) == (name, 0)


@given(texts)
def test_what_is_like_no_draw_is_read_as_none(name: str) -> None:
    plain = unlike_draws(name)
    assert read_name(plain) == (plain, 0)
    assert unlike_draws(plain) == plain


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
    found = unnameable(name)
    assert reason in found
    assert bool(found) == bool(reason)
