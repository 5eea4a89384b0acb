from __future__ import annotations

from pathlib import Path

import pytest

from creval.building.ice.image_sets import ImageSet, find_folders_without_task, find_image_sets, tasks_from_folder
from tests.building.ice.made import draw


def test_images_are_grouped_by_their_names(tmp_path: Path) -> None:
    names = (
        "x/dog.png",
        "x/dog_mask.png",
        "x/dog_ref2.jpg",
        "x/dog_REF1.png",
        "cat_src.jpg",
        "cat_mask.png",
        "cat.webp",
        "alone_ref.png",
        "lost_mask.png",
        "fox-mask.png",
        "fox.png",
        "fox.ref01.png",
    )
    draw(tmp_path, *names)
    found, lost = find_image_sets(tmp_path, tmp_path / "out")
    at = tmp_path.joinpath
    assert found == {
        "x/dog.png": ImageSet(at("x/dog.png"), at("x/dog_mask.png"), (at("x/dog_REF1.png"), at("x/dog_ref2.jpg"))),
        "cat.webp": ImageSet(at("cat.webp")),
        "cat_src.jpg": ImageSet(at("cat_src.jpg")),
        "fox.png": ImageSet(at("fox.png"), at("fox-mask.png"), (at("fox.ref01.png"),)),
        "alone_ref.png": ImageSet(None, None, (at("alone_ref.png"),)),
    }
    assert lost == {
        "lost_mask.png": "its image does not exist",
        "cat_mask.png": "it could belong to cat.webp or to cat_src.jpg",
    }


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Inpainting/a.png", 1),
        ("image_colorize/x/a.png", 1),
        ("Local Editing/a.png", 6),
        ("Local Editing/Inpainting/a.png", 1),
        ("17/a.png", 0),
        ("1-2/a.png", 0),
        ("17-22/a.png", 0),
        ("3.1/a.png", 0),
        ("17, 18/a.png", 0),
        ("holidays/a.png", 0),
        ("Inpainting", 0),
    ],
)
def test_folders_name_tasks(name: str, count: int) -> None:
    assert len(tasks_from_folder(name)) == count


def test_a_folder_next_to_task_folders_without_a_task_is_reported() -> None:
    assert find_folders_without_task(["Inpainting/a", "Inpaintng/a", "b"]) == ["Inpaintng"]
    assert find_folders_without_task(["x/Inpainting/may/a", "x/Scen/a", "y/b"]) == ["x/Scen"]
    assert find_folders_without_task(["Local Editing/Inpaintng/a", "Local Editing/Outpainting/a"]) == [
        "Local Editing/Inpaintng"
    ]
    assert find_folders_without_task(["may/a", "june/b"]) == [], "no folder here names a task"
