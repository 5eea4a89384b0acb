from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.building.image_files import list_image_names, sample_names
from creval.core.errors import CrevalError


def test_images_are_found_in_folders_inside_but_not_in_what_was_made(tmp_path: Path) -> None:
    for name in (
        "b.PNG",
        "a.jpeg",
        "sub/c.webp",
        ".hidden.png",
        ".git/d.png",
        "x.txt",
        "e.heic",
        "out/image/z.png",
        "outer/f.png",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    found = list_image_names(tmp_path, tmp_path / "outer" / ".." / "out")
    assert found == ["a.jpeg", "b.PNG", "e.heic", "outer/f.png", "sub/c.webp"]
    assert "out/image/z.png" in list_image_names(tmp_path, tmp_path.parent / "elsewhere")


def test_folders_without_images_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="not a folder"):
        list_image_names(tmp_path / "none", tmp_path / "out")
    with pytest.raises(CrevalError, match="contains no images"):
        list_image_names(tmp_path, tmp_path / "out")
    for inside in (tmp_path, tmp_path.parent):
        with pytest.raises(CrevalError, match=r"contains the images\. Give a folder elsewhere"):
            list_image_names(tmp_path, inside)


NAMES = st.lists(st.text(max_size=3), unique=True, max_size=12).map(sorted)


@given(names=NAMES, few=st.integers(1, 12), more=st.integers(0, 12), seed=st.integers(0, 9))
def test_a_larger_limit_adds_to_a_smaller(names: list[str], few: int, more: int, seed: int) -> None:
    first, second = sample_names(names, few, seed), sample_names(names, few + more, seed)
    assert first == sorted(first)
    assert len(first) == min(few, len(names))
    assert set(first) <= set(second) <= set(names)
    assert sample_names(names, None, seed) == names
    assert sample_names(names, few, seed) == first
