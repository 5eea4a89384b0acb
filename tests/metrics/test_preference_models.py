"""Tests of distances and rewards with fake packages: calls, and errors if a package is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.metric_inputs import NotMeasurable
from creval.providers.huggingface import DependencyMissing
from tests.metrics.evaluating import look
from tests.metrics.images import noise, slope

torch = pytest.importorskip("torch")
CAPTION = "a cat with a red hat"


def module(monkeypatch: pytest.MonkeyPatch, name: str, **given: Any) -> None:
    made = ModuleType(name)
    vars(made).update(given)
    monkeypatch.setitem(sys.modules, name, made)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    slope((90, 70)).save(tmp_path / "source.png")
    noise(1, (45, 35)).save(tmp_path / "edit.png")
    return Sample("s", "Add a hat", tmp_path / "source.png", captions={"target": CAPTION})


def value(name: str, sample: Sample, **models: str) -> float:
    assert sample.source is not None
    (metric,) = open_image_metrics([name], models).values()
    return look(metric, sample, sample.source.parent / "edit.png")[name]


class Network(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Fake network that returns the mean absolute difference of two inputs, and records them."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options, self.seen = options, list[Any]()

    def forward(self, first: Any, second: Any) -> Any:
        self.seen.append((first, second))
        return (first - second).abs().mean().reshape(1, 1, 1, 1)


def test_lpips_sees_both_images_in_the_sources_size(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Network] = []

    def create(**options: Any) -> Network:
        made.append(Network(**options))
        return made[-1]

    module(monkeypatch, "lpips", LPIPS=create)
    found = value("lpips", sample)
    assert sample.source is not None
    source = np.asarray(Image.open(sample.source), dtype=np.float64)
    resized = Image.open(sample.source.parent / "edit.png").resize((90, 70), Image.Resampling.BICUBIC)
    assert found == pytest.approx(np.abs(np.asarray(resized, dtype=np.float64) - source).mean() / 127.5, abs=1e-6)
    assert made[0].options == {"net": "alex", "verbose": False}
    first, second = made[0].seen[0]
    assert first.shape == second.shape == (1, 3, 70, 90)
    assert -1 <= float(first.min()) < float(first.max()) <= 1
    value("lpips", sample, lpips="vgg")
    assert made[1].options["net"] == "vgg"
    with pytest.raises(CrevalError, match="no network of LPIPS 'resnet'"):
        value("lpips", sample, lpips="resnet")


def test_lpips_of_tiny_images_is_not_measured(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "lpips", LPIPS=Network)
    assert sample.source is not None
    slope((63, 90)).save(sample.source)
    with pytest.raises(NotMeasurable, match="fewer than 64"):
        value("lpips", sample)


def test_dreamsim_is_one_less_the_cosine(sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    before = torch.hub.get_dir()

    def dreamsim(**options: Any) -> tuple[Any, Any]:
        made.append(options)
        torch.hub.set_dir(options["cache_dir"])
        return SimpleNamespace(embed=lambda tensor: tensor), lambda image: torch.tensor([[*image.size]]).float()

    module(monkeypatch, "dreamsim", dreamsim=dreamsim)
    (tmp_path / "weights").mkdir()
    source, edit = np.array([90.0, 70.0]), np.array([45.0, 35.0])
    cosine = source @ edit / np.linalg.norm(source) / np.linalg.norm(edit)
    assert value("dreamsim", sample) == pytest.approx(1 - cosine, abs=1e-6)
    assert torch.hub.get_dir() == before
    assert made[0]["dreamsim_type"] == "ensemble"
    assert made[0]["pretrained"] is True
    assert Path(made[0]["cache_dir"]).is_dir(), "the package only creates the last folder of a path"
    assert Path(made[0]["cache_dir"]).is_absolute()
    value("dreamsim", sample, dreamsim=str(tmp_path / "weights"))
    assert made[1]["cache_dir"] == str(tmp_path / "weights")
    with pytest.raises(CrevalError, match="no variant of DreamSim"):
        value("dreamsim", sample, dreamsim="dino")


def write_reward(folder: Path) -> Path:
    folder.mkdir()
    torch.save({"mlp.weight": torch.ones(1, 2)}, folder / "ImageReward.pt")
    (folder / "med_config.json").write_text("{}")
    return folder


def test_image_reward_is_asked_about_edit_and_target_caption(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []
    asked: list[Any] = []

    def score(prompt: str, image: Image.Image) -> float:
        asked.append((prompt, image.size))
        return -0.5

    def load(name: str, device: str, med_config: str) -> Any:
        loaded.append((name, device, med_config))
        return SimpleNamespace(score=score)

    module(monkeypatch, "ImageReward", load=load)
    folder = write_reward(tmp_path / "reward")
    assert value("image_reward", sample, image_reward=str(folder)) == -0.5
    assert asked == [(CAPTION, (45, 35))]
    assert loaded[0][::2] == (str(folder / "ImageReward.pt"), str(folder / "med_config.json"))
    assert value("image_reward", sample, image_reward=str(folder / "ImageReward.pt")) == -0.5
    with pytest.raises(NotMeasurable, match="no caption of the target"):
        value("image_reward", Sample("s", "Add a hat", sample.source), image_reward=str(folder))


class Clip(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Fake network of two weights with HPS's interface."""

    def __init__(self) -> None:
        super().__init__()
        self.visual = torch.nn.Linear(2, 2, bias=False)

    def encode_image(self, images: Any) -> Any:
        return self.visual(images)

    def encode_text(self, tokens: Any) -> Any:
        return tokens.float()


def test_hps_is_the_cosine_of_edit_and_target_caption(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def create(name: str, **options: Any) -> tuple[Any, None, Any]:
        made.append((name, options))
        return Clip(), None, lambda image: torch.tensor([*image.size]).float()

    def get_tokenizer(name: str) -> Any:
        assert name == "ViT-H-14"
        return lambda texts: torch.tensor([[len(text), 1] for text in texts])

    for name in ("hpsv2", "hpsv2.src"):
        module(monkeypatch, name)
    module(monkeypatch, "hpsv2.src.open_clip", create_model_and_transforms=create, get_tokenizer=get_tokenizer)
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    torch.save({"epoch": 1, "state_dict": {"visual.weight": weight}}, tmp_path / "HPS_v2.1_compressed.pt")
    seen, read = weight.numpy() @ np.array([45.0, 35.0]), np.array([len(CAPTION), 1.0])
    expected = seen @ read / np.linalg.norm(seen) / np.linalg.norm(read)
    assert value("hps", sample, hps=str(tmp_path)) == pytest.approx(expected, abs=1e-6)
    assert "pretrained" not in made[0][1], "other weights are not downloaded first"
    torch.save({"other": weight}, tmp_path / "HPS_v2.1_compressed.pt")
    with pytest.raises(CrevalError, match="hpsv2 cannot load"):
        value("hps", sample, hps=str(tmp_path))


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("lpips", "lpips", "perceptual"),
        ("dreamsim", "dreamsim", "perceptual"),
        ("image_reward", "ImageReward", "imagereward"),
        ("hps", "hpsv2", "hps"),
    ],
)
def test_a_package_that_is_missing_is_named(
    name: str, package: str, extra: str, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DependencyMissing, match=rf"needs {package}: pip install 'creval\[{extra}\]'"):
        value(name, sample)


@pytest.mark.parametrize(
    ("name", "package", "attribute"), [("lpips", "lpips", "LPIPS"), ("dreamsim", "dreamsim", "dreamsim")]
)
def test_weights_that_cannot_be_downloaded_are_missing(
    name: str, package: str, attribute: str, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OSError("no route to host\nand more")

    module(monkeypatch, package, **{attribute: fail})
    with pytest.raises(DependencyMissing, match=r"cannot load (alex|ensemble): no route to host$"):
        value(name, sample)
