from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building import image_files as building_images
from creval.building.ice import save
from creval.building.ice.builder import IceBuildOptions
from creval.building.ice.review import IceReview
from creval.building.review.base import DROPPED
from creval.core.errors import CrevalError
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.release_files import drawn
from tests.building.ice.made import Heard, building, draw_all, draw_plain, draw_task, entries, put, size_of
from tests.serving import serving


def test_all_tasks_are_built_and_read_without_fault(url: str, tmp_path: Path) -> None:
    images, out = draw_all(tmp_path / "in"), tmp_path / "bench"
    work = building(images, out, url, IceBuildOptions(source_type="real"))
    wrote = work.run()
    assert len(wrote.results) + len(wrote.left_out) == 31
    assert all("does not suit" in why for why in wrote.left_out.values()), wrote.left_out
    dataset = open_benchmark(out).dataset
    assert len(dataset.samples) == len(wrote.results) > 25
    gone = {name for name in TASKS if name not in {s.tags["task"] for s in dataset.samples}}
    assert {finding.item or finding.location for finding in dataset.issues} == gone
    for sample in dataset.samples:
        task = TASKS[sample.tags["task"]]
        assert (sample.source is not None) == task.has_source
        assert (sample.mask is not None) == task.has_mask
        assert bool(sample.references) == bool(task.reference_metric)
        assert sample.captions["target"]
        assert ("source" in sample.captions) == task.has_source
        assert sample.tags.get("source_type") == ("real" if task.has_source else None)
        for path in filter(None, (sample.source, sample.mask, *sample.references)):
            assert size_of(path) == (96, 73)
        own = images / task.name / "p0.png"
        brought = [own, own.with_name("p0_mask.png"), own.with_name("p0_ref1.png")]
        there = (sample.source, sample.mask, *sample.references)
        for copied, of in zip(there, brought, strict=False):
            assert copied is None or copied.read_bytes() == of.read_bytes()
    made = entries(out)[0]["made"]
    assert made["Instruction"]["by"] in ("w", "template")
    assert made["TargetCaption"]["prompt"].startswith("ice_target@")


def test_a_second_start_asks_nothing_and_new_images_join(tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 6), tmp_path / "bench"
    server = FakeServer(seed=3)
    with serving(server.app()) as url:
        first = building(images, out, url).run()
        before, calls = entries(out), server.stats["requests"]
        again = building(images, out, url)
        assert (again.item_count, again.warnings()) == (0, ["6 items already exist and will not be changed."])
        again.run()
        assert (server.stats["requests"], entries(out)) == (calls, before)
        draw_plain(images, 8)
        more = building(images, out, url)
        assert more.item_count == 2
        more.run()
    assert (len(first.results), len(entries(out))) == (6, 8)
    assert [entry for entry in entries(out) if entry in before] == before


def test_a_task_that_does_not_suit_gives_way_to_another(tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 30), tmp_path / "bench"
    with serving(FakeServer(seed=2).app()) as url:
        wrote = building(images, out, url).run()
    assert (len(wrote.results), wrote.left_out) == (30, {})
    rejected = [said for entry in entries(out) for said in entry["made"]["rejected"]]
    assert any("does not suit" in said for said in rejected)


def test_a_folder_stays_one_thing(url: str, tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 1), tmp_path / "bench"
    building(images, out, url).run()
    with pytest.raises(CrevalError, match="another seed"):
        building(images, out, url, seed=4)
    mine = tmp_path / "mine.json"
    mine.write_text('{"Color Editing": "Paint {it} in <SOURCE>."}')
    with pytest.raises(CrevalError, match="other templates"):
        building(images, out, url, IceBuildOptions(templates=mine))


def test_decisions_during_a_build_are_kept(tmp_path: Path) -> None:
    images, out = draw_plain(tmp_path / "in", 2), tmp_path / "bench"
    with serving(FakeServer(seed=3).app()) as url:
        building(images, out, url).run()
        first, second = entries(out)
        draw_plain(images, 3)
        work = building(images, out, url)  # has read the existing items
        put(out, {**first, "dropped": True}, {**second, "SourceCaption": "A word of my own."})
        work.run()
    found = {entry["ItemID"]: entry for entry in entries(out)}
    assert len(found) == 3
    assert found[first["ItemID"]]["dropped"] is True
    assert found[second["ItemID"]]["SourceCaption"] == "A word of my own."


def test_decisions_while_images_are_copied_are_kept(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_task(images, TASKS["Color Editing"])
    building(images, out, url).run()
    draw_task(images, TASKS["Color Editing"], "b")

    def put_image(image: Path, path: Path) -> None:
        IceReview(out).decide("color-editing-a", "Instruction", DROPPED, {})
        building_images.copy_image(image, path)

    monkeypatch.setattr(save, "copy_image", put_image)
    building(images, out, url).run()
    assert [entry.get("dropped") for entry in entries(out)] == [True, None]


def test_an_instruction_changed_by_hand_is_described_anew(tmp_path: Path) -> None:
    images, out, server = tmp_path / "in", tmp_path / "bench", FakeServer(seed=3)
    draw_task(images, TASKS["Color Editing"])
    with serving(server.app()) as url:
        building(images, out, url).run()
        calls, (entry,) = server.stats["requests"], entries(out)
        put(out, {**entry, "Instruction": "Make the lake in <SOURCE> golden."})
        work = building(images, out, url)
        assert [made.calls for made in work.estimate()] == [0, 1]
        work.run()
        assert server.stats["requests"] == calls + 1
        assert building(images, out, url).item_count == 0
        mine = {"Instruction": "Make the lake in <SOURCE> red.", "TargetCaption": "A red lake."}
        put(out, {**entries(out)[0], **mine})
        assert building(images, out, url).item_count == 0, "people's own description stays"
        put(out, {**entries(out)[0], "SourceCaption": "", "Instruction": ""})
        building(images, out, url).run()
    (entry,) = entries(out)
    assert entry["SourceCaption"]
    assert entry["Instruction"]
    assert entry["TargetCaption"] == "A red lake."


@pytest.mark.parametrize("change", [{"Task": "Texture Editing"}, {"Task": 7}, {"made": "x"}, {"made": None}])
def test_a_line_is_never_written_over(change: dict[str, object], url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_task(images, TASKS["Color Editing"])
    building(images, out, url).run()
    line = {**entries(out)[0], **change, "Instruction": "Mine, and mine alone."}
    put(out, line)
    building(images, out, url).run()
    (now,) = entries(out)
    assert now | {"TargetCaption": ""} == line | {"TargetCaption": ""} or "made" not in change
    assert now["Instruction"] == "Mine, and mine alone."


def test_texts_written_during_a_build_are_kept(tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_task(images, TASKS["Color Editing"])
    with serving(FakeServer(seed=3).app()) as url:
        building(images, out, url, IceBuildOptions(people_fill_in=True)).run()
        (entry,) = entries(out)
        put(out, {**entry, "Instruction": "Make the lake in <SOURCE> red."})
        work = building(images, out, url)
        work.generator.run = _meanwhile(  # type: ignore[method-assign]
            work.generator.run, lambda: put(out, {**entries(out)[0], "TargetCaption": "A red lake."})
        )
        work.run()
    assert entries(out)[0]["TargetCaption"] == "A red lake."


def _meanwhile(run: Any, act: Callable[[], None]) -> Any:
    def both(*arguments: Any, **options: Any) -> Any:
        found = run(*arguments, **options)
        act()
        return found

    return both


def test_handwritten_texts_are_attributed_to_people(url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    draw_task(images, TASKS["Color Editing"])
    building(images, out, url).run()
    (entry,) = entries(out)
    mine = {"Instruction": "Make the lake in <SOURCE> red.", "SourceCaption": "A lake of mine."}
    put(out, {**entry, **mine})
    building(images, out, url).run()
    made = entries(out)[0]["made"]
    assert [made[part] for part in mine] == [{"by": "people"}] * 2
    assert made["TargetCaption"]["by"] == "w"
    put(out, {**entries(out)[0], "TargetCaption": "A red lake.", "SourceCaption": ""})
    building(images, out, url).run()
    made = entries(out)[0]["made"]
    assert (made["TargetCaption"]["by"], made["SourceCaption"]["by"]) == ("people", "w")
    before = entries(out)
    building(images, out, url).run()
    assert entries(out) == before


def test_lines_stay_in_their_order(url: str, tmp_path: Path) -> None:
    images, out = tmp_path / "in", tmp_path / "bench"
    for name in "bc":
        draw_task(images, TASKS["Color Editing"], name)
    building(images, out, url).run()
    put(out, *reversed(entries(out)))
    for name in "ad":
        draw_task(images, TASKS["Color Editing"], name)
    building(images, out, url).run()
    assert [entry["ItemID"][-1] for entry in entries(out)] == ["a", "c", "b", "d"]


def test_an_image_is_described_once_for_all_its_items(tmp_path: Path) -> None:
    server = Heard(seed=3)
    with serving(server.app()) as url:
        wish = IceBuildOptions(tasks="5-8", items_per_image=4, people_fill_in=True)
        work = building(draw_plain(tmp_path / "in", 2), tmp_path / "bench", url, wish)
        (made,) = [one for one in work.estimate() if one.calls]
        assert len(work.run().results) == 8
    assert server.stats["requests"] == made.calls == 2
    told = {(e["made"]["picture"], e["SourceCaption"]) for e in entries(tmp_path / "bench")}
    assert len(told) == 2


def test_estimates_are_what_is_asked(tmp_path: Path) -> None:
    images, out, server = tmp_path / "in", tmp_path / "bench", Heard(seed=3)
    for name in ("Color Editing", "Text Removal", "Text-to-Image Creating", "Face Swap"):
        draw_task(images, TASKS[name])
    drawn(9).save(images / "Face Swap" / "a_ref2.png")
    with serving(server.app()) as url:
        for wish in (IceBuildOptions(people_fill_in=True), IceBuildOptions()):
            work, before = building(images, out, url, wish, retries=0), server.stats["requests"]
            made, shown = work.estimate(), server.shown
            work.run()
            assert server.stats["requests"] - before == sum(one.calls for one in made)
            assert server.shown - shown == sum(one.images for one in made)
