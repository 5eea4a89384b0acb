"""Tests of ICE-Bench's reader: all tasks in both spellings, and problems as issues."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.release import find_ice_bench_folder
from creval.benchmarks.ice_bench.tasks import CATEGORIES, TASK_GROUPS, TASKS, find_task, find_tasks
from creval.core.benchmark import Dataset
from creval.core.errors import CrevalError
from tests.benchmarks.ice_bench.release_files import identity, read_lines, write_lines, write_release

TEXT, SWAP, COLOR = (TASKS[name] for name in ("Text-to-Image Creating", "Face Swap", "Color Editing"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a release with one item per task. Do not write into it."""
    return write_release(tmp_path_factory.mktemp("ice"), each=1)


def loaded(folder: Path) -> Dataset:
    return open_benchmark(folder).dataset


def test_all_tasks_with_their_images(tmp_path: Path) -> None:
    dataset = loaded(write_release(tmp_path))
    assert (dataset.name, len(dataset.samples), dataset.issues) == ("ice-bench", 93, ())
    counts = Counter(sample.tags["task"] for sample in dataset.samples)
    assert list(counts) == list(TASKS)
    assert set(counts.values()) == {3}
    groups = Counter(sample.tags["task_group"] for sample in dataset.samples)
    assert [groups[group] / 3 for group in TASK_GROUPS] == [1, 3, 12, 6, 5, 4]
    categories = Counter(sample.tags["category"] for sample in dataset.samples)
    assert [categories[name] / 3 for name in CATEGORIES] == [1, 3, 23, 4]
    by_id = {sample.id: sample for sample in dataset.samples}
    text, swap = by_id[identity(TEXT, 0)], by_id[identity(SWAP, 1)]
    assert (text.source, text.mask, text.references) == (None, None, ())
    assert "source_type" not in text.tags
    images = [swap.source, swap.mask, *swap.references]
    assert all(path is not None and path.is_file() for path in images)
    assert swap.instruction == "Make it teal in <SOURCE> as in <REF_1>."
    assert swap.captions == {"source": "some shapes", "target": "some teal shapes"}
    assert swap.tags["source_type"] == "generated"


def test_the_papers_numbers_names_and_groups() -> None:
    assert [task.number for task in TASKS.values()] == list(range(1, 32))
    assert [task.number for task in TASKS.values() if task.has_mask] == [*range(17, 23), 29, 30, 31]
    assert [task.number for task in TASKS.values() if task.reference_metric] == [2, 3, 4, *range(28, 32)]
    assert [task.number for task in TASKS.values() if task.has_question] == [*range(5, 23), *range(28, 32)]


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("Text2Image", 1),
        ("text-to-image creating", 1),
        ("Face Referenced Creating", 2),
        ("Style Reference Generation", 3),
        ("Image Colorize", 26),
        ("Image Colorization", 26),
        ("image_deblur", 27),
        ("Style Reference Editing", 28),
        ("Style Transfer", 28),
        ("Virtual Try-On", 30),
    ],
)
def test_tasks_in_every_spelling(given: str, number: int) -> None:
    task = find_task(given)
    assert task is not None
    assert task.number == number


def test_a_name_can_select_several_tasks() -> None:
    assert [task.number for task in find_tasks("local editing")] == list(range(17, 23))
    assert [task.number for task in find_tasks("No-ref Image Editing")] == list(range(5, 28))
    assert [task.number for task in find_tasks("31")] == [31]
    assert [task.number for task in find_tasks("Subject Reference Editing")] == [29, 30]
    assert [task.number for task in find_tasks("Style Reference Editing")] == [28]
    with pytest.raises(CrevalError, match="no task 'Face Swop'; did you mean 'Face Swap'"):
        find_tasks("Face Swop")


@pytest.mark.parametrize(
    ("given", "numbers"),
    [("2-4", [2, 3, 4]), (" 17 \u2013 22 ", [*range(17, 23)]), ("5-5", [5]), ("1-31", [*range(1, 32)])],
)
def test_numbers_and_ranges_select_tasks(given: str, numbers: list[int]) -> None:
    assert [task.number for task in find_tasks(given)] == numbers


@pytest.mark.parametrize("given", ["0", "32", "4-2", "29-32", "3.1", "1_2", "2/4", "-3", "1-2-3"])
def test_other_numbers_select_no_task(given: str) -> None:
    with pytest.raises(CrevalError, match="no task"):
        find_tasks(given)


def test_braces_are_to_be_filled_in_where_an_item_was_built(tmp_path: Path) -> None:
    write_release(tmp_path, each=1)
    path = tmp_path / "dataset" / "data.jsonl"
    first, second, *others = (json.loads(line) for line in path.read_text().splitlines())
    first["Instruction"] = second["Instruction"] = "Draw {the car} in the rain."
    second["made"] = {"template": "Draw {a scene}."}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (first, second, *others)))
    dataset = loaded(tmp_path)
    assert dataset.samples[0].instruction == "Draw {the car} in the rain."
    assert [found.rule for found in dataset.issues] == ["unfilled", "no items"]
    assert dataset.issues[0].note == "{the car} is not filled in; left out"


@pytest.mark.parametrize(
    ("inside", "start"), [("dataset", ""), ("dataset", "dataset/"), ("data", "data/"), ("dataset", "data/"), ("", "")]
)
def test_images_are_found_however_they_are_named(tmp_path: Path, inside: str, start: str) -> None:
    """Paths may be relative to the folder of the list or its parent, even after the folder was renamed."""
    write_release(tmp_path, each=1, inside=inside, start=start)
    for folder in {tmp_path, tmp_path / inside}:
        dataset = loaded(folder)
        assert dataset.issues == ()
        assert all(s.source.is_file() for s in dataset.samples if s.source is not None)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Real Image", "real"),
        ("real_photo", "real"),
        ("RealImage", "real"),
        ("Generated Image", "generated"),
        ("Unreal Engine render", None),
        ("Surrealistic painting", None),
        ("realistic drawing", None),
    ],
)
def test_the_word_real_marks_real_sources(tmp_path: Path, said: str, kind: str | None) -> None:
    path = write_release(tmp_path, each=1) / "dataset" / "data.jsonl"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [json.dumps({**entry, "SourceImageType": said}) for entry in entries]
    path.write_text("\n".join(lines))
    found = {s.tags.get("source_type") for s in loaded(tmp_path).samples if s.source is not None}
    assert found == {kind}


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("task", "change", "rule", "kept"),
    [
        (COLOR, lambda e: e.pop("ItemID"), "no id", False),
        (COLOR, lambda e: e.update(ItemID=None), "no id", False),
        (COLOR, lambda e: e.update(Task="Colour Editing"), "unknown task", False),
        (COLOR, lambda e: e.update(Task={"name": 5}), "unknown task", False),
        (COLOR, lambda e: e.update(ItemID=identity(TEXT, 0)), "repeated id", False),
        (COLOR, lambda e: e.update(SourceImage=""), "no source", False),
        (COLOR, lambda e: e.update(SourceImage="../../etc/passwd"), "image outside", False),
        (COLOR, lambda e: e.update(SourceImage="/etc/passwd"), "image outside", False),
        (COLOR, lambda e: e.update(SourceImageType="Drawing"), "unknown source type", True),
        (COLOR, lambda e: e.update(TargetCaption=" "), "no target caption", True),
        (COLOR, lambda e: e.update(Instruction=""), "empty instruction", True),
        (COLOR, lambda e: e.update(Instruction="as <REF_1>"), "unknown image", True),
        (COLOR, lambda e: e.update(RegionBased=True), "no mask", True),
        (TEXT, lambda e: e.update(Instruction="like [SOURCE]"), "unknown image", True),
        (SWAP, lambda e: e.update(Instruction="as in <REF_2>"), "unknown image", True),
        (SWAP, lambda e: e.update(SourceMask=""), "no mask", False),
        (SWAP, lambda e: e.update(SourceMask="images/no.png"), "missing mask", True),
        (SWAP, lambda e: e.update(SourceMask="images/" + "x" * 4000), "missing mask", True),
        (SWAP, lambda e: e.update(SourceMask="images/\0.png"), "missing mask", True),
        (SWAP, lambda e: e.update(ReferenceImages=["images/no.png"]), "missing reference", True),
        (SWAP, lambda e: e.update(ReferenceImages=[]), "no reference", False),
        (SWAP, lambda e: e.pop("ReferenceImages"), "no reference", False),
        (SWAP, lambda e: e["ReferenceImages"].insert(0, ""), "lost reference", False),
        (SWAP, lambda e: e["ReferenceImages"].append(None), "lost reference", False),
        (COLOR, lambda e: e.update(ItemID="../../../evil"), "id is not a file name", True),
        (COLOR, lambda e: e.update(ItemID=".c"), "id is not a file name", True),
        (COLOR, lambda e: e.update(ItemID="c" * 241), "id is not a file name", True),
    ],
)
def test_faulty_items_are_found(small: Path, task: Any, change: Change, rule: str, kept: bool) -> None:
    lines = read_lines(small / "dataset" / "data.jsonl")
    entry = next(line for line in lines if line["Task"] == task.release_name)
    change(entry)
    changed = small / "changed" / rule.replace(" ", "_") / str(task.number)
    changed.mkdir(parents=True, exist_ok=True)
    if not (changed / "images").exists():
        (changed / "images").symlink_to(small / "dataset" / "images")
    write_lines(changed / "data.jsonl", lines)
    dataset = loaded(changed)
    rules = [finding.rule for finding in dataset.issues if finding.rule != "no items"]
    assert rules == ([rule, "no source"] if rule == "image outside" else [rule])
    assert any(sample.tags["task"] == task.name for sample in dataset.samples) == kept
    assert all(finding.note for finding in dataset.issues)
    absent = [finding.location for finding in dataset.issues if finding.rule == "no items"]
    assert absent == ([] if kept else [task.name])


@pytest.mark.parametrize("inside", ["dataset", ""])
@pytest.mark.parametrize("name", ["../../etc/passwd", "./../../x.png"])
def test_images_that_lie_outside_in_either_layout(tmp_path: Path, inside: str, name: str) -> None:
    home = write_release(tmp_path / "ICE", each=1, inside=inside) / inside
    lines = read_lines(home / "data.jsonl")
    for line, field, value in (
        (COLOR, "SourceImage", name),
        (SWAP, "SourceMask", name),
        (TASKS["Style Transfer"], "ReferenceImages", [f"images/{COLOR.name}.png", name]),
    ):
        next(entry for entry in lines if entry["Task"] == line.release_name)[field] = value
    write_lines(home / "data.jsonl", lines)
    dataset = loaded(tmp_path / "ICE")
    rules = Counter(finding.rule for finding in dataset.issues)
    assert rules == {
        "image outside": 3,
        "no source": 1,
        "no mask": 1,
        "lost reference": 1,
        "no items": 3,
        "missing reference": 1,
    }
    assert len(dataset.samples) == 28


def test_references_may_be_empty_where_none_is_needed(small: Path, tmp_path: Path) -> None:
    lines = read_lines(small / "dataset" / "data.jsonl")[:1]
    lines[0]["ReferenceImages"] = [""]
    write_lines(tmp_path / "data.jsonl", lines)
    (sample,) = loaded(tmp_path).samples
    assert sample.references == ()


def test_a_single_reference_needs_no_list(small: Path, tmp_path: Path) -> None:
    lines = read_lines(small / "dataset" / "data.jsonl")
    for line in lines:
        line["ReferenceImages"] = "".join(line["ReferenceImages"])
    (tmp_path / "images").symlink_to(small / "dataset" / "images")
    write_lines(tmp_path / "data.jsonl", lines)
    dataset = loaded(tmp_path)
    assert sum(len(sample.references) for sample in dataset.samples) == 7
    assert dataset.issues == ()


def test_a_missing_caption_is_replaced_by_the_prompt(small: Path, tmp_path: Path) -> None:
    lines = read_lines(small / "dataset" / "data.jsonl")[:1]
    lines[0]["TargetCaption"] = ""
    write_lines(tmp_path / "data.jsonl", lines)
    dataset = loaded(tmp_path)
    (repair,) = [finding for finding in dataset.issues if finding.is_repaired]
    assert (repair.rule, repair.replacement) == ("target caption", "Make it crimson.")
    assert dataset.samples[0].captions == {"target": "Make it crimson."}


def test_a_mask_of_another_size_is_found(tmp_path: Path) -> None:
    write_release(tmp_path, each=1)
    mask = next((tmp_path / "dataset" / "images").rglob(f"{identity(SWAP, 0)}_mask.png"))
    Image.new("L", (40, 30)).save(mask)
    (found,) = loaded(tmp_path).issues
    assert (found.rule, found.item) == ("mask of another size", "40 x 30, its source 96 x 73")
    assert found.note == "it is scaled for measurements", "equal notes are grouped"


def test_lines_that_are_no_items(tmp_path: Path) -> None:
    write_release(tmp_path, each=1)
    path = tmp_path / "dataset" / "data.jsonl"
    good = path.read_bytes()
    broken = [b"{", b"[1, 2]", b'"words"', b"null", b"\xff\xfe", b"[" * 100_000, b'{"a": "\\ud800"}']
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\r\n\n".join(broken))
    dataset = loaded(tmp_path)
    assert len(dataset.samples) == 31
    rules = Counter(finding.rule for finding in dataset.issues)
    assert rules == {"broken line": 6, "no id": 1}
    assert dataset.issues[0].location == "data.jsonl, line 32"
    for finding in dataset.issues:
        finding.note.encode()


def test_other_lists_are_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    for content in (b"", b"{}", b'{"id": 1}\n', b"\xff" * 100, b'[{"ItemID": 1, "Task": 2}]'):
        path.write_bytes(content)
        assert find_ice_bench_folder(tmp_path) is None
    with pytest.raises(CrevalError, match=r"ICE-Bench \(dataset/data\.jsonl\)"):
        open_benchmark(tmp_path)
    path.write_text(json.dumps({"ItemID": "a", "Task": "Dancing"}))
    with pytest.raises(CrevalError, match=r"data\.jsonl contains no usable item"):
        open_benchmark(tmp_path)


def test_built_items_of_one_image_belong_together(small: Path, tmp_path: Path) -> None:
    """Each item has its own copy of the image, so source paths do not identify the shared image."""
    lines = read_lines(small / "dataset" / "data.jsonl")
    for line in lines[:3]:
        line["made"] = {"picture": "holidays/boat.jpg"}
    lines[3]["made"] = "by hand"
    (tmp_path / "images").symlink_to(small / "dataset" / "images")
    write_lines(tmp_path / "data.jsonl", lines)
    samples = loaded(tmp_path).samples
    assert [sample.cluster == "holidays/boat.jpg" for sample in samples[:4]] == [True] * 3 + [False]
    assert len({sample.cluster for sample in samples[3:]}) == len(samples) - 3
