"""Resumed builds: settings and given instructions stay, and nothing is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.building.creval import files
from creval.building.creval.builder import CrevalBuilder, CrevalBuildOptions
from creval.building.creval.pipeline import count_questions
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.core.files import atomic_copy
from tests.building.made import Model, drawn, usual
from tests.serving import serving


@contextmanager
def building(tmp_path: Path, model: Model) -> Iterator[Callable[..., CrevalBuilder]]:
    """Return a function that creates builders for one folder, with one model."""
    with serving(model.app()) as url:
        roles = dict.fromkeys(("writer", "asker", "checker"), f"openai:a@{url}/v1")

        def begin(wish: CrevalBuildOptions | None = None, *, dry: bool = False, **settings: Any) -> CrevalBuilder:
            folders = tmp_path / "pictures", tmp_path / "bench"
            return CrevalBuilder(*folders, roles, wish or CrevalBuildOptions(), Settings(**settings), dry_run=dry)

        yield begin


def record(tmp_path: Path) -> dict[str, Any]:
    return dict(json.loads((tmp_path / "bench" / "build.json").read_text()))


def test_a_newcomer_of_the_same_name_does_not_take_anothers(tmp_path: Path) -> None:
    images, model = drawn(tmp_path / "pictures", "cat"), Model()
    with building(tmp_path, model) as begin:
        assert len(begin().run().results) == 1
        Image.new("RGB", (9, 9), "red").save(images / "cat.jpg")
        assert len(begin().run().results) == 2
        assert len(model.asked) == 10, "five for each"
        (tmp_path / "bench" / "creval.db").unlink()
        begin().run()
    samples = open_benchmark(tmp_path / "bench").dataset.samples
    assert [sample.id for sample in samples] == ["cat", "cat-jpg"]
    assert record(tmp_path)["pictures"] == {"cat": "cat.png", "cat-jpg": "cat.jpg"}


def test_an_image_that_cannot_be_written_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(source: Path, path: Path) -> None:
        if path.name == "cat.png":
            raise OSError(28, "No space left on device")
        atomic_copy(source, path)

    drawn(tmp_path / "pictures", "cat", "é" * 120, "x" * 240)
    with building(tmp_path, Model()) as begin:
        with monkeypatch.context() as patched:
            patched.setattr(files, "atomic_copy", copied)
            built = begin().run()
        assert built.left_out == {"cat": "its files cannot be written: No space left on device"}
        assert (len(built.results), count_questions(built.results.values()).by_metric["IF"]) == (2, 10)
        assert record(tmp_path)["left_out"] == built.left_out
        dataset = open_benchmark(tmp_path / "bench").dataset
        assert (len(dataset.samples), dataset.issues) == (2, ())
        built = begin().run()
    assert (len(built.results), built.left_out, built.progress.requests_sent) == (3, {}, 0)
    dataset = open_benchmark(tmp_path / "bench").dataset
    assert (len(dataset.samples), dataset.issues) == (3, ())


def test_a_failed_request_does_not_affect_later_starts(tmp_path: Path) -> None:
    def says(stage: str, text: str) -> str:
        return "" if len(model.asked) == 1 else usual(stage, text)

    drawn(tmp_path / "pictures", "cat")
    model = Model(says)
    with building(tmp_path, model) as begin:
        assert begin().run().left_out == {}
        assert model.stages() == ["instruction", "instruction", "IF", "VC", "blind", "VQ"]
        assert begin().run().progress.requests_sent == 0


OWN = "Turn the cat into a blue glass lamp with two iron feet beneath a silver sun."


def told(tmp_path: Path, **texts: str) -> CrevalBuildOptions:
    path = tmp_path / "told.json"
    path.write_text(json.dumps(texts))
    return CrevalBuildOptions(instructions=path)


@pytest.mark.parametrize("lost", ["", "creval.db"])
def test_peoples_own_instructions_are_not_replaced(tmp_path: Path, lost: str) -> None:
    drawn(tmp_path / "pictures", "cat", "dog")
    model = Model()
    with building(tmp_path, model) as begin:
        begin(told(tmp_path, cat=OWN)).run()
        asked = len(model.asked)
        if lost:
            (tmp_path / "bench" / lost).unlink()
        with pytest.raises(CrevalError, match="your own instruction for cat, which is missing now"):
            begin(dry=True)
        with pytest.raises(CrevalError, match="your own instruction for cat, which is missing now"):
            begin(told(tmp_path, dog=OWN)).run()
    assert len(model.asked) == asked
    cat, _ = open_benchmark(tmp_path / "bench").dataset.samples
    assert cat.instruction == OWN


def test_another_instruction_is_counted_before_it_is_paid_for(tmp_path: Path) -> None:
    def calls(of: CrevalBuilder) -> int:
        return sum(one.calls for one in of.estimate())

    drawn(tmp_path / "pictures", "cat", "dog")
    with building(tmp_path, Model()) as begin:
        begin(told(tmp_path, cat=OWN)).run()
        assert calls(begin(told(tmp_path, cat=OWN))) == 0
        changed = begin(told(tmp_path, cat=OWN.replace("blue", "red"), dog=OWN))
        assert calls(changed) >= 10
        changed.run()
    cat, dog = open_benchmark(tmp_path / "bench").dataset.samples
    assert "red glass" in cat.instruction
    assert dog.instruction == OWN


def test_another_setting_is_refused_before_any_request(tmp_path: Path) -> None:
    drawn(tmp_path / "pictures", "cat")
    with building(tmp_path, Model()) as begin:
        begin().run()
        with pytest.raises(CrevalError, match="started with another image_fit"):
            begin(dry=True, image_fit="200")
        with pytest.raises(CrevalError, match="started with another checker"):
            begin(CrevalBuildOptions(blind=False))
