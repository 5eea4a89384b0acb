from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.control_images import DEPTH, DERIVED
from creval.building.ice.image_sets import Pieces, find_pieces
from creval.building.ice.jobs import Choice, There, assigned, bases, still_to_make, unfit
from tests.building.ice.made import draw, draw_all, draw_plain


def test_every_folder_of_a_task_gives_an_item_of_it(tmp_path: Path) -> None:
    found, lost = find_pieces(draw_all(tmp_path / "in", 2), tmp_path / "out")
    jobs, without = assigned(found, bases(found, []), Choice(), 0)
    assert (lost, without) == ({}, {})
    every = [job for of in jobs.values() for job in of]
    assert Counter(task.name for job in every for task in job.tasks) == dict.fromkeys(TASKS, 2)
    assert all(job.sure for job in every)


def test_tasks_are_spread_evenly(tmp_path: Path) -> None:
    found, _ = find_pieces(draw_plain(tmp_path / "in", 32), tmp_path / "out")
    jobs, _ = assigned(found, bases(found, []), Choice(), 0)
    first = [of[0].tasks[0].name for of in jobs.values()]
    assert (len({*first}), set(Counter(first).values())) == (16, {2})  # creating, global editing
    assert len({*first[:16]}) == 16, "so they are among the first ones"
    assert jobs == assigned(found, bases(found, []), Choice(), 0)[0]
    other = assigned(found, bases(found, []), Choice(), 1)[0]
    assert [jobs[name][0].tasks for name in found] != [other[name][0].tasks for name in found]
    derived, _ = assigned(found, bases(found, []), Choice(derived=DERIVED | {DEPTH}), 0)
    more = {of[0].tasks[0].name for of in derived.values()} - {*first}
    assert more == {
        "Outpainting", "Edge-guided Generation", "Depth-guided Generation", "Image Colorization",
        "Image Deblurring",
    }  # fmt: skip


def test_several_tasks_a_picture_are_different_ones(tmp_path: Path) -> None:
    found, _ = find_pieces(draw_plain(tmp_path / "in", 3), tmp_path / "out")
    jobs, _ = assigned(found, bases(found, []), Choice(each=5), 0)
    for of in jobs.values():
        assert [job.part for job in of] == [1, 2, 3, 4, 5]
        tasks = [task.name for job in of for task in job.tasks]
        assert len(tasks) == len(set(tasks)) == 16
    few = Choice(frozenset({"Color Editing", "Style Editing"}), each=5)
    assert [len(of) for of in assigned(found, bases(found, []), few, 0)[0].values()] == [2] * 3, (
        "one for each task"
    )


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    found, _ = find_pieces(draw_plain(tmp_path / "in", 1), tmp_path / "out")
    choice = Choice(each=3)
    [jobs] = assigned(found, bases(found, []), choice, 0)[0].values()
    there = [There("p00.png", jobs[1].tasks[2].name, "p00"), There("p00.png", "Inpainting", "p00")]
    assert still_to_make(jobs, there[:1], choice) == ([jobs[0], jobs[2]], 1)
    assert still_to_make(jobs, there, choice) == ([jobs[0]], 2), "by whatever task"
    only = Choice(frozenset({task.name for job in jobs for task in job.tasks}), each=3)
    assert still_to_make(jobs, there, only) == ([jobs[0], jobs[2]], 1), "but one that is wanted"


def test_what_is_there_keeps_its_name() -> None:
    there = [There("b/boat.png", "Color Editing", "boat")]
    found = bases(["boat.jpg", "b/boat.png", "Boat.png"], there)
    assert found["b/boat.png"] == "boat"
    assert len({base.casefold() for base in found.values()}) == 3
    composed, apart = "caf\u00e9.png", "cafe\u0301.png"
    assert len({*bases([composed, apart], []).values()}) == 2
    assert bases([composed, apart], [])[composed] != "caf\u00e9", "one file on some systems"


def test_no_item_is_called_like_a_draw_of_another() -> None:
    names = ["cat.png", "cat--2.png", "cat---2.png", "cat_2.png", "cat-2.png", "-2.png", "--2.png"]
    found = bases(names, [])
    assert len({*found.values()}) == len(names)
    assert not [base for base in found.values() if re.search(r"--[0-9]+$", f"color-editing-{base}")]
    assert (found["cat.png"], found["cat-2.png"]) == ("cat", "cat-2")


def test_what_pictures_can_serve() -> None:
    path = Path("x.png")
    plain, masked = Pieces(path), Pieces(path, path)
    referring, both, alone = (
        Pieces(path, None, (path,)),
        Pieces(path, path, (path,)),
        Pieces(None, None, (path,)),
    )

    def able(pieces: Pieces, choice: Choice | None = None, sure: bool = False) -> list[int]:
        chosen = choice or Choice()
        return [t.number for t in TASKS.values() if not unfit(t, pieces, sure, chosen)]

    assert able(plain) == list(range(1, 17))
    assert able(masked) == list(range(17, 23))
    assert able(referring) == [28]
    assert able(both) == [29, 30, 31]
    assert able(alone) == [2, 3, 4]
    assert able(plain, Choice(derived=DERIVED)) == [*range(1, 17), 18, 24, 26, 27]
    assert set(range(23, 28)) <= set(able(plain, sure=True))
    assert "NAME_mask.png" in unfit(TASKS["Inpainting"], plain, True, Choice())
    assert unfit(TASKS["Outpainting"], plain, True, Choice()).endswith("; --derive makes it")
    depth = unfit(TASKS["Depth-guided Generation"], plain, False, Choice())
    assert depth.endswith("; --derive --gauge depth=MODEL makes it")


def test_pictures_without_a_task_are_told(tmp_path: Path) -> None:
    draw(tmp_path, "Inpainting/a.png", "Face Swap/b.png", "c.png")
    found, _ = find_pieces(tmp_path, tmp_path / "out")
    jobs, without = assigned(
        found, bases(found, []), Choice(frozenset({"Inpainting", "Face Swap"})), 0
    )
    assert not any(jobs.values())
    assert without["Inpainting/a.png"] == "Inpainting needs a mask (NAME_mask.png)"
    assert without["Face Swap/b.png"] == "Face Swap needs a mask (NAME_mask.png)"
    assert "c.png" in without
    assert assigned({"a.png": found["c.png"]}, {}, Choice(), 0, "Inpainting")[1] == {
        "a.png": "Inpainting needs a mask (NAME_mask.png)"
    }, "the folder of all counts, too"
    assert Pieces(None, None, ()).first is None
    assert unfit(TASKS["Face Reference Creating"], Pieces(None), True, Choice())
