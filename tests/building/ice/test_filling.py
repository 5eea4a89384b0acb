"""Templates that people fill in, completely, partly or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.builder import IceBuildOptions
from creval.building.ice.review import IceReview
from creval.core.errors import CrevalError
from tests.building.ice.made import Heard, Unwilling, building, draw_plain, draw_task, entries, put
from tests.serving import serving


def test_people_fill_in_and_the_rest_is_written(url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_task(images, TASKS["Color Editing"])
    draw_task(images, TASKS["Subject Addition"])
    people = IceBuildOptions(people_fill_in=True)
    work = building(images, out, url, people)
    work.run()
    assert work.ice_items.unfilled_count == 2
    with pytest.raises(CrevalError, match="no usable item"):
        open_benchmark(out)
    assert building(images, out, url, people).item_count == 0, "it waits for people"
    path = out / "dataset" / "data.jsonl"
    first, second = entries(out)
    first["Instruction"] = "Make the sky in <SOURCE> green."
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    work = building(images, out, url, people)
    assert work.item_count == 1
    work.run()
    assert (work.ice_items.unfilled_count, len(open_benchmark(out).dataset.samples)) == (1, 1)
    assert entries(out)[0]["Instruction"] == "Make the sky in <SOURCE> green."
    assert entries(out)[0]["TargetCaption"]
    building(images, out, url).run()  # a model fills in the remaining templates
    assert [finding.rule for finding in open_benchmark(out).dataset.issues] == ["no items"] * 29
    assert entries(out)[0]["Instruction"] == "Make the sky in <SOURCE> green."


def test_the_writer_continues_partly_filled_templates(tmp_path: Path) -> None:
    images, out, server = tmp_path / "in", tmp_path / "bench", Heard(seed=3)
    draw_task(images, TASKS["Color Editing"])
    with serving(server.app()) as url:
        building(images, out, url, IceBuildOptions(people_fill_in=True)).run()
        begun = "Make the third sail from the left in <SOURCE> {its new colour}."
        put(out, {**entries(out)[0], "Instruction": begun})
        building(images, out, url).run()
    assert f"Template: {begun}" in server.heard[1]
    said = entries(out)[0]["Instruction"]
    assert said.startswith("Make the third sail from the left in <SOURCE> ")
    assert "{" not in said


def test_braces_of_ones_own_are_to_be_filled_in_too(tmp_path: Path) -> None:
    images, out, server = tmp_path / "in", tmp_path / "bench", Heard(seed=3)
    draw_task(images, TASKS["Color Editing"])
    with serving(server.app()) as url:
        building(images, out, url).run()
        (entry,), calls = entries(out), server.stats["requests"]
        put(out, {**entry, "Instruction": "Make the clock in <SOURCE> {red}."})
        work = building(images, out, url, IceBuildOptions(people_fill_in=True))
        assert (work.item_count, work.ice_items.unfilled_count) == (0, 1)
        work.run()
        assert server.stats["requests"] == calls, "edits without an instruction are not described"
        (item, *_) = IceReview(out).group("color-editing-a").items
        assert "to fill in: red" in item.notes
        with pytest.raises(CrevalError, match="no usable item"):
            open_benchmark(out)
        building(images, out, url).run()
    assert entries(out)[0]["Instruction"] == "Make the clock in <SOURCE> something red."


def test_a_row_with_braces_is_a_template(tmp_path: Path) -> None:
    images, out, server = draw_plain(tmp_path / "in", 1), tmp_path / "bench", Heard(seed=3)
    table = tmp_path / "items.csv"
    table.write_text(
        "image,task,instruction\np00.png,Color Editing,Make {the car} in <SOURCE> blue.\n"
        ",Text2Image,A picture of {an animal} in the rain.\n"
    )
    with serving(server.app()) as url:
        work = building(images, tmp_path / "open", url, IceBuildOptions(item_table=table, people_fill_in=True))
        assert [made.calls for made in work.estimate()] == [0, 1]
        work.run()
        assert work.ice_items.unfilled_count == 2
        building(images, out, url, IceBuildOptions(item_table=table)).run()
        assert building(images, out, url, IceBuildOptions(item_table=table)).item_count == 0
    first, second = entries(out)
    assert first["Instruction"] == "Make something red in <SOURCE> blue."
    assert first["made"]["template"] == "Make {the car} in <SOURCE> blue."
    assert second["TargetCaption"] == "A picture of something red in the rain."


def test_an_instruction_of_ones_own_that_is_emptied_waits_for_people(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 1), tmp_path / "bench"
    table = tmp_path / "items.csv"
    table.write_text("image,task,instruction\np00.png,Color Editing,Make <SOURCE> blue.\n")
    building(images, out, url, IceBuildOptions(item_table=table)).run()
    put(out, {**entries(out)[0], "Instruction": ""})
    work = building(images, out, url, IceBuildOptions(item_table=table))
    assert (work.item_count, work.ice_items.unfilled_count) == (0, 1)
    (item, *_) = IceReview(out).group("color-editing-p00").items
    assert item.notes == ("it is not written yet",)


def test_tasks_without_blanks_are_looked_at_also_for_people(tmp_path: Path) -> None:
    images = draw_plain(tmp_path / "in", 2)
    with serving(Unwilling().app()) as url:
        wish = IceBuildOptions(people_fill_in=True, tasks="Text Removal")
        assert len(building(images, tmp_path / "bench", url, wish).run().left_out) == 2
