from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.complexbench_edit.release import SUBSETS
from creval.building.complexbench.files import ComplexBenchEntries, image_key, instructions_file
from creval.core.errors import CrevalError
from creval.core.images import open_image


def test_keys_are_numbers_where_names_are() -> None:
    assert image_key("val2017/000000198641.jpg") == "198641"
    assert image_key("a/Ünïcode x.png") == "Ünïcode x"
    assert image_key("0" * 12 + ".jpg") == "0"
    assert image_key("9" * 30 + ".jpg") == "9" * 30, "too long for a number"


def test_added_entries_are_written_with_their_image(tmp_path: Path) -> None:
    image = tmp_path / "000000000012.jpg"
    image.write_bytes(b"picture")
    steps, made = {"new_ins": "Add a kite.", "edit pair": []}, {"writer": "w"}
    entries = ComplexBenchEntries(tmp_path / "bench")
    assert not entries.has(SUBSETS, image.name)
    entries.save_image(image.name, image)
    assert entries.add("two-chain", image.name, steps, made)
    assert not entries.add("two-chain", image.name, {}, {}), "existing entries stay"
    entries.save()
    assert entries.has(["parallel", "two-chain"][1:], image.name)
    again = ComplexBenchEntries(tmp_path / "bench")
    assert again.subsets["two-chain"] == {
        "12": {
            "img_path": "000000000012.jpg",
            "new_ins": "Add a kite.",
            "edit pair": [],
            "made": {"picture": "000000000012.jpg", "writer": "w"},
        }
    }
    copied = tmp_path / "bench" / "data" / "images" / "12-000000000012.jpg"
    assert copied.read_bytes() == b"picture"
    assert all(instructions_file(tmp_path / "bench", subset).is_file() for subset in SUBSETS), "some are empty"


def test_samples_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    entries = ComplexBenchEntries(tmp_path)
    entries.subsets["two-chain"] = {key: {} for key in ("10", "9", "cat", "100")}
    entries.save(["two-chain"])
    assert list(json.loads(instructions_file(tmp_path, "two-chain").read_text())) == ["9", "10", "100", "cat"]
    assert not instructions_file(tmp_path, "three-chain").exists(), "only the given subsets are written"


@pytest.mark.parametrize("content", ["[]", "{", '"x"'])
def test_a_file_of_another_form_gets_a_sentence(tmp_path: Path, content: str) -> None:
    path = instructions_file(tmp_path, "two-chain")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(CrevalError, match="two-chain"):
        ComplexBenchEntries(tmp_path)


PAIR = {"edit_type": "delete object", "ori obj": "cup", "new_obj": "nothing"}
MADE = {"new_ins": "Delete the cup.\n" * 3, "edit pair": [PAIR] * 3}


def drawn(folder: Path, name: str) -> Path:
    path = folder / "images" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (20, 10), "teal").save(path)
    return path


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("val2017/000000198641.jpg", "198641"),
        ("007.png", "7"),
        ("a/Ünïcode x.png", "Ünïcode x"),
        ("a\u202egnp.exe.png", "a_gnp.exe"),
        ("\x1b[31m.png", "_[31m"),
        (". .png", "_"),
        ("a\udce9.png", "a_"),
    ],
)
def test_a_key_is_a_name_that_can_be_shown_and_written(name: str, key: str) -> None:
    assert image_key(name) == key


@pytest.mark.parametrize("letter", ["a", "ü", "木"])
def test_a_long_name_is_cut(tmp_path: Path, letter: str) -> None:
    # As long as a file system allows.
    name = letter * (250 // len(letter.encode())) + ".png"
    entries = ComplexBenchEntries(tmp_path / "bench")
    entries.save_image(name, drawn(tmp_path, name))
    entries.add("two-chain", name, MADE, {"writer": "w"})
    entries.save()
    (sample,) = open_benchmark(tmp_path / "bench").dataset.samples
    assert sample.source is not None
    assert sample.source.is_file()
    assert len(sample.source.name.encode()) < 200
    other = f"{name[:-5]}b.png"
    assert image_key(other) != image_key(name), "names with the same prefix have different keys"


@pytest.mark.parametrize("name", ["a.gif", "a.bmp", "a.tiff", "a.ppm", "a.png", "a.JPG"])
def test_every_kind_of_image_finds_its_place(tmp_path: Path, name: str) -> None:
    image = drawn(tmp_path, name)
    entries = ComplexBenchEntries(tmp_path / "bench")
    entries.save_image(name, image)
    entries.add("two-chain", name, MADE, {})
    entries.save()
    (sample,) = open_benchmark(tmp_path / "bench").dataset.samples
    assert sample.source is not None
    assert open_image(sample.source).size == (20, 10)
    same = sample.source.read_bytes() == image.read_bytes()
    assert same == (name in ("a.png", "a.JPG"))


def test_images_of_one_key_are_found_before_anything_is_asked(tmp_path: Path) -> None:
    entries = ComplexBenchEntries(tmp_path)
    names = ["007.png", "7.png", "a/cat.jpg", "b/Cat.jpg", "dog.png"]
    found = entries.find_key_clashes(names)
    assert list(found) == ["7.png", "b/Cat.jpg"]
    assert found["7.png"] == "it would have the same key as 007.png. Rename it."
    entries.add("two-chain", "b/Cat.jpg", MADE, {})
    entries.save()
    assert list(ComplexBenchEntries(tmp_path).find_key_clashes(names)) == ["7.png", "a/cat.jpg"], (
        "existing entries stay"
    )
