"""Images get safe ids, and instructions are matched with images."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.building.creval.sources import (
    GivenInstruction,
    SourceImage,
    assign_balanced_dimensions,
    attach_instructions,
    find_source_images,
    read_given_instructions,
)
from creval.core.errors import CrevalError


def test_names_are_safe_and_each_its_own(tmp_path: Path) -> None:
    for name in (
        "b.png",
        "a.png",
        "a.JPG",
        "sub/c.webp",
        "sub/a b&ü.png",
        ".hidden.png",
        "x.txt",
        'q".png',
        "out/image/z.png",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    found = find_source_images(tmp_path, tmp_path / "out")
    assert [source.name for source in found] == [
        "a-jpg.jpg",
        "a-png.png",
        "b.png",
        "q_.png",
        "sub_a b&ü.png",
        "sub_c.webp",
    ]


def test_names_fit_everywhere(tmp_path: Path) -> None:
    for name in ("x" * 250, "é" * 120, "é" * 119 + "e", "a\u202egnp", "\u200b", "b\udcff"):
        (tmp_path / f"{name}.png").touch()
    found = find_source_images(tmp_path, tmp_path / "out")
    assert max(len(source.name.encode()) for source in found) <= 124
    assert len({source.id for source in found}) == 6, "truncated ids still differ"
    assert {"a_gnp", "_", "b_"} < {source.id for source in found}


def test_known_images_keep_their_ids(tmp_path: Path) -> None:
    for name in ("cat.png", "cat.jpg", "Cat-jpg.png", "dog.png"):
        (tmp_path / name).touch()
    known = {"cat.png": "cat", "gone.png": "dog", "dog.png": "../evil"}
    found = find_source_images(tmp_path, tmp_path / "out", known)
    assert {source.path.name: source.id for source in found} == {
        "cat.png": "cat",
        "cat.jpg": "cat-jpg-2",
        "Cat-jpg.png": "Cat-jpg",
        "dog.png": "dog-png",
    }


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60),
        unique=True,
        max_size=6,
    )
)
def test_ids_are_names_and_stay(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in names:
            with suppress(OSError):
                (folder / f"{name}.png").touch()
        (folder / "one.png").touch()
        found = find_source_images(folder, folder / "out")
        assert len({source.id.casefold() for source in found}) == len(found)
        known = {source.path.name: source.id for source in found}
        assert find_source_images(folder, folder / "out", known) == found


def sources(*names: str) -> list[SourceImage]:
    return [SourceImage(name.partition(".")[0], Path("pictures") / name, name) for name in names]


def test_instructions_in_every_kind_of_file(tmp_path: Path) -> None:
    table = tmp_path / "told.csv"
    table.write_text("\ufeffImage,Instruction,Dimension\na.png,Make it  red,Surreal Fantasy\nb,Blue,\n")
    wanted = {"a.png": GivenInstruction("Make it red", "Surreal Fantasy"), "b": GivenInstruction("Blue")}
    assert read_given_instructions(table) == wanted
    listed = tmp_path / "told.json"
    listed.write_text(
        json.dumps(
            [
                {"image": "a.png", "instruction": "Make it red", "dimension": "Surreal Fantasy"},
                {"input_image": ["b"], "input_prompt": "Blue"},
            ]
        )
    )
    assert read_given_instructions(listed) == wanted
    listed.write_text(json.dumps({"b": "Blue", "c": {"instruction": "Go", "class_id": 3}}))
    assert read_given_instructions(listed) == {
        "b": GivenInstruction("Blue"),
        "c": GivenInstruction("Go", "Surreal Fantasy"),
    }
    found, unknown = attach_instructions(sources("a.png", "b.jpg", "c.png"), {**wanted, "x": GivenInstruction("No")})
    assert [source.given_instruction for source in found] == ["Make it red", "Blue", ""]
    assert unknown == ["x"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("t.csv", "picture,words\na,b\n", "needs the columns"),
        ("t.csv", "image,instruction\na,\n", "row 1: the row needs"),
        ("t.csv", "image,instruction\na,x\na,y\n", "already has another instruction"),
        ("t.csv", "image,instruction,dimension\na,x,Surreal\n", "did you mean 'Surreal Fantasy'"),
        ("t.json", "[1]", "must be a list"),
        ("t.json", "{", "not valid JSON"),
    ],
)
def test_a_faulty_file_gets_a_sentence(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CrevalError, match=sentence):
        read_given_instructions(tmp_path / name)


@given(st.sets(st.text(min_size=1, max_size=4), max_size=40), st.integers(0, 5))
def test_dimensions_are_balanced_and_stay(ids: set[str], seed: int) -> None:
    first = assign_balanced_dimensions(sorted(ids)[: len(ids) // 2], {}, seed)
    both = assign_balanced_dimensions(ids, first, seed)
    assert both.keys() == ids
    assert all(both[name] == first[name] for name in first)
    counts = Counter(dict.fromkeys(CLASS_DIMENSIONS, 0) | Counter(both.values()))
    assert max(counts.values()) - min(counts.values()) <= 1
