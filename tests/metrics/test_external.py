"""Tests of metrics whose libraries are not installed, with fake libraries: calls, and errors if they are missing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.features import FeatureCache
from creval.metrics.model_loading import Lazy
from creval.providers.huggingface import DependencyMissing
from creval.store.feature_cache_file import FeatureCacheFile
from tests.metrics.evaluating import look
from tests.metrics.images import noise, slope
from tests.metrics.tiny_files import POSES, write_poses

torch = pytest.importorskip("torch")


def module(monkeypatch: pytest.MonkeyPatch, name: str, **given: Any) -> None:
    made = ModuleType(name)
    vars(made).update(given)
    monkeypatch.setitem(sys.modules, name, made)


def test_imaging_hands_pyiqa_an_image_of_height_1024(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    (gauge,) = open_image_metrics(["imaging"], {}).values()
    found = look(gauge, Sample("s", ""), tmp_path / "edit.png")
    assert [name for name, _ in made] == ["musiq"]
    assert "pretrained_model_path" not in made[0][1]
    tall = edit.resize((1536, 1024), Image.Resampling.BICUBIC)
    expected = np.asarray(tall, dtype=np.float64).transpose(2, 0, 1) / 255
    assert seen[0].shape == (1, 3, 1024, 1536)
    assert np.allclose(seen[0][0].numpy(), expected)
    assert found == {"imaging": pytest.approx(100 * expected.mean(), abs=1e-3)}
    torch.save({"head.weight": torch.ones(1, 2)}, tmp_path / "musiq_koniq_ckpt-e95806b9.pth")
    (gauge,) = open_image_metrics(["imaging"], {"imaging": str(tmp_path)}).values()
    look(gauge, Sample("s", ""), tmp_path / "edit.png")
    assert made[1][1]["pretrained_model_path"] == str(tmp_path / "musiq_koniq_ckpt-e95806b9.pth")


def test_imaging_that_cannot_be_loaded_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise(1, (9, 9)).save(tmp_path / "edit.png")

    def create_metric(*_: object, **__: object) -> None:
        raise OSError("no route to host\nand more")

    module(monkeypatch, "pyiqa", create_metric=create_metric)
    (gauge,) = open_image_metrics(["imaging"], {}).values()
    with pytest.raises(DependencyMissing, match=r"pyiqa cannot load MUSIQ: no route to host$"):
        look(gauge, Sample("s", ""), tmp_path / "edit.png")


class Harmful:
    """Object that runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("ran"),))


def test_imaging_that_was_chosen_and_cannot_be_loaded_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise(1, (9, 9)).save(tmp_path / "edit.png")
    monkeypatch.chdir(tmp_path)

    def create_metric(name: str, pretrained_model_path: str, **_: object) -> None:
        assert name == "musiq"
        torch.load(pretrained_model_path, weights_only=False)
        raise RuntimeError("Missing key(s) in state_dict\nand more")

    module(monkeypatch, "pyiqa", create_metric=create_metric)
    chosen = tmp_path / "musiq.pth"
    (gauge,) = open_image_metrics(["imaging"], {"imaging": str(chosen)}).values()
    for content, said in (
        ({"head.weight": torch.ones(2)}, r"pyiqa cannot load .*musiq\.pth: Missing key\(s\)"),
        ({"head.weight": torch.ones(2), "more": Harmful()}, "cannot be loaded"),
    ):
        torch.save(content, chosen)
        with pytest.raises(CrevalError, match=said) as caught:
            look(gauge, Sample("s", ""), tmp_path / "edit.png")
        assert not isinstance(caught.value, DependencyMissing)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


class Drawing:
    """Fake OpenPose that draws a white square in the centre of a black image."""

    said: list[str] = []  # noqa: RUF012
    drawn: list[tuple[int, int]] = []  # noqa: RUF012

    @classmethod
    def from_pretrained(cls, name: str) -> Drawing:
        cls.said.append(name)
        for file in POSES:
            torch.load(Path(name) / file, weights_only=False)
        if name.endswith("other"):
            raise RuntimeError("size mismatch\nand more")
        return cls()

    def to(self, _: str) -> Drawing:
        return self

    def __call__(self, image: Image.Image, **options: Any) -> Image.Image:
        self.drawn.append(image.size)
        side = min(image.size)
        assert options["detect_resolution"] == options["image_resolution"] == side
        assert options["include_hand"] is True
        drawn = Image.new("RGB", (64, 64))  # for any size of the drawing
        drawn.paste((255, 255, 255), (16, 16, 48, 48))
        return drawn


def test_pose_compares_what_openpose_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "controlnet_aux", OpenposeDetector=Drawing)
    Image.new("L", (128, 128)).save(tmp_path / "control.png")
    noise(1, (90, 80)).save(tmp_path / "edit.png")
    sample = Sample("s", "", tmp_path / "control.png")
    monkeypatch.setattr(Drawing, "drawn", [])
    (gauge,) = open_image_metrics(["pose"], {"pose": str(write_poses(tmp_path))}).values()
    vectors = FeatureCacheFile(tmp_path)
    for _ in range(2):
        found = look(gauge, sample, tmp_path / "edit.png", FeatureCache(vectors))
        assert found == {"pose": pytest.approx(0.25, abs=0.01)}
    vectors.close()
    assert len(Drawing.drawn) == 1, "the result is cached"
    assert Drawing.said[-1] == str(tmp_path)


@pytest.mark.parametrize(
    ("folder", "bad", "said"),
    [
        ("absent", "", "contains none of body_pose_model.pth"),
        ("other", "", "other cannot be loaded by controlnet_aux: size mismatch$"),
        *(("harmful", file, f"{file} cannot be loaded: it contains more than") for file in POSES),
        ("other/facenet.pth", "", "is a file. Give a folder with body_pose_model.pth"),
    ],
)
def test_pose_that_was_chosen_and_cannot_be_loaded_stops(
    folder: str, bad: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module(monkeypatch, "controlnet_aux", OpenposeDetector=Drawing)
    monkeypatch.chdir(tmp_path)
    noise(1, (9, 9)).save("a.png")
    Path("absent").mkdir()
    write_poses(Path("other"))
    write_poses(Path("harmful"), **{Path(bad).stem: Harmful()})
    (gauge,) = open_image_metrics(["pose"], {"pose": str(tmp_path / folder)}).values()
    with pytest.raises(CrevalError, match=said) as caught:
        look(gauge, Sample("s", "", tmp_path / "a.png"), tmp_path / "a.png")
    assert not isinstance(caught.value, DependencyMissing)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("imaging", "pyiqa", "quality"), ("pose", "controlnet_aux", "poses"), ("text", "rapidocr", "text")],
)
def test_without_the_library_it_is_missing(
    name: str, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    noise(1, (20, 20)).save(tmp_path / "a.png")
    (gauge,) = open_image_metrics([name], {}).values()
    for _ in range(2):
        with pytest.raises(DependencyMissing, match=rf"needs {library}: pip install 'creval\[{extra}\]'"):
            look(gauge, Sample("s", 'Write "A".', tmp_path / "a.png"), tmp_path / "a.png")


def test_output_of_libraries_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Lazy(lambda: print("Downloading")).get()
    assert capsys.readouterr() == ("", "Downloading\n")
