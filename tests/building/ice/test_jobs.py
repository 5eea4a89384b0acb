from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.control_images import DEPTH, DERIVABLE
from creval.building.ice.image_sets import ImageSet, find_image_sets
from creval.building.ice.jobs import (
    ExistingItem,
    TaskSelection,
    assign_id_stems,
    assign_tasks,
    find_pending_jobs,
    unfit_task_reason,
)
from tests.building.ice.made import draw, draw_all, draw_plain


def test_every_folder_of_a_task_gives_an_item_of_it(tmp_path: Path) -> None:
    found, lost = find_image_sets(draw_all(tmp_path / "in", 2), tmp_path / "out")
    jobs, without = assign_tasks(found, assign_id_stems(found, []), TaskSelection(), 0)
    assert (lost, without) == ({}, {})
    every = [job for of in jobs.values() for job in of]
    assert Counter(task.name for job in every for task in job.tasks) == dict.fromkeys(TASKS, 2)
    assert all(job.task_is_certain for job in every)


def test_tasks_are_spread_evenly(tmp_path: Path) -> None:
    found, _ = find_image_sets(draw_plain(tmp_path / "in", 32), tmp_path / "out")
    jobs, _ = assign_tasks(found, assign_id_stems(found, []), TaskSelection(), 0)
    first = [of[0].tasks[0].name for of in jobs.values()]
    assert (len({*first}), set(Counter(first).values())) == (16, {2})  # creating, global editing
    assert len({*first[:16]}) == 16, "also in the first part of the images"
    assert jobs == assign_tasks(found, assign_id_stems(found, []), TaskSelection(), 0)[0]
    other = assign_tasks(found, assign_id_stems(found, []), TaskSelection(), 1)[0]
    assert [jobs[name][0].tasks for name in found] != [other[name][0].tasks for name in found]
    derived, _ = assign_tasks(found, assign_id_stems(found, []), TaskSelection(derived=DERIVABLE | {DEPTH}), 0)
    more = {of[0].tasks[0].name for of in derived.values()} - {*first}
    assert more == {
        "Outpainting",
        "Edge-guided Generation",
        "Depth-guided Generation",
        "Image Colorization",
        "Image Deblurring",
    }


def test_several_tasks_an_image_are_different_ones(tmp_path: Path) -> None:
    found, _ = find_image_sets(draw_plain(tmp_path / "in", 3), tmp_path / "out")
    jobs, _ = assign_tasks(found, assign_id_stems(found, []), TaskSelection(items_per_image=5), 0)
    for of in jobs.values():
        assert [job.position for job in of] == [1, 2, 3, 4, 5]
        tasks = [task.name for job in of for task in job.tasks]
        assert len(tasks) == len(set(tasks)) == 16
    few = TaskSelection(frozenset({"Color Editing", "Style Editing"}), items_per_image=5)
    assert [len(of) for of in assign_tasks(found, assign_id_stems(found, []), few, 0)[0].values()] == [2] * 3, (
        "one for each task"
    )


def test_existing_items_are_not_built_again(tmp_path: Path) -> None:
    found, _ = find_image_sets(draw_plain(tmp_path / "in", 1), tmp_path / "out")
    choice = TaskSelection(items_per_image=3)
    [jobs] = assign_tasks(found, assign_id_stems(found, []), choice, 0)[0].values()
    there = [ExistingItem("p00.png", jobs[1].tasks[2].name, "p00"), ExistingItem("p00.png", "Inpainting", "p00")]
    assert find_pending_jobs(jobs, there[:1], choice) == ([jobs[0], jobs[2]], 1)
    assert find_pending_jobs(jobs, there, choice) == ([jobs[0]], 2), "each existing item counts for one job"
    only = TaskSelection(frozenset({task.name for job in jobs for task in job.tasks}), items_per_image=3)
    assert find_pending_jobs(jobs, there, only) == ([jobs[0], jobs[2]], 1), "items of other tasks do not count"


def test_existing_items_keep_their_names() -> None:
    there = [ExistingItem("b/boat.png", "Color Editing", "boat")]
    found = assign_id_stems(["boat.jpg", "b/boat.png", "Boat.png"], there)
    assert found["b/boat.png"] == "boat"
    assert len({base.casefold() for base in found.values()}) == 3
    composed, apart = "caf\u00e9.png", "cafe\u0301.png"
    assert len({*assign_id_stems([composed, apart], []).values()}) == 2
    assert assign_id_stems([composed, apart], [])[composed] != "caf\u00e9", "the same file on some systems"


def test_no_item_is_called_like_a_draw_of_another() -> None:
    names = ["cat.png", "cat--2.png", "cat---2.png", "cat_2.png", "cat-2.png", "-2.png", "--2.png"]
    found = assign_id_stems(names, [])
    assert len({*found.values()}) == len(names)
    assert not [base for base in found.values() if re.search(r"--[0-9]+$", f"color-editing-{base}")]
    assert (found["cat.png"], found["cat-2.png"]) == ("cat", "cat-2")


def test_the_tasks_that_images_suit() -> None:
    path = Path("x.png")
    plain, masked = ImageSet(path), ImageSet(path, path)
    referring, both, alone = (
        ImageSet(path, None, (path,)),
        ImageSet(path, path, (path,)),
        ImageSet(None, None, (path,)),
    )

    def able(pieces: ImageSet, choice: TaskSelection | None = None, sure: bool = False) -> list[int]:
        chosen = choice or TaskSelection()
        return [t.number for t in TASKS.values() if not unfit_task_reason(t, pieces, sure, chosen)]

    assert able(plain) == list(range(1, 17))
    assert able(masked) == list(range(17, 23))
    assert able(referring) == [28]
    assert able(both) == [29, 30, 31]
    assert able(alone) == [2, 3, 4]
    assert able(plain, TaskSelection(derived=DERIVABLE)) == [*range(1, 17), 18, 24, 26, 27]
    assert set(range(23, 28)) <= set(able(plain, sure=True))
    assert "NAME_mask.png" in unfit_task_reason(TASKS["Inpainting"], plain, True, TaskSelection())
    assert unfit_task_reason(TASKS["Outpainting"], plain, True, TaskSelection()).endswith("; `derive` creates it")
    depth = unfit_task_reason(TASKS["Depth-guided Generation"], plain, False, TaskSelection())
    assert depth.endswith("; `derive` `metric_models` depth=MODEL creates it")


def test_images_without_a_task_are_reported(tmp_path: Path) -> None:
    draw(tmp_path, "Inpainting/a.png", "Face Swap/b.png", "c.png")
    found, _ = find_image_sets(tmp_path, tmp_path / "out")
    jobs, without = assign_tasks(
        found, assign_id_stems(found, []), TaskSelection(frozenset({"Inpainting", "Face Swap"})), 0
    )
    assert not any(jobs.values())
    assert without["Inpainting/a.png"] == "Inpainting needs a mask (NAME_mask.png)"
    assert without["Face Swap/b.png"] == "Face Swap needs a mask (NAME_mask.png)"
    assert "c.png" in without
    assert assign_tasks({"a.png": found["c.png"]}, {}, TaskSelection(), 0, "Inpainting")[1] == {
        "a.png": "Inpainting needs a mask (NAME_mask.png)"
    }, "the name of the root folder counts too"
    assert ImageSet(None, None, ()).main_image is None
    assert unfit_task_reason(TASKS["Face Reference Creating"], ImageSet(None), True, TaskSelection())
