"""Tests of local editors: programs, functions, folders and touchstone."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageOps

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions, EditRequest
from creval.editors.command import CommandEditor
from creval.editors.editor_spec import open_editor
from creval.editors.folder import FolderEditor
from creval.editors.function import FunctionEditor
from creval.providers.call_errors import CallError, ProviderUnusable
from creval.touchstone.builder import build_touchstone
from creval.touchstone.simulated_editor import SimulatedEditor
from tests.editors.asking import made


def flip(source: Image.Image, instruction: str, strength: int = 0) -> Image.Image:
    if instruction == "fail":
        raise ValueError("no")
    return ImageOps.invert(source) if strength else ImageOps.flip(source)


def test_inputs_that_an_editor_cannot_take_are_reported(source: Path) -> None:
    job = EditRequest("a", "do", source, source, (source,))
    function = FunctionEditor("f", f"{__name__}:flip", EditorOptions())
    command = CommandEditor("c", "cp {source} {output}", EditorOptions())
    for editor in (function, command):
        made(editor, job)
        made(editor, job)
        assert sorted(line.partition(":")[0][2:] for line in editor.notes) == ["takes no mask", "takes no references"]
        assert editor.unsupported_inputs(job) == ["mask", "references"]
        assert editor.unsupported_inputs(EditRequest("a", "do", source)) == []
    with_mask = CommandEditor("c", "cp {mask} {output}", EditorOptions())
    assert with_mask.unsupported_inputs(job) == ["source", "references"]
    made(with_mask, job)
    assert len(with_mask.notes) == 2


def test_a_folder_is_not_left(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "edits"
    folder.mkdir()
    (folder / "s1.png").write_bytes(source.read_bytes())
    (folder / "a b--2.webp").write_bytes(b"x")
    (tmp_path / "secret.png").write_bytes(b"x")
    editor = FolderEditor("x", str(folder), EditorOptions())
    assert made(editor, EditRequest("s1", "do", source)).content == source.read_bytes()
    assert made(editor, EditRequest("other", "do", source, draw=2)).content == b"x"
    (folder / "linked.png").symlink_to(tmp_path / "secret.png")
    reasons = set()
    for name in ("s2", "../secret", "linked", "long" * 100, "nul\0"):
        with pytest.raises(CallError, match="has no image") as caught:
            made(editor, EditRequest(name, "do"))
        reasons.add(str(caught.value))
    assert len(reasons) == 1, "missing images have the same reason"


def test_a_file_in_a_folder_is_bounded(tmp_path: Path) -> None:
    with (tmp_path / "s1.png").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(CallError, match="more than 64 MB"):
        made(FolderEditor("x", str(tmp_path), EditorOptions()), EditRequest("s1", "do"))


def test_touchstones_editors(tmp_path: Path) -> None:
    (sample, *_) = build_touchstone(tmp_path / "bench", 3, 1, edits=tmp_path / "edits")
    options = EditorOptions(benchmark_folder=tmp_path / "bench")
    path = tmp_path / "bench" / "image" / f"{sample.id}.png"
    job = EditRequest(sample.id, sample.instruction, path, seed=1)
    for name in ("faithful", "overeager", "clumsy"):
        known = (tmp_path / "edits" / name / f"{sample.id}.png").read_bytes()
        assert made(SimulatedEditor("x", name, options), job).content == known
    with pytest.raises(CrevalError, match="did you mean 'clumsy'"):
        SimulatedEditor("x", "clumzy", options)
    with pytest.raises(ProviderUnusable, match="has no sample"):
        made(SimulatedEditor("x", "lazy", options), EditRequest("nobody", "do", path))


def test_steps_one_after_another_are_the_whole(tmp_path: Path) -> None:
    """The steps one by one give the same image as the whole instruction, if their order does not matter."""
    (sample,) = build_touchstone(tmp_path / "bench", 1, 5, edits=tmp_path / "edits")
    editor = SimulatedEditor("x", "faithful", EditorOptions(benchmark_folder=tmp_path / "bench"))
    now = tmp_path / "bench" / "image" / f"{sample.id}.png"
    for at, words in enumerate(sample.steps):
        content = made(editor, EditRequest(sample.id, words, now)).content
        now = tmp_path / f"{at}.png"
        now.write_bytes(content)
    whole = Image.open(tmp_path / "edits" / "faithful" / f"{sample.id}.png")
    assert Image.open(now).tobytes() == whole.tobytes()


def test_editors_by_name(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 1, 1)
    options = EditorOptions(benchmark_folder=tmp_path / "bench")
    kinds = {
        "command:prog {output}": CommandEditor,
        f"python:{__name__}:flip": FunctionEditor,
        f"folder:{tmp_path}": FolderEditor,
        "touchstone:lazy": SimulatedEditor,
    }
    for spec, kind in kinds.items():
        editor = open_editor(spec, options)
        assert isinstance(editor, kind)
        assert editor.name == spec
    with pytest.raises(CrevalError, match="did you mean 'touchstone'"):
        open_editor("touchstne:lazy", options)
