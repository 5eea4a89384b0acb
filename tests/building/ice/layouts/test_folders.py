"""DreamBooth's and VITON-HD's folders, and what `creval build ice` makes of imported images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.building.ice.builder import IceBuildOptions
from creval.building.ice.image_sets import find_image_sets, tasks_from_folder
from creval.building.ice.import_images import import_images
from creval.core.errors import CrevalError
from tests.building.ice.made import building
from tests.commands import right


def photo(path: Path, colour: str = "teal", size: tuple[int, int] = (24, 32)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def dreambooth(folder: Path) -> Path:
    for number in range(3):
        photo(folder / "dataset" / "dog6" / f"0{number}.jpg")
    photo(folder / "dataset" / "vase" / "00.jpg")
    photo(folder / "dataset" / "stray.jpg")
    (folder / "dataset" / "prompts_and_classes.txt").write_text("subject_name,class\ndog6,dog\n")
    return folder


def viton(folder: Path, *, masks: bool = True) -> Path:
    root = folder / "test"
    for number in range(3):
        photo(root / "image" / f"0{number}_00.jpg")
        photo(root / "cloth" / f"0{number}_00.jpg", "red")
        mask = np.zeros((32, 24), dtype=np.uint8)
        if masks and number < 2:
            mask[8:16, 4:12] = 255
            path = root / "agnostic-mask" / f"0{number}_00_mask.png"
        else:
            mask[8:16, 4:12], mask[20:24, :] = 5, 9  # a shirt and trousers
            path = root / "image-parse-v3" / f"0{number}_00.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        labels = Image.fromarray(mask)
        if path.parent.name == "image-parse-v3":
            labels.putpalette([255 - level for level in range(256) for _ in range(3)])
        labels.save(path)
    (folder / "test_pairs.txt").write_text("00_00.jpg 01_00.jpg\n01_00.jpg 00_00.jpg\n02_00.jpg 01_00.jpg\n\n")
    return folder


def test_a_subject_becomes_a_set_of_references(tmp_path: Path) -> None:
    found = import_images(tmp_path / "out", dreambooth(tmp_path / "dreambooth"), "dreambooth")
    assert found.counts == {"Subject Reference Creating": 2}
    assert found.left_out == {"stray.jpg": "it is in no subject's folder"}
    sets, lost = find_image_sets(tmp_path / "out", tmp_path / "bench")
    assert lost == {}
    dog, vase = sets.values()
    assert (dog.image, dog.mask, len(dog.references)) == (None, None, 3)
    assert [path.name for path in dog.references] == ["dog6_ref1.jpg", "dog6_ref2.jpg", "dog6_ref3.jpg"]
    assert len(vase.references) == 1
    assert [task.name for task in tasks_from_folder(next(iter(sets)))] == ["Subject Reference Creating"]


@pytest.mark.parametrize("masks", [True, False])
def test_a_pair_becomes_a_virtual_try_on(tmp_path: Path, masks: bool) -> None:
    found = import_images(tmp_path / "out", viton(tmp_path / "viton", masks=masks), "viton-hd")
    assert (found.counts, found.left_out) == ({"Virtual Try On": 3}, {})
    home = tmp_path / "out" / "Virtual Try On"
    assert sorted(path.name for path in home.iterdir())[:3] == [
        "00_00-01_00.jpg",
        "00_00-01_00_mask.png",
        "00_00-01_00_ref1.jpg",
    ]
    for path in home.glob("*_mask.png"):
        mask = np.asarray(Image.open(path))
        assert (mask[8:16, 4:12] == 255).all()
        assert np.count_nonzero(mask) == 64, "only the garment on the upper body"


def test_pairs_can_be_given_and_missing_ones_are_reported(tmp_path: Path) -> None:
    images, pairs = viton(tmp_path / "viton"), tmp_path / "pairs.txt"
    pairs.write_text("00_00.jpg 09_00.jpg\n00_00.jpg 00_00.jpg\n")
    found = import_images(tmp_path / "out", images / "test", "viton-hd", pairs)
    assert found.counts == {"Virtual Try On": 1}
    assert found.left_out == {"00_00 09_00": "no image of the garment"}
    (images / "test_pairs.txt").unlink()
    assert import_images(tmp_path / "all", images, "viton-hd").total == 3, "each person with the garment of that name"
    pairs.write_text("one two three\n")
    with pytest.raises(CrevalError, match="line 1: a person and a garment are needed"):
        import_images(tmp_path / "out", images, "viton-hd", pairs)
    with pytest.raises(CrevalError, match="must contain the folders `image` and `cloth`"):
        import_images(tmp_path / "out", tmp_path / "all", "viton-hd")


def test_the_limit_chooses_and_the_command_reports(tmp_path: Path) -> None:
    viton(tmp_path / "viton")
    arguments = ["init", "ice", str(tmp_path / "out"), "--images", str(tmp_path / "viton"), "--layout", "viton-hd"]
    assert "Next: creval build ice --images" in right(*arguments, "--limit", "2")
    assert len(list((tmp_path / "out").rglob("*_ref1.jpg"))) == 2
    said = json.loads(right(*arguments, "--json"))
    assert said["sets"] == {"Virtual Try On": 3}


def test_imported_images_become_items(tmp_path: Path, url: str) -> None:
    """Items of the imported try-ons have the person, the mask and the garment, and pass the reader's checks."""
    images = tmp_path / "out"
    import_images(images, viton(tmp_path / "viton"), "viton-hd")
    import_images(images, dreambooth(tmp_path / "dreambooth"), "dreambooth")
    record = json.loads((images / "import.json").read_text())
    assert sorted(one["layout"] for one in record["sets"].values()) == ["dreambooth"] * 2 + ["viton-hd"] * 3
    wrote = building(images, tmp_path / "bench", url, IceBuildOptions()).run()
    assert (len(wrote.results), wrote.left_out) == (5, {})
    dataset = open_benchmark(tmp_path / "bench").dataset
    assert {issue.rule for issue in dataset.issues} == {"no items"}
    tasks = {sample.id: sample.tags["task"] for sample in dataset.samples}
    assert sorted(tasks.values()) == ["Subject Reference Creating"] * 2 + ["Virtual Try On"] * 3
    for sample in dataset.samples:
        if tasks[sample.id] == "Virtual Try On":
            assert sample.source is not None
            assert sample.mask is not None
            assert len(sample.references) == 1
        else:
            assert (sample.source, len(sample.references)) == (None, 3 if "dog6" in sample.id else 1)
