"""Touchstone benchmarks on disk."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.touchstone.builder import build_touchstone
from creval.touchstone.files import SCENES_FILE, read_scene, read_touchstone_samples
from creval.touchstone.samples import make_samples
from creval.touchstone.simulated_edits import SIMULATED_EDITORS, simulate_edit


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        build_touchstone(tmp_path / name, 2, seed)
    first, second, other = (digests(tmp_path / name) for name in "abc")
    assert first == second
    assert first.keys() == other.keys()
    assert all(first[name] != other[name] for name in first if name.startswith("image"))


def test_a_folder_that_all_commands_take(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    made = build_touchstone(
        tmp_path / "bench", 3, 7, edits=tmp_path / "edits", on_progress=lambda *count: seen.append(count)
    )
    assert seen == [(7, 21), (14, 21), (21, 21)]
    dataset = open_benchmark(tmp_path).dataset
    assert dataset.issues == ()
    assert [sample.instruction for sample in dataset.samples] == [s.instruction for s in made]
    assert [sample.tags["dimension"] for sample in dataset.samples] == [s.dimension for s in made]
    for sample, known in zip(dataset.samples, made, strict=True):
        assert len(sample.questions) == sum(map(len, known.questions.values()))
        assert all(question.reference in ("Yes", "No") for question in sample.questions)
        assert sample.source is not None
        with Image.open(sample.source) as image:
            assert image.size == (768, 768)
    kinds = json.loads((tmp_path / "bench" / "questions_all" / "VQ" / "t0001.json").read_text())
    assert {entry["kind"] for entry in kinds["quality_check_questions"]} == {"artefact"}


def test_a_built_benchmark_is_read_back(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 9, 7, edits=tmp_path / "edits")
    expected = make_samples(9, 7)
    found = read_touchstone_samples(tmp_path / "bench")
    for one, other in zip(found, expected, strict=True):
        assert (one.id, one.source, one.target_scene) == (other.id, other.source, other.target_scene)
        assert (one.instruction, one.questions) == (other.instruction, other.questions)
        for editor in SIMULATED_EDITORS:
            path = tmp_path / "edits" / editor / f"{one.id}.png"
            assert read_scene(path.read_bytes()) == simulate_edit(other, editor, 7) == simulate_edit(one, editor, 7)
    (tmp_path / "bench" / SCENES_FILE).unlink()
    with pytest.raises(CrevalError, match="needs a touchstone benchmark"):
        read_touchstone_samples(tmp_path / "bench")


@pytest.mark.parametrize("content", [b"", b"\x89PNG", b"GIF89a", b"\xff" * 99])
def test_other_files_carry_no_scene(content: bytes) -> None:
    assert read_scene(content) is None


def test_forged_scene_metadata_is_not_used(tmp_path: Path) -> None:
    from PIL.PngImagePlugin import PngInfo

    for text in ("[]", "{", '{"kind": "dragon"}', '{"kind": "cat", "colour": "red"}', "[" * 9999):
        info = PngInfo()
        info.add_text("creval scene", text)
        Image.new("RGB", (8, 8)).save(tmp_path / "x.png", pnginfo=info)
        assert read_scene((tmp_path / "x.png").read_bytes()) is None


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(CrevalError, match="not empty"):
        build_touchstone(tmp_path, 1, 0)
    with pytest.raises(CrevalError, match="is a file"):
        build_touchstone(tmp_path / "mine.txt", 1, 0)
