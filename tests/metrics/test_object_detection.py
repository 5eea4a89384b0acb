"""Finding objects, tried with tiny detectors of random weights in the real format."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.metrics import model_loading
from creval.metrics.model_loading import Model
from creval.metrics.object_detection import Detector
from creval.providers.huggingface import Missing, load_model
from tests.metrics.tiny import write_clip, write_grounding_dino, write_owl

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
WIDTH, HEIGHT = 60, 40
NAMES = ["a red hat", "cat"]


@pytest.fixture(scope="module", params=["grounding-dino", "owlvit", "owlv2"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "grounding-dino":
        return write_grounding_dino(folder)
    if request.param == "owlvit":
        return write_owl(folder)
    if not (find_spec("scipy") or find_spec("torchvision")):
        pytest.skip("OWLv2 resizes with SciPy or torchvision")
    return write_owl(folder, "Owlv2")


@pytest.fixture
def picture() -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    return Image.fromarray(noise)


def test_boxes_lie_in_the_picture(model: Path, picture: Image.Image) -> None:
    found = Detector(str(model), threshold=0.0).find(picture, NAMES)
    assert list(found) == NAMES
    for boxes in found.values():
        assert boxes
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= WIDTH
            assert 0 <= top < bottom <= HEIGHT


def test_boxes_are_those_of_the_model_best_first(model: Path, picture: Image.Image) -> None:
    processor = transformers.AutoProcessor.from_pretrained(model)
    direct = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(model)
    dino = "grounding" in direct.config.model_type
    inputs = processor(
        images=picture, text="a red hat." if dino else [["a red hat"]], return_tensors="pt"
    )
    with torch.inference_mode():
        made = direct.eval()(**inputs)
    scores = made.logits[0].sigmoid().max(dim=-1).values
    # OWLv2 fills a picture up to a square; boxes are shares of that.
    sides = (WIDTH, WIDTH) if direct.config.model_type == "owlv2" else (WIDTH, HEIGHT)
    # Between two neighbouring scores, so that rounding cannot move one over the threshold.
    ranked = scores.sort(descending=True)
    threshold = float(ranked.values[2:4].mean())
    expected = []
    for across, down, width, height in made.pred_boxes[0][ranked.indices[:3]].tolist():
        left, right = (across - width / 2) * sides[0], (across + width / 2) * sides[0]
        top, bottom = (down - height / 2) * sides[1], (down + height / 2) * sides[1]
        box = max(0, left), max(0, top), min(WIDTH, right), min(HEIGHT, bottom)
        if box[0] < box[2] and box[1] < box[3]:
            expected.append(box)
    found = Detector(str(model), threshold).find(picture, ["a red hat"])["a red hat"]
    assert expected
    assert np.allclose(found, expected, atol=1e-3)


def test_nothing_scores_above_one(model: Path, picture: Image.Image) -> None:
    assert Detector(str(model), threshold=1.1).find(picture, NAMES) == {"a red hat": [], "cat": []}
    assert Detector(str(model)).find(picture, []) == {}


def test_names_do_not_disturb_each_other(model: Path, picture: Image.Image) -> None:
    detector = Detector(str(model), threshold=0.0)
    together = detector.find(picture, [*NAMES, "cat"])
    assert together == {name: detector.find(picture, [name])[name] for name in NAMES}


def test_any_name_and_any_picture(model: Path, picture: Image.Image) -> None:
    detector = Detector(str(model), threshold=0.0)
    found = detector.find(picture, ["a cat", "A. Cat.", "cat " * 500, ""])
    assert found["A. Cat."] == found["a cat"]
    for mode in ("L", "RGBA", "P"):
        assert detector.find(picture.convert(mode), ["cat"])["cat"]


def test_threads_share_one_model(
    model: Path, picture: Image.Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []

    def counted(name: str, *given: Any, **more: Any) -> Any:
        loads.append(name)
        return load_model(name, *given, **more)

    monkeypatch.setattr(model_loading, "load_model", counted)
    detector = Detector(str(model), threshold=0.0)
    assert not loads
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: detector.find(picture, ["cat"]), range(4)))
    assert loads == [str(model)]
    assert all(one == found[0] for one in found)


def test_wrong_models_get_a_sentence(tmp_path: Path, picture: Image.Image) -> None:
    with pytest.raises(CrevalError, match=r"there is no folder .*missing"):
        Detector(str(tmp_path / "missing")).find(picture, ["cat"])
    with pytest.raises(CrevalError, match="cannot be loaded"):
        Detector(str(tmp_path)).find(picture, ["cat"])
    with pytest.raises(CrevalError, match="cannot be loaded") as caught:
        Detector(str(write_clip(tmp_path / "clip"))).find(picture, ["cat"])
    assert "\n" not in str(caught.value)


def test_damaged_weights_get_a_sentence(tmp_path: Path, picture: Image.Image) -> None:
    folder = write_owl(tmp_path)
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(CrevalError, match="cannot be loaded"):
        Detector(str(folder)).find(picture, ["cat"])


def test_a_library_that_is_missed_late_gets_a_sentence(tmp_path: Path) -> None:
    folder = str(write_owl(tmp_path))
    for chosen, kind in ((True, CrevalError), (False, Missing)):
        model = Model(folder, "AutoModelForZeroShotObjectDetection", chosen=chosen)
        with pytest.raises(kind, match="lacks a library: needs SciPy") as caught, model.in_use():
            raise ImportError("\nneeds\nSciPy")
        assert type(caught.value) is kind, "one that nobody chose does not stop the others"
