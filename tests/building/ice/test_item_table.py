from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from creval.building.ice.item_table import read_item_table
from creval.building.ice.jobs import ExistingItem, ItemJob, TaskSelection
from creval.core.errors import CrevalError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("dog.png", "m.png", "hat.png", "scarf.png", "Color Editing/car.png"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6)).save(path)
    return tmp_path / "in"


def table(folder: Path, text: str, name: str = "items.csv") -> Path:
    path = folder.parent / name
    path.write_text(text)
    return path


def rows_of(
    path: Path, folder: Path, choice: TaskSelection | None = None, there: Mapping[str, ExistingItem] | None = None
) -> tuple[list[ItemJob], dict[str, str]]:
    return read_item_table(path, folder, folder.parent / "out", choice or TaskSelection(), there or {})[:2]


def test_a_table_says_what_belongs_together(folder: Path) -> None:
    path = table(
        folder,
        "image,task,mask,references,instruction,source_type\n"
        "dog.png,Virtual Try On,m.png,hat.png; scarf.png,,real\n"
        "dog.png,Style Transfer,,hat.png,,\n"
        "dog.png,Style Transfer,,scarf.png,,Generated\n"
        ",Text2Image,,,A red kite over the sea.,\n"
        "Color Editing/car.png,,,,Make <SOURCE> blue.,\n",
    )
    jobs, without = rows_of(path, folder)
    assert without == {}
    assert [(job.tasks[0].number, job.source_type) for job in jobs] == [
        (30, "real"),
        (28, ""),
        (28, "generated"),
        (1, ""),
        (5, ""),
    ]
    assert jobs[0].image_set.references == (folder / "hat.png", folder / "scarf.png")
    names = [job.item_id(job.tasks[0]) for job in jobs]
    assert names[0] == "virtual-try-on-dog"
    assert all(name.startswith("style-transfer-dog-") for name in names[1:3])
    assert names[4] == "color-editing-car"
    assert len({job.id for job in jobs}) == 5
    assert len(rows_of(path, folder, TaskSelection(frozenset({"Style Transfer"})))[0]) == 2


def test_json_does_as_well(folder: Path) -> None:
    rows = [{"image": "dog.png", "task": "Face Swap", "mask": "m.png", "references": ["hat.png"]}]
    jobs, _ = rows_of(table(folder, json.dumps(rows), "items.json"), folder)
    assert jobs[0].image_set.references == (folder / "hat.png",)


def test_incomplete_rows_are_reported(folder: Path) -> None:
    path = table(
        folder,
        "image,task,instruction\ndog.png,Inpainting,\n,Text2Image,\n"
        "dog.png,5,\ndog.png,5,\ndog.png,5,Make <SOURCE> like <REF_1>.\n",
    )
    jobs, without = rows_of(path, folder)
    assert len(jobs) == 1
    assert without == {
        "row 1": "Inpainting needs a mask (in the column mask)",
        "row 2": "without an image it needs an instruction",
        "row 5": "its instruction is invalid (pictures: there is no <REF_1>)",
    }


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("../secret.png,Color Editing,", "is outside of"),
        ("/etc/hostname,Color Editing,", "is outside of"),
        ("none.png,Color Editing,", "none.png does not exist"),
        ("dog.png,Colour Edit,", "Color Editing"),
        ("dog.png,,", "the row needs a task"),
        ("dog.png,Color Editing,painted", "source type"),
    ],
)
def test_wrong_rows_are_refused(row: str, said: str, folder: Path) -> None:
    with pytest.raises(CrevalError, match=said):
        rows_of(table(folder, f"image,task,source_type\n{row}\n"), folder)
    with pytest.raises(CrevalError, match="needs the column image"):
        rows_of(table(folder, "picture,task\na,b\n"), folder)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"masks": "m.png"}, "there is no column 'masks'; did you mean 'mask'?"),
        ({"instructions": "Make it red."}, ".* did you mean 'instruction'?"),
        ({"instruction": ["Make it red."]}, r"`instruction` must be text, not \['Make it"),
        ({"references": ["hat.png", 3]}, "`references` must be text"),
        ({"mask": {"at": 1}}, "`mask` must be text"),
        ({"task": True}, "`task` must be text"),
    ],
)
def test_unusable_values_in_rows_are_refused(row: dict[str, object], said: str, folder: Path) -> None:
    rows = [{"image": "dog.png", "task": 5}, {"image": "dog.png", "task": 5, **row}]
    with pytest.raises(CrevalError, match=f"items.json, row 2: {said}"):
        rows_of(table(folder, json.dumps(rows), "items.json"), folder)


def test_columns_without_a_name_are_empty(folder: Path) -> None:
    assert len(rows_of(table(folder, "image,task,,\ndog.png,5,,\ndog.png,6,,,\n"), folder)[0]) == 2
    for text in ("image,task,\ndog.png,5,x\n", "image,task\ndog.png,5,x\n"):
        with pytest.raises(CrevalError, match="'x' is in a column without a name"):
            rows_of(table(folder, text), folder)


def test_rows_keep_their_items_if_rows_are_inserted(folder: Path) -> None:
    head = "image,task,instruction\n"
    rows = ["dog.png,Color Editing,Make <SOURCE> red.", "dog.png,Color Editing,Make <SOURCE> blue."]

    def jobs(*given: str, there: Mapping[str, ExistingItem] | None = None) -> list[ItemJob]:
        path = table(folder, head + "\n".join(given) + "\n,,\n")
        return rows_of(path, folder, None, there)[0]

    first, second = jobs(*rows)
    there = {
        job.item_id(job.tasks[0]): ExistingItem(job.key, job.tasks[0].name, job.id_stem) for job in (first, second)
    }
    assert jobs(*rows[::-1], there=there) == [second, first]
    new, *others = jobs("dog.png,Color Editing,Make <SOURCE> green.", *rows, there=there)
    assert others == [first, second]
    assert new.item_id(new.tasks[0]) not in there
    assert len(jobs(rows[0], rows[0])) == 1


@pytest.mark.parametrize("row", [",Text2Image,A fox in {} rains.", "dog.png,5,Make <SOURCE> {}."])
def test_each_of_many_rows_is_one_item(row: str, folder: Path) -> None:
    rows = [row.format(number) for number in range(10_000)]
    path = table(folder, "\n".join(["image,task,instruction", *rows]))
    jobs, _ = rows_of(path, folder)
    assert len({job.id for job in jobs}) == len({job.key for job in jobs}) == 10_000


def test_semicolons_numbers_and_whole_paths_are_understood(folder: Path) -> None:
    text = f"image;task\n{folder.resolve() / 'dog.png'};5\n"
    [job], _ = rows_of(table(folder, text), folder)
    assert (job.tasks[0].name, job.image_set.image) == ("Color Editing", folder / "dog.png")
    with pytest.raises(CrevalError, match=r"items.csv, row 2: there is no task 'x'"):
        rows_of(table(folder, "image,task\ndog.png,5\ndog.png,x\n"), folder)
