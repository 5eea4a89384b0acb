from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.builder import IceBuildOptions
from creval.core.errors import CrevalError
from tests.benchmarks.ice_bench.release_files import drawn
from tests.building.ice.made import building, draw, draw_plain, draw_task, entries, put


def test_images_of_one_name_in_folders_of_several_tasks(url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_plain(images / "Global Editing", 1)
    draw_plain(images / "Ref Image Creating", 1)
    assert len(building(images, out, url).run().results) == 2
    assert len(entries(out)) == 2


def test_a_table_of_ones_own(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 2), tmp_path / "bench"
    table = tmp_path / "items.csv"
    table.write_text(
        "image,task,instruction,source_type\np00.png,Color Editing,Make <SOURCE> blue.,generated\n"
        "p00.png,Style Editing,Make <SOURCE> like <REF_1>.,\np01.png,Style Editing,,\n"
        "p01.png,Inpainting,,\n"
    )
    wrote = building(images, out, url, IceBuildOptions(item_table=table)).run()
    assert wrote.left_out == {
        "row 2": "its instruction is invalid (pictures: there is no <REF_1>)",
        "row 4": "Inpainting needs a mask (in the column mask)",
    }
    first, second = entries(out)
    assert (first["Instruction"], first["SourceImageType"]) == ("Make <SOURCE> blue.", "Generated Image")
    assert (first["made"]["Instruction"]["by"], second["made"]["Instruction"]["by"]) == ("given", "w")


def test_nothing_to_build_is_an_error(url: str, tmp_path: Path) -> None:
    images = draw_plain(tmp_path / "in", 1)
    with pytest.raises(CrevalError, match="Inpainting needs a mask"):
        building(images, tmp_path / "bench", url, IceBuildOptions(tasks="17"))
    with pytest.raises(CrevalError, match="task"):
        building(images, tmp_path / "bench", url, IceBuildOptions(tasks="Painting"))
    with pytest.raises(CrevalError, match="source type"):
        IceBuildOptions(source_type="painted")


def test_images_in_the_benchmark_are_no_sources(url: str, tmp_path: Path) -> None:
    images = draw_plain(tmp_path / "in", 1)
    drawn(1).save(draw_plain(images / "out" / "x", 0) / "y.png")
    table = tmp_path / "items.csv"
    table.write_text("image,task\nout/x/y.png,Color Editing\n")
    with pytest.raises(CrevalError, match="is inside `out`"):
        building(images, images / "out", url, IceBuildOptions(item_table=table))


def test_inputs_that_a_task_does_not_use_are_reported(url: str, tmp_path: Path) -> None:
    draw_task(tmp_path / "in", TASKS["Style Reference Creating"])
    drawn(1).save(tmp_path / "in" / "Style Reference Creating" / "a.png")
    (note,) = building(tmp_path / "in", tmp_path / "bench", url).warnings()
    assert note == "ignored, because their tasks do not use them: a.png"


def test_unused_inputs_of_rows_are_reported(url: str, tmp_path: Path) -> None:
    images, table = draw_plain(tmp_path / "in", 2), tmp_path / "items.csv"
    table.write_text("image,task,mask\np00.png,Color Editing,p01.png\n")
    (note,) = building(images, tmp_path / "bench", url, IceBuildOptions(item_table=table)).warnings()
    assert note == "ignored, because their tasks do not use them: p01.png"


def test_a_larger_limit_adds_and_changes_nothing(url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_plain(images, 8)
    for name in ("boat.png", "boat.jpg"):
        drawn(len(name)).save(images / name)
    names: list[set[str]] = []
    for limit in (1, 4, 7, None):
        building(images, out, url, IceBuildOptions(items_per_image=3), limit=limit).run()
        names.append({entry["ItemID"] for entry in entries(out)})
    assert [len(one) for one in names] == [3, 12, 21, 30]
    assert all(less < more for less, more in pairwise(names))
    assert building(images, out, url, IceBuildOptions(items_per_image=3)).item_count == 0


def test_only_what_is_wanted_is_completed(url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    for name in ("Color Editing", "Style Editing", "Subject Change"):
        draw_task(images, TASKS[name])
    building(images, out, url, IceBuildOptions(people_fill_in=True)).run()
    assert building(images, out, url, IceBuildOptions(tasks="Style Editing,13")).item_count == 2
    assert building(images, out, url, limit=1).item_count == 1
    assert building(images, out, url).item_count == 3


def test_images_of_tasks_that_are_not_chosen_are_not_looked_at(url: str, tmp_path: Path) -> None:
    images = draw_plain(tmp_path / "in" / "Color Editing", 2).parent
    draw(images, *(f"Inpainting/{n}.png" for n in "abcdefgh"), "Face Swap/x_mask.png")
    work = building(images, tmp_path / "bench", url, IceBuildOptions(tasks="5"), limit=2)
    assert (work.item_count, work.warnings()) == (2, [])
    assert work.run().left_out == {}
    with pytest.raises(CrevalError, match="`tasks` excludes all of them"):
        building(images, tmp_path / "other", url, IceBuildOptions(tasks="6"))


def test_duplicate_rows_are_reported_and_give_one_item(url: str, tmp_path: Path) -> None:
    images, table = draw_plain(tmp_path / "in", 1), tmp_path / "items.csv"
    table.write_text("image,task\n" + "p00.png,5\n" * 3)
    work = building(images, tmp_path / "bench", url, IceBuildOptions(item_table=table))
    assert work.warnings() == ["duplicate rows give one item: row 2 (as row 1) and 1 more"]
    wrote = work.run()
    assert (len(wrote.results), wrote.left_out) == (1, {})


def test_items_with_changed_rows_are_reported_until_dropped(url: str, tmp_path: Path) -> None:
    images, out, table = draw_plain(tmp_path / "in", 1), tmp_path / "bench", tmp_path / "items.csv"
    wish = IceBuildOptions(item_table=table)
    for colour in ("red", "blue"):
        table.write_text(f"image,task,instruction\np00.png,5,Make <SOURCE> {colour}.\n")
        work = building(images, out, url, wish)
        work.run()
    (note,) = work.warnings()
    assert "color-editing-p00. To remove it, drop it in the review or with" in note
    put(out, *({**one, "dropped": "red" in one["Instruction"]} for one in entries(out)))
    assert building(images, out, url, wish).warnings() == ["1 item already exists and will not be changed."]


def test_source_types_are_added_to_items_without_one(url: str, tmp_path: Path) -> None:
    images, out, table = draw_plain(tmp_path / "in", 2), tmp_path / "bench", tmp_path / "items.csv"

    def types(said: str, wish: str = "") -> tuple[list[str], list[str]]:
        table.write_text(f"image,task,source_type\np00.png,5,{said}\np01.png,5,\n")
        work = building(images, out, url, IceBuildOptions(item_table=table, source_type=wish))
        notes = work.warnings()
        work.run()
        return [entry["SourceImageType"] for entry in entries(out)], notes[1:]

    assert types("") == (["", ""], [])
    assert types("generated") == (["Generated Image", ""], [])
    assert types("generated", "real") == (["Generated Image", "Real Image"], [])
    note = "another source type than given is stored, and is kept: color-editing-p00"
    assert types("real") == (["Generated Image", "Real Image"], [note])


def test_unusable_images_are_reported_before_any_request(url: str, tmp_path: Path) -> None:
    images = draw(tmp_path / "in", "a.png", "Inpainting/b.png", "Face Swap/c.png")
    work = building(images, tmp_path / "bench", url)
    assert work.warnings() == [
        "cannot be used: Face Swap/c.png (Face Swap needs a mask (NAME_mask.png)), "
        "Inpainting/b.png (Inpainting needs a mask (NAME_mask.png))"
    ]
    draw(images, *(f"Inpainting/{number}.png" for number in range(7)))
    (note,) = building(images, tmp_path / "bench", url).warnings()
    assert (note.count("needs a mask"), note.endswith(" and 1 more")) == (8, True)


def test_a_line_that_cannot_be_read_is_named(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 1), tmp_path / "bench"
    building(images, out, url).run()
    path = out / "dataset" / "data.jsonl"
    path.write_text(path.read_text() + '{"ItemID": \n')
    with pytest.raises(CrevalError, match=r"data.jsonl, line 2: it is not valid JSON"):
        building(images, out, url)


@pytest.mark.parametrize("spelt", ["{0}/", "{0}/../in", "{1}", "{2}"])
def test_a_table_is_done_however_its_folder_is_spelt(
    spelt: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, out = draw_plain(tmp_path / "in", 2), tmp_path / "bench"
    (tmp_path / "link").symlink_to(images)
    monkeypatch.chdir(tmp_path)
    table = IceBuildOptions(item_table=tmp_path / "items.csv")
    (tmp_path / "items.csv").write_text(
        "image,task,references\np00.png,Color Editing,\np01.png,Style Transfer,p00.png\n"
    )
    building(images, out, url, table).run()
    again = building(Path(spelt.format(images, "in", "link")), out, url, table)
    assert (again.item_count, again.warnings()) == (0, ["2 items already exist and will not be changed."])


def test_images_whose_names_are_no_text_are_done_once(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 2), tmp_path / "bench"
    for name, odd in (("p00.png", b"caf\xe9.png"), ("p01.png", b"caf\xe8.png")):
        try:
            os.rename(images / name, os.fsencode(images / os.fsdecode(odd)))  # noqa: PTH104
        except OSError:
            pytest.skip("this file system does not allow such names")
    building(images, out, url, IceBuildOptions(items_per_image=2)).run()
    assert building(images, out, url, IceBuildOptions(items_per_image=2)).item_count == 0
    made = [entry["made"]["picture"] for entry in entries(out)]
    assert sorted(made) == [r"caf\udce8.png"] * 2 + [r"caf\udce9.png"] * 2


def test_all_items_of_an_image_name_it(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 2), tmp_path / "bench"
    tasks = "Text-to-Image Creating,Style Reference Creating,Color Editing,Image Deblurring"
    building(images, out, url, IceBuildOptions(tasks=tasks, items_per_image=4, derive=True)).run()
    table = tmp_path / "items.csv"
    table.write_text(
        "image,task,references,instruction\n./p00.png,Style Transfer,p01.png,\n"
        f"{images / 'p00.png'},Image Colorization,,\n,Style Reference Creating,p00.png,\n"
        ",Text2Image,,A fox in the rain.\n,Text2Image,,A fox in the sun.\n"
    )
    building(images, out, url, IceBuildOptions(item_table=table)).run()
    made = [entry["made"]["picture"] for entry in entries(out)]
    assert sorted(made) == [""] * 2 + ["p00.png"] * 7 + ["p01.png"] * 4
