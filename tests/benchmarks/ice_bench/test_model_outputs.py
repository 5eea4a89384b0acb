"""Tests of a model's output folder for ICE-Bench: the authors' list of images, and unsupported tasks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.model_outputs import read_model_outputs
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.store.edit_folders import FoundEdits, find_edits
from tests.benchmarks.ice_bench.release_files import write_edits, write_release

SAMPLES = [
    Sample("a", "do", tags={"task": "Color Editing"}),
    Sample("b", "do", tags={"task": "Image Colorization"}),
    Sample("c", "do", tags={"task": "Local Text Render"}),
]


def folder(root: Path, *images: str, listed: object = None, unsupported: str = "") -> Path:
    for name in images:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(root / name)
    if listed is not None:
        (root / "gen_info.json").write_text(json.dumps(listed))
    (root / "unsupported.txt").write_text(unsupported)
    return root


def statuses(found: FoundEdits) -> dict[str, str]:
    return {edit.key.sample: edit.status.value for edit in found.edits}


@pytest.mark.parametrize("listed", [False, True])
def test_a_model_in_either_layout(tmp_path: Path, listed: bool) -> None:
    release = write_release(tmp_path / "ICE", each=2)
    supported = ("Color Editing", "Face Swap")
    edits = write_edits(
        release, tmp_path / "results" / "M", listed=listed, supports=lambda task: task.name in supported
    )
    dataset = open_benchmark(release).dataset
    found = find_edits([edits], dataset.samples, dataset.match_edit_file, dataset.read_model_outputs)
    assert found.models == ("M",)
    assert found.unmatched_files == []
    assert Counter(statuses(found).values()) == {"done": 4, "unsupported": 58}
    by_id = {sample.id: sample for sample in dataset.samples}
    for edit in found.edits:
        name = by_id[edit.key.sample].tags["task"]
        assert (name in supported) == (edit.status is EditStatus.DONE)
        assert edit.status is EditStatus.DONE or edit.reason.endswith(f"of unsupported.txt: {name}")


def test_paths_are_matched_by_their_ends_in_the_folder(tmp_path: Path) -> None:
    """The authors' paths are relative to their working directory, and the folder may have been renamed."""
    made = folder(
        tmp_path / "renamed",
        "images/1.png",
        "images/2.png",
        "3.png",
        listed={
            "a": "results/ace/images/1.png",
            "b": "C:\\work\\results\\ace\\images\\2.png",
            "c": f"{tmp_path}/renamed/3.png",
        },
    )
    edits = read_model_outputs(made, SAMPLES)
    found = {identity: edit.image for identity, edit in edits.items()}
    assert found == {"a": made / "images/1.png", "b": made / "images/2.png", "c": made / "3.png"}


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "images/../../secret.png",
        "/etc/passwd",
        "",
        "/",
        ".",
        "x" * 5000,
        "a\0b",
        None,
        7,
        ["images/1.png"],
        {"a": 1},
        "images",
        "\ud800.png",
    ],
)
def test_paths_never_leave_the_folder(tmp_path: Path, path: object) -> None:
    folder(tmp_path, "secret.png")
    made = folder(tmp_path / "M", "images/1.png", listed={"a": path, "b": "images/1.png"})
    edits = read_model_outputs(made, SAMPLES)
    assert (edits["a"].status, edits["a"].image) == (EditStatus.ABSENT, None)
    assert edits["a"].reason.startswith("gen_info.json names ")
    assert edits["a"].reason.endswith("which is not in the folder")
    edits["a"].reason.encode()
    assert edits["b"].image == made / "images/1.png"
    assert edits["c"].reason == "gen_info.json names no image of it"


def test_a_list_that_is_none(tmp_path: Path) -> None:
    made = folder(tmp_path, "a.png", listed=["a.png"])
    with pytest.raises(CrevalError, match=r"gen_info\.json must contain an object"):
        read_model_outputs(made, SAMPLES)
    (made / "gen_info.json").write_text("{")
    with pytest.raises(CrevalError, match=r"gen_info\.json is not valid JSON"):
        read_model_outputs(made, SAMPLES)


def test_a_list_of_other_items(tmp_path: Path) -> None:
    """This is an error even if there are images named by id: the list takes precedence."""
    made = folder(tmp_path, "a.png", listed={"x1": "a.png"})
    sentence = r"gen_info\.json names no item of the benchmark: it contains 'x1', but items .* have ids such as 'a'"
    with pytest.raises(CrevalError, match=sentence):
        find_edits([made], SAMPLES, read_model_outputs=read_model_outputs)
    (made / "gen_info.json").write_text("{}")
    assert statuses(find_edits([made], SAMPLES, read_model_outputs=read_model_outputs))["a"] == "done"


@pytest.mark.parametrize("name", ["gen_info.json", "unsupported.txt"])
def test_folders_in_the_place_of_files(tmp_path: Path, name: str) -> None:
    (folder(tmp_path, "a.png") / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()
    with pytest.raises(CrevalError, match=f"{name} must be a file"):
        read_model_outputs(tmp_path, SAMPLES)


def test_by_id_in_a_folder_inside_with_draws(tmp_path: Path) -> None:
    dataset = open_benchmark(write_release(tmp_path / "ICE", each=1)).dataset
    first, second = dataset.samples[0].id, dataset.samples[1].id
    made = folder(tmp_path / "M", f"images/{first}.png", f"images/{first}--1.png", f"{second}.png", "images/other.png")
    found = find_edits([made], dataset.samples, dataset.match_edit_file, dataset.read_model_outputs)
    there = [edit.key[1:] for edit in found.edits if edit.status is EditStatus.DONE]
    assert there == [(first, 0), (first, 1), (second, 0)]
    assert found.unmatched_files == [f"{made}/images/other.png"]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("Image Colorize\n", "b"),
        ("26  # the paper's number", "b"),
        ("\ufeff# nothing\n\n  local editing\r\nIMAGE COLORIZATION\r\n", "bc"),
        ("No-ref Image Editing", "abc"),
        ("# Color Editing", ""),
        ("", ""),
    ],
)
def test_unsupported_tasks_by_all_kinds_of_names(tmp_path: Path, words: str, ids: str) -> None:
    made = folder(tmp_path, unsupported=words)
    edits = read_model_outputs(made, SAMPLES)
    assert "".join(edits) == ids
    assert {edit.status for edit in edits.values()} <= {EditStatus.UNSUPPORTED}


def test_a_name_that_is_no_task(tmp_path: Path) -> None:
    made = folder(tmp_path, unsupported="Color Editing\nLocal Edting\n")
    sentence = r"unsupported\.txt, line 2: there is no task 'Local Edting'; did you mean 'Local Ed"
    with pytest.raises(CrevalError, match=sentence):
        read_model_outputs(made, SAMPLES)


def test_an_image_of_what_is_not_supported(tmp_path: Path) -> None:
    made = folder(tmp_path, "a.png", listed={"a": "a.png", "b": "b.png"}, unsupported="5\n26\n")
    with pytest.raises(CrevalError, match=r"names an image of 'a', but the sample is declared unsuppor"):
        read_model_outputs(made, SAMPLES)
    (made / "gen_info.json").write_text('{"b": "b.png"}')
    assert read_model_outputs(made, SAMPLES)["b"].status is EditStatus.UNSUPPORTED, (
        "the image listed for it does not exist"
    )
    with pytest.raises(CrevalError, match=r"contains a\.png, but its metadata declares no image .*: line 1 of uns"):
        find_edits([made], SAMPLES, read_model_outputs=read_model_outputs)
