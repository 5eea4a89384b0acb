"""Editors that run here: programs, functions, folders, touchstone's."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageOps

from creval.core.errors import CrevalError
from creval.editors.base import EditorOptions, Job
from creval.editors.command import Command
from creval.editors.folder import Folder
from creval.editors.function import Function
from creval.editors.spec import open_editor
from creval.providers.errors import Fault, Unusable
from creval.touchstone.build import build_touchstone
from creval.touchstone.editor import Drawn
from tests.editors.asking import made


def flip(source: Image.Image, instruction: str, strength: int = 0) -> Image.Image:
    if instruction == "fail":
        raise ValueError("no")
    return ImageOps.invert(source) if strength else ImageOps.flip(source)


def test_what_an_editor_is_not_given_is_said(source: Path) -> None:
    job = Job("a", "do", source, source, (source,))
    function = Function("f", f"{__name__}:flip", EditorOptions())
    command = Command("c", "cp {source} {output}", EditorOptions())
    for editor in (function, command):
        made(editor, job)
        made(editor, job)
        assert sorted(line.partition(":")[0][2:] for line in editor.learned) == [
            "takes no mask", "takes no references",
        ]  # fmt: skip
        assert editor.lacking(job) == ["mask", "references"]
        assert editor.lacking(Job("a", "do", source)) == []
    with_mask = Command("c", "cp {mask} {output}", EditorOptions())
    assert with_mask.lacking(job) == ["source", "references"]
    made(with_mask, job)
    assert len(with_mask.learned) == 2


def test_a_folder_is_not_left(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "edits"
    folder.mkdir()
    (folder / "s1.png").write_bytes(source.read_bytes())
    (folder / "a b--2.webp").write_bytes(b"x")
    (tmp_path / "secret.png").write_bytes(b"x")
    editor = Folder("x", str(folder), EditorOptions())
    assert made(editor, Job("s1", "do", source)).content == source.read_bytes()
    assert made(editor, Job("other", "do", source, draw=2)).content == b"x"
    (folder / "linked.png").symlink_to(tmp_path / "secret.png")
    reasons = set()
    for name in ("s2", "../secret", "linked", "long" * 100, "nul\0"):
        with pytest.raises(Fault, match="holds no picture") as caught:
            made(editor, Job(name, "do"))
        reasons.add(str(caught.value))
    assert len(reasons) == 1, "what is absent is counted together"


def test_a_file_in_a_folder_is_bounded(tmp_path: Path) -> None:
    with (tmp_path / "s1.png").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(Fault, match="more than 64 MB"):
        made(Folder("x", str(tmp_path), EditorOptions()), Job("s1", "do"))


def test_touchstones_editors(tmp_path: Path) -> None:
    (sample, *_) = build_touchstone(tmp_path / "bench", 3, 1, edits=tmp_path / "edits")
    options = EditorOptions(bench=tmp_path / "bench")
    path = tmp_path / "bench" / "image" / f"{sample.id}.png"
    job = Job(sample.id, sample.instruction, path, seed=1)
    for name in ("faithful", "overeager", "clumsy"):
        known = (tmp_path / "edits" / name / f"{sample.id}.png").read_bytes()
        assert made(Drawn("x", name, options), job).content == known
    with pytest.raises(CrevalError, match="did you mean 'clumsy'"):
        Drawn("x", "clumzy", options)
    with pytest.raises(Unusable, match="knows no sample"):
        made(Drawn("x", "lazy", options), Job("nobody", "do", path))


def test_steps_one_after_another_are_the_whole(tmp_path: Path) -> None:
    """Where what is asked for does not depend on its order."""
    (sample,) = build_touchstone(tmp_path / "bench", 1, 5, edits=tmp_path / "edits")
    editor = Drawn("x", "faithful", EditorOptions(bench=tmp_path / "bench"))
    now = tmp_path / "bench" / "image" / f"{sample.id}.png"
    for at, words in enumerate(sample.steps):
        content = made(editor, Job(sample.id, words, now)).content
        now = tmp_path / f"{at}.png"
        now.write_bytes(content)
    whole = Image.open(tmp_path / "edits" / "faithful" / f"{sample.id}.png")
    assert Image.open(now).tobytes() == whole.tobytes()


def test_editors_by_name(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 1, 1)
    options = EditorOptions(bench=tmp_path / "bench")
    kinds = {
        "command:prog {output}": Command,
        f"python:{__name__}:flip": Function,
        f"folder:{tmp_path}": Folder,
        "touchstone:lazy": Drawn,
    }
    for spec, kind in kinds.items():
        editor = open_editor(spec, options)
        assert isinstance(editor, kind)
        assert editor.name == spec
    with pytest.raises(CrevalError, match="did you mean 'touchstone'"):
        open_editor("touchstne:lazy", options)
