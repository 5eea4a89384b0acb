"""Folders of edits: the folder's name is the model, a file's stem the sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.store.edit_folders import find_edits

SAMPLES = [
    Sample("a", "do", Path("images/photo one.png")),
    Sample("b", "do", Path("images/b&ü.jpg")),
    Sample("b--2", "do", Path("images/shared.png")),
    Sample("c", "do", Path("images/shared.png")),
]


@pytest.fixture(autouse=True)
def sources(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the samples' sources in the working directory."""
    monkeypatch.chdir(tmp_path_factory.mktemp("bench"))
    Path("images").mkdir()
    for sample in SAMPLES:
        Image.new("RGB", (8, 8)).save(sample.source or "")


def folder(root: Path, name: str, *files: str) -> Path:
    made = root / name
    made.mkdir(parents=True)
    for file in files:
        (made / file).write_bytes(b"x")
    return made


def test_by_id_by_source_and_by_draw(tmp_path: Path) -> None:
    made = folder(tmp_path, "Model A", "a.png", "b&ü.JPG", "b--1.webp", "b--2.png", "c.txt", ".c.png")
    found = find_edits([made], SAMPLES)
    assert found.models == ("Model A",)
    there = {edit.key: edit.image for edit in found.edits if edit.status is EditStatus.DONE}
    assert there == {
        EditKey("Model A", "a"): made / "a.png",
        EditKey("Model A", "b"): made / "b&ü.JPG",
        EditKey("Model A", "b", 1): made / "b--1.webp",
        EditKey("Model A", "b--2"): made / "b--2.png",
    }
    (absent,) = [edit for edit in found.edits if edit.status is EditStatus.ABSENT]
    assert absent.key == EditKey("Model A", "c")
    assert absent.reason


def test_images_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = folder(tmp_path, "A", "a.png")
    monkeypatch.chdir(tmp_path)
    assert find_edits(["A"], SAMPLES).edits[0].image == made / "a.png"


def test_a_source_that_two_samples_share_names_neither(tmp_path: Path) -> None:
    made = folder(tmp_path, "M", "shared.png", "photo one.png")
    found = find_edits([made], SAMPLES)
    assert found.unmatched_files == [f"{made}/shared.png"]
    assert [e.key.sample for e in found.edits if e.status is EditStatus.DONE] == ["a"]


def test_a_name_can_be_given(tmp_path: Path) -> None:
    first, second = folder(tmp_path, "x/out", "a.png"), folder(tmp_path, "y/out", "a.png")
    found = find_edits([first, f"Other={second}"], SAMPLES)
    assert found.models == ("out", "Other")
    with pytest.raises(CrevalError, match="have the same name 'out'"):
        find_edits([first, second], SAMPLES)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ((), "contains no images"),
        (("notes.txt",), "contains no images"),
        (("z.png",), "has the name of a sample"),
        (("a.png", "a.jpg"), "two images for sample 'a'"),
        (("a.png", "photo one.png"), "two images for sample 'a'"),
        (("a.png", "a--0.png"), "two images for sample 'a'"),
    ],
)
def test_contradictory_folders_are_errors(tmp_path: Path, files: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(CrevalError, match=sentence):
        find_edits([folder(tmp_path, "M", *files)], SAMPLES)


def test_folders_that_are_none(tmp_path: Path) -> None:
    inner = folder(tmp_path, "outputs/ModelA", "a.png")
    with pytest.raises(CrevalError, match=r"Give one per model: `edits` .*ModelA"):
        find_edits([inner.parent], SAMPLES)
    with pytest.raises(CrevalError, match="does not exist"):
        find_edits([tmp_path / "nowhere"], SAMPLES)
    with pytest.raises(CrevalError, match="is a file"):
        find_edits([inner / "a.png"], SAMPLES)
    with pytest.raises(CrevalError, match="give the folders"):
        find_edits([], SAMPLES)


def told(folder: Path, samples: Sequence[Sample]) -> dict[str, Edit]:
    """Declare an image with another name for the first sample, and the last sample as unsupported."""
    first, last = samples[0].id, samples[-1].id
    reason = "line 1 of unsupported.txt"
    return {
        first: Edit(EditKey("", first), EditStatus.DONE, folder / "one.png"),
        last: Edit(EditKey("", last), EditStatus.UNSUPPORTED, reason=reason),
    }


def test_statuses_declared_by_a_folder(tmp_path: Path) -> None:
    made = folder(tmp_path, "M", "one.png", "b.png", "other.png")
    found = find_edits([made], SAMPLES, read_model_outputs=told)
    assert {edit.key.sample: edit.status.value for edit in found.edits} == {
        "a": "done",
        "b": "done",
        "b--2": "absent",
        "c": "unsupported",
    }
    assert found.edits[0].image == made / "one.png"
    assert found.edits[-1].reason == "line 1 of unsupported.txt"
    assert found.unmatched_files == [f"{made}/other.png"]


def test_a_folder_that_contradicts_itself(tmp_path: Path) -> None:
    made = folder(tmp_path, "M", "one.png", "c.png")
    with pytest.raises(CrevalError, match=r"contains c.png, but its metadata declares no image .*: line 1 of"):
        find_edits([made], SAMPLES, read_model_outputs=told)
    (made / "c.png").rename(made / "a.png")
    with pytest.raises(CrevalError, match=r"two images for sample 'a': one.png and a.png"):
        find_edits([made], SAMPLES, read_model_outputs=told)


def test_edits_with_missing_inputs_are_impossible(tmp_path: Path) -> None:
    """This applies to folders of any origin. An existing image counts, even if an input is broken."""
    made = folder(tmp_path, "M", "one.png")
    Path("images/b&ü.jpg").unlink()
    Path("images/shared.png").write_bytes(b"")
    Path("images/photo one.png").unlink()
    found = {edit.key.sample: edit for edit in find_edits([made], SAMPLES, read_model_outputs=told).edits}
    assert {name: edit.status.value for name, edit in found.items()} == {
        "a": "done",
        "b": "impossible",
        "b--2": "impossible",
        "c": "impossible",
    }
    assert found["b"].reason == "in the benchmark, b&ü.jpg does not exist"
    assert found["c"].reason == "in the benchmark, shared.png is empty (0 bytes)"


def test_links_inside_and_of_the_folder_itself_are_followed(tmp_path: Path) -> None:
    here = folder(tmp_path, "Real", "a.png")
    (here / "b.png").symlink_to(here / "a.png")
    (here / "c.png").symlink_to("missing.png")
    (tmp_path / "Link").symlink_to(here, target_is_directory=True)
    other = folder(tmp_path, "Other", "a.png")
    (other / "b.png").symlink_to(here / "a.png")
    (other / "c.png").symlink_to(Path("images/shared.png").absolute())  # a source, which judges see anyway
    found = find_edits([tmp_path / "Link", other], SAMPLES)
    assert [edit.key.sample for edit in found.edits if edit.status is EditStatus.DONE] == ["a", "b", "c"] * 2


@pytest.mark.parametrize("inner", ["", "inner"])
def test_a_link_that_leads_out_of_the_folders_is_refused(tmp_path: Path, inner: str) -> None:
    mine, private = folder(tmp_path, "Mine", "a.png"), folder(tmp_path, "private", "b.png")
    samples = [Sample("inner/b", "do"), *SAMPLES] if inner else SAMPLES
    place = mine / inner / "b.png"
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(private / "b.png")
    with pytest.raises(CrevalError, match=r"b\.png is a link to .*private/b\.png, outside of the folders") as caught:
        find_edits([mine], samples)
    assert f"`edits` Mine={private}" in str(caught.value), "the error names the remedy"
    assert len(find_edits([mine, private], samples).edits) > 0, "naming both folders allows the link"


def test_a_loop_of_links_is_an_image_that_cannot_be_opened(tmp_path: Path) -> None:
    mine = folder(tmp_path, "Mine")
    (mine / "a.png").symlink_to("b.png")
    (mine / "b.png").symlink_to("a.png")
    found = find_edits([mine], SAMPLES)
    assert sum(edit.status is EditStatus.DONE for edit in found.edits) == 2


def test_an_image_in_a_linked_folder_outside_is_refused(tmp_path: Path) -> None:
    mine, private = folder(tmp_path, "Mine", "a.png"), folder(tmp_path, "private", "b.png")
    (mine / "in").symlink_to(private, target_is_directory=True)

    def listed(where: Path, _: Sequence[Sample]) -> dict[str, Edit]:
        return {"b": Edit(EditKey("", "b"), image=where / "in" / "b.png")}

    with pytest.raises(CrevalError, match="outside of the folders"):
        find_edits([mine], SAMPLES, read_model_outputs=listed)


def test_the_hint_lists_all_folders_as_they_are_typed(tmp_path: Path) -> None:
    for name in ("A", "B", "C", "D", "E e"):
        folder(tmp_path / "outputs", name, "a.png")
    with pytest.raises(CrevalError) as error:
        find_edits([tmp_path / "outputs"], SAMPLES)
    start = f"{tmp_path}/outputs"
    assert str(error.value).endswith(f"`edits` {start}/A {start}/B {start}/C {start}/D '{start}/E e'")
