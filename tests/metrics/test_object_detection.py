"""Tests of object detection, with tiny detectors with random weights in the real format."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.metrics import features
from creval.metrics.object_detection import ObjectDetector
from creval.providers.huggingface import DependencyMissing, load_model
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
def image() -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    return Image.fromarray(noise)


def test_boxes_lie_in_the_image(model: Path, image: Image.Image) -> None:
    found = ObjectDetector(str(model), threshold=0.0).find_boxes(image, NAMES)
    assert list(found) == NAMES
    for boxes in found.values():
        assert boxes
        for left, top, right, bottom in boxes:
            assert 0 <= left < right <= WIDTH
            assert 0 <= top < bottom <= HEIGHT


def test_boxes_are_those_of_the_model_best_first(model: Path, image: Image.Image) -> None:
    processor = transformers.AutoProcessor.from_pretrained(model)
    direct = transformers.AutoModelForZeroShotObjectDetection.from_pretrained(model)
    dino = "grounding" in direct.config.model_type
    inputs = processor(images=image, text="a red hat." if dino else [["a red hat"]], return_tensors="pt")
    with torch.inference_mode():
        made = direct.eval()(**inputs)
    scores = made.logits[0].sigmoid().max(dim=-1).values
    # OWLv2 pads an image to a square, and boxes are shares of that.
    sides = (WIDTH, WIDTH) if direct.config.model_type == "owlv2" else (WIDTH, HEIGHT)
    # Halfway between two adjacent scores, so that rounding cannot move one across the threshold.
    ranked = scores.sort(descending=True)
    threshold = float(ranked.values[2:4].mean())
    expected = []
    for across, down, width, height in made.pred_boxes[0][ranked.indices[:3]].tolist():
        left, right = (across - width / 2) * sides[0], (across + width / 2) * sides[0]
        top, bottom = (down - height / 2) * sides[1], (down + height / 2) * sides[1]
        box = max(0, left), max(0, top), min(WIDTH, right), min(HEIGHT, bottom)
        if box[0] < box[2] and box[1] < box[3]:
            expected.append(box)
    found = ObjectDetector(str(model), threshold).find_boxes(image, ["a red hat"])["a red hat"]
    assert expected
    assert np.allclose(found, expected, atol=1e-3)


def test_no_detection_above_a_threshold_of_one(model: Path, image: Image.Image) -> None:
    assert ObjectDetector(str(model), threshold=1.1).find_boxes(image, NAMES) == {"a red hat": [], "cat": []}
    assert ObjectDetector(str(model)).find_boxes(image, []) == {}


def test_names_do_not_disturb_each_other(model: Path, image: Image.Image) -> None:
    detector = ObjectDetector(str(model), threshold=0.0)
    together = detector.find_boxes(image, [*NAMES, "cat"])
    assert together == {name: detector.find_boxes(image, [name])[name] for name in NAMES}


def test_any_name_and_any_image(model: Path, image: Image.Image) -> None:
    detector = ObjectDetector(str(model), threshold=0.0)
    found = detector.find_boxes(image, ["a cat", "A. Cat.", "cat " * 500, ""])
    assert found["A. Cat."] == found["a cat"]
    for mode in ("L", "RGBA", "P"):
        assert detector.find_boxes(image.convert(mode), ["cat"])["cat"]


def test_threads_share_one_model(model: Path, image: Image.Image, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []

    def counted(name: str, *given: Any, **more: Any) -> Any:
        loads.append(name)
        return load_model(name, *given, **more)

    monkeypatch.setattr(features, "load_model", counted)
    detector = ObjectDetector(str(model), threshold=0.0)
    assert not loads
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: detector.find_boxes(image, ["cat"]), range(4)))
    assert loads == [str(model)]
    assert all(one == found[0] for one in found)


def test_wrong_models_get_a_sentence(tmp_path: Path, image: Image.Image) -> None:
    with pytest.raises(CrevalError, match=r"no folder .*missing exists"):
        ObjectDetector(str(tmp_path / "missing")).find_boxes(image, ["cat"])
    with pytest.raises(CrevalError, match="cannot be loaded"):
        ObjectDetector(str(tmp_path)).find_boxes(image, ["cat"])
    with pytest.raises(CrevalError, match="cannot be loaded") as caught:
        ObjectDetector(str(write_clip(tmp_path / "clip"))).find_boxes(image, ["cat"])
    assert "\n" not in str(caught.value)


def test_damaged_weights_get_a_sentence(tmp_path: Path, image: Image.Image) -> None:
    folder = write_owl(tmp_path)
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(CrevalError, match="cannot be loaded"):
        ObjectDetector(str(folder)).find_boxes(image, ["cat"])


def test_a_library_that_is_missed_late_gets_a_sentence(tmp_path: Path) -> None:
    folder = str(write_owl(tmp_path))
    for chosen, kind in ((True, CrevalError), (False, DependencyMissing)):
        model = ObjectDetector(folder)
        model._explicit = chosen
        with pytest.raises(kind, match="lacks a library: needs SciPy") as caught, model.session():
            raise ImportError("\nneeds\nSciPy")
        assert type(caught.value) is kind, "a default model that fails does not stop other metrics"
