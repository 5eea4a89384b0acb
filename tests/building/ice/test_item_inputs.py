from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice import item_inputs
from creval.building.ice.builder import IceBuildOptions
from creval.core.errors import CrevalError
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.release_files import mask
from tests.building.ice.made import Unwilling, building, draw_plain, draw_task, entries, size_of
from tests.serving import serving


def test_control_images_are_made_of_photographs(url: str, tmp_path: Path) -> None:
    names = ("Edge-guided Generation", "Image Colorization", "Image Deblurring", "Outpainting")
    images = draw_plain(tmp_path / "in", 4)
    out = tmp_path / "bench"
    wrote = building(images, out, url, IceBuildOptions(tasks=",".join(names), derive=True)).run()
    assert len(wrote.results) == 4, wrote.left_out
    found = {sample.tags["task"]: sample for sample in open_benchmark(out).dataset.samples}
    edges = found["Edge-guided Generation"].source
    assert edges is not None
    assert set(np.unique(np.asarray(Image.open(edges)))) <= {0, 255}
    wide = found["Outpainting"]
    assert wide.source is not None
    assert wide.mask is not None
    assert size_of(wide.source) == size_of(wide.mask) == (144, 109)
    assert len(list((out / "dataset" / "images").rglob("*.png"))) == 9, "including the photographs"


def test_unreadable_images_are_left_out_alone(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 2), tmp_path / "bench"
    (images / "broken.png").write_bytes(b"none")
    draw_task(images, TASKS["Inpainting"], "small")
    draw_task(images, TASKS["Inpainting"], "none")
    Image.new("L", (9, 9)).save(images / "Inpainting" / "small_mask.png")
    (images / "Inpainting" / "none_mask.png").write_bytes(b"")
    wrote = building(images, out, url).run()
    left = wrote.left_out
    assert (len(wrote.results), len(left)) == (2, 3)
    assert left["inpainting-small"] == "the mask is 9 x 9, but the image is 96 x 73"
    assert "none_mask.png" in left["inpainting-none"]
    assert "broken.png" in left["broken.png: item 1"]
    assert len(list((out / "dataset" / "images").rglob("*.png"))) == 2


def test_nobodys_image_is_taken_away(tmp_path: Path) -> None:
    images, table = draw_plain(tmp_path / "own" / "in", 3), tmp_path / "items.csv"
    table.write_text("image,task\np00.png,Face Editing\n")
    with serving(Unwilling().app()) as url:
        with pytest.raises(CrevalError, match="contains the images"):
            building(images, tmp_path / "own", url, IceBuildOptions(item_table=table))
        wrote = building(images, tmp_path / "bench", url, IceBuildOptions(item_table=table)).run()
        assert list(wrote.left_out) == ["face-editing-p00"]
        wrote = building(images, tmp_path / "all", url, IceBuildOptions(derive=True)).run()
    assert len(wrote.left_out) == 3
    assert all(why.count("does not suit") == 5 for why in wrote.left_out.values())
    assert len(list(images.iterdir())) == 3
    assert not list((tmp_path / "all").rglob("*.png"))


def test_images_that_control_are_taken_as_they_are(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 1), tmp_path / "bench"
    draw_task(images, TASKS["Edge-guided Generation"], "e")
    wish = IceBuildOptions(tasks="Edge-guided Generation", derive=True)
    assert len(building(images, out, url, wish).run().results) == 2
    home = out / "dataset" / "images" / "edge-guided-generation"
    brought = images / "Edge-guided Generation" / "e.png"
    assert (home / "edge-guided-generation-e_src.png").read_bytes() == brought.read_bytes()
    assert (home / "edge-guided-generation-p00_photo.png").is_file()


@pytest.mark.parametrize(("level", "said"), [(0, "the mask has no white pixels"), (255, "the mask is all white")])
def test_a_mask_says_where(level: int, said: str, url: str, tmp_path: Path) -> None:
    draw_task(tmp_path / "in", TASKS["Inpainting"])
    Image.new("L", (96, 73), level).save(tmp_path / "in" / "Inpainting" / "a_mask.png")
    wrote = building(tmp_path / "in", tmp_path / "bench", url).run()
    assert said in wrote.left_out["inpainting-a"]


def test_a_control_image_of_one_colour_is_none(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 1), tmp_path / "bench"
    Image.new("RGB", (1, 1), "red").save(images / "dot.png")
    Image.new("RGB", (40, 30), "blue").save(images / "sky.png")
    wrote = building(images, out, url, IceBuildOptions(tasks="24,26,27", derive=True)).run()
    assert len(wrote.results) == 1
    assert set(wrote.left_out) == {"dot.png: item 1", "sky.png: item 1"}
    for why in wrote.left_out.values():
        assert why.count("does not suit: its control image would have a single colour") == 3
    wish = IceBuildOptions(tasks="5,24", derive=True)
    again = building(draw_plain(tmp_path / "in", 1), tmp_path / "other", url, wish).run()
    assert (len(again.results), again.left_out) == (3, {}), "another task may suit"


def test_an_image_that_cannot_be_written_is_named(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_image: Image.Image, _path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(item_inputs, "save_png", full)
    images, out = draw_plain(tmp_path / "in", 1), tmp_path / "bench"
    wrote = building(images, out, url, IceBuildOptions(tasks="24", derive=True)).run()
    path = out / "dataset" / "images" / "edge-guided-generation"
    assert list(wrote.left_out.values()) == [
        f"{path / 'edge-guided-generation-p00_src.png'} cannot be written: No space left on device"
    ]


def test_a_model_for_depth_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    server = FakeServer()
    with serving(server.app()) as url:
        gauges = {"depth": str(tmp_path / "none")}
        images = draw_plain(tmp_path / "in", 2)
        work = building(images, tmp_path / "bench", url, IceBuildOptions(derive=True), metric_models=gauges)
        with pytest.raises(CrevalError, match="no folder"):
            work.run()
    assert server.stats["requests"] == 0


def test_every_image_is_copied_to_its_own_place(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 4), tmp_path / "bench"
    mask().save(images / "where.png")
    table = tmp_path / "items.csv"
    table.write_text(
        "image,task,mask,references\np00.png,Virtual Try On,where.png,p02.png;p01.png;p03.png\n"
        ",Style Reference Creating,,p03.png;p00.png\np01.png,Text-to-Image Creating,,\n"
    )
    building(images, out, url, IceBuildOptions(item_table=table)).run()
    found = {entry["Task"]: entry for entry in entries(out)}
    assert {name: [_brought(images, out, place) for place in _places(entry)] for name, entry in found.items()} == {
        "Virtual Try On": ["p00.png", "where.png", "p02.png", "p01.png", "p03.png"],
        "Style Reference Generation": ["p03.png", "p00.png"],
        "Text2Image": ["p01.png"],
    }


def _places(entry: dict[str, Any]) -> list[str]:
    """Return the paths of an item's images."""
    found = [entry["SourceImage"], entry["SourceMask"], *entry["ReferenceImages"]]
    return [place for place in [*found, entry["made"].get("photograph")] if place]


def _brought(images: Path, out: Path, place: str) -> str:
    """Return the name of the image that was copied to a path."""
    content = (out / "dataset" / place).read_bytes()
    return next(path.name for path in images.iterdir() if path.read_bytes() == content)
