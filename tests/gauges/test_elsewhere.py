"""What rests on libraries that cannot be had here: how they are called, and missed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.models import Missing
from creval.core.sample import Sample
from creval.gauges.gauge import open_gauges
from tests.gauges.looking import look
from tests.gauges.pictures import noise, slope

torch = pytest.importorskip("torch")


def module(monkeypatch: pytest.MonkeyPatch, name: str, **given: Any) -> None:
    made = ModuleType(name)
    vars(made).update(given)
    monkeypatch.setitem(sys.modules, name, made)


def test_imaging_hands_pyiqa_a_picture_of_height_1024(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, dict[str, Any]]] = []
    seen: list[Any] = []

    def create_metric(name: str, **options: Any) -> Any:
        made.append((name, options))

        def musiq(pixels: Any) -> Any:
            seen.append(pixels)
            return 100 * pixels.mean().reshape(1, 1)

        return musiq

    module(monkeypatch, "pyiqa", create_metric=create_metric)
    edit = slope((30, 20))
    edit.save(tmp_path / "edit.png")
    (gauge,) = open_gauges(["imaging"], {}).values()
    found = look(gauge, Sample("s", ""), tmp_path / "edit.png")
    assert [name for name, _ in made] == ["musiq"]
    assert "pretrained_model_path" not in made[0][1]
    tall = edit.resize((1536, 1024), Image.Resampling.BICUBIC)
    expected = np.asarray(tall, dtype=np.float64).transpose(2, 0, 1) / 255
    assert seen[0].shape == (1, 3, 1024, 1536)
    assert np.allclose(seen[0][0].numpy(), expected)
    assert found == {"imaging": pytest.approx(100 * expected.mean(), abs=1e-3)}
    (tmp_path / "musiq_koniq_ckpt-e95806b9.pth").write_bytes(b"")
    (gauge,) = open_gauges(["imaging"], {"imaging": str(tmp_path)}).values()
    look(gauge, Sample("s", ""), tmp_path / "edit.png")
    assert made[1][1]["pretrained_model_path"] == str(tmp_path / "musiq_koniq_ckpt-e95806b9.pth")


def test_imaging_that_cannot_be_loaded_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise(1, (9, 9)).save(tmp_path / "edit.png")

    def create_metric(*_: object, **__: object) -> None:
        raise OSError("no route to host\nand more")

    module(monkeypatch, "pyiqa", create_metric=create_metric)
    (gauge,) = open_gauges(["imaging"], {}).values()
    with pytest.raises(Missing, match=r"pyiqa cannot load MUSIQ: no route to host$"):
        look(gauge, Sample("s", ""), tmp_path / "edit.png")


class Drawing:
    """An OpenPose that draws a white square in the middle of black."""

    said: list[str] = []  # noqa: RUF012

    @classmethod
    def from_pretrained(cls, name: str) -> Drawing:
        cls.said.append(name)
        if name.endswith("absent"):
            raise FileNotFoundError("no body_pose_model.pth")
        return cls()

    def to(self, _: str) -> Drawing:
        return self

    def __call__(self, picture: Image.Image, **options: Any) -> Image.Image:
        side = min(picture.size)
        assert options["detect_resolution"] == options["image_resolution"] == side
        assert options["include_hand"] is True
        drawn = Image.new("RGB", (64, 64))  # whatever size it makes
        drawn.paste((255, 255, 255), (16, 16, 48, 48))
        return drawn


def test_pose_compares_what_openpose_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "controlnet_aux", OpenposeDetector=Drawing)
    Image.new("L", (128, 128)).save(tmp_path / "control.png")
    noise(1, (90, 80)).save(tmp_path / "edit.png")
    sample = Sample("s", "", tmp_path / "control.png")
    (gauge,) = open_gauges(["pose"], {"pose": str(tmp_path)}).values()
    found = look(gauge, sample, tmp_path / "edit.png")
    assert found == {"pose": pytest.approx(0.25, abs=0.01)}
    assert Drawing.said[-1] == str(tmp_path)
    (gauge,) = open_gauges(["pose"], {"pose": str(tmp_path / "absent")}).values()
    with pytest.raises(CrevalError, match="no body_pose_model"):
        look(gauge, sample, tmp_path / "edit.png")


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("imaging", "pyiqa", "quality"),
        ("pose", "controlnet_aux", "poses"),
        ("text", "rapidocr", "text"),
    ],
)
def test_without_the_library_it_is_missing(
    name: str, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    noise(1, (20, 20)).save(tmp_path / "a.png")
    (gauge,) = open_gauges([name], {}).values()
    for _ in range(2):
        with pytest.raises(Missing, match=rf"needs {library}: pip install 'creval\[{extra}\]'"):
            look(gauge, Sample("s", 'Write "A".', tmp_path / "a.png"), tmp_path / "a.png")
