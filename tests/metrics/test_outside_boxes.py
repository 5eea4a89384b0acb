"""Tests of L1 and L2 outside the boxes of the objects to edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from PIL import Image

from creval.core.sample import Box, InstructionStep, Sample
from creval.metrics.base import ModelPool, open_image_metrics
from creval.metrics.features import FeatureCache
from creval.metrics.metric_inputs import NotMeasurable
from creval.metrics.model_loading import files_digest
from creval.metrics.object_detection import ObjectDetector
from creval.metrics.outside_boxes import OutsideAllBoxes, OutsideBoxes
from creval.store.feature_cache_file import FeatureCacheFile
from tests.metrics.evaluating import look, note_opened
from tests.metrics.tiny import write_owl


@pytest.fixture
def images(tmp_path: Path) -> tuple[Path, Path]:
    """Return a black source, and an edit whose left half and top row are white."""
    source, edit = Image.new("RGB", (20, 10)), Image.new("RGB", (20, 10))
    edit.paste((255, 255, 255), (0, 0, 10, 10))
    edit.paste((255, 255, 255), (0, 0, 20, 1))
    source.save(tmp_path / "source.png")
    edit.save(tmp_path / "edit.png")
    return tmp_path / "source.png", tmp_path / "edit.png"


class Seeing(ObjectDetector):
    """Fake detector that returns given boxes and records its inputs."""

    def __init__(self, **found: list[Box]) -> None:
        super().__init__("seeing")
        self.found = found
        self.asked: list[tuple[tuple[int, int, int], tuple[str, ...]]] = []

    def find_boxes(self, image: Image.Image, names: Sequence[str]) -> dict[str, list[Box]]:
        colour = image.getpixel((0, 0))
        assert isinstance(colour, tuple)
        self.asked.append((colour[:3], tuple(names)))  # type: ignore[arg-type]
        return {name: self.found.get(name, []) for name in names}


def measured(
    images: tuple[Path, Path],
    *steps: InstructionStep,
    detector: Seeing | None = None,
    embeddings: FeatureCache | None = None,
) -> Mapping[str, float]:
    source, edit = images
    gauge = OutsideBoxes(ModelPool())
    gauge._detector = detector
    return look(gauge, Sample("s", "", source, steps=steps), edit, embeddings)


def test_only_pixels_outside_the_boxes_count(images: tuple[Path, Path]) -> None:
    left = InstructionStep("a", old="cat", boxes=((0, 0, 10, 10),))
    assert measured(images, left) == {"L1": pytest.approx(0.1), "L2": pytest.approx(0.1)}
    assert measured(images, InstructionStep("a")) == {"L1": pytest.approx(0.55), "L2": pytest.approx(0.55)}


def test_an_edit_of_another_size_is_scaled_to_its_source(images: tuple[Path, Path]) -> None:
    Image.open(images[1]).resize((40, 20), Image.Resampling.NEAREST).save(images[1])
    found = measured(images, InstructionStep("a", old="cat", boxes=((0, 0, 12, 10), (0, 0, 20, 2))))
    assert found["L1"] == pytest.approx(0.0, abs=0.01)


def test_boxes_that_cover_everything_leave_nothing(images: tuple[Path, Path]) -> None:
    with pytest.raises(NotMeasurable, match="cover the whole image"):
        measured(images, InstructionStep("a", old="cat", boxes=((-5, -5, 99, 99),)))


def test_an_object_without_a_box_is_not_guessed_over(images: tuple[Path, Path]) -> None:
    with pytest.raises(NotMeasurable, match="the object to change has no box") as found:
        measured(images, InstructionStep("a", old="cat"))
    assert found.value.about == "cat"
    with pytest.raises(NotMeasurable, match="the detector does not find"):
        measured(images, InstructionStep("a", old="cat"), detector=Seeing())
    # An object that an earlier step adds is not searched in the source.
    measured(images, InstructionStep("a", new="cat"), InstructionStep("b", needs=(0,), old="cat"))


def test_a_detector_finds_the_old_in_the_source_and_the_new_in_the_edit(images: tuple[Path, Path]) -> None:
    seeing = Seeing(cat=[(0.0, 0.0, 10.0, 10.0)], hat=[(0.0, 0.0, 20.0, 1.0)])
    steps = (
        InstructionStep("a", old="cat"),
        InstructionStep("b", new="hat"),
        InstructionStep("c", old="dog", boxes=((1, 1, 2, 2),)),
    )
    assert measured(images, *steps, detector=seeing) == {"L1": 0.0, "L2": 0.0}
    black, white = (0, 0, 0), (255, 255, 255)
    assert seeing.asked == [(black, ("cat",)), (white, ("hat",))]


def test_detected_boxes_are_cached_and_no_image_is_decoded_again(
    images: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = note_opened(monkeypatch)
    seeing = Seeing(cat=[(0.0, 0.0, 10.0, 10.0)], dog=[(0.5, 0.0, 3.0, 4.0)])
    steps = [
        InstructionStep("a", old="cat"),
        InstructionStep("b", old="dog", new="hat"),
        InstructionStep("c", new="hat"),
    ]
    found = []
    for _ in range(2):
        vectors = FeatureCacheFile(tmp_path)
        found.append(measured(images, *steps, detector=seeing, embeddings=FeatureCache(vectors)))
        vectors.close()
        assert len(seeing.asked) == 3, "two in the source, one in the edit, then cached"
    assert found[0] == found[1] == {"L1": pytest.approx(0.1), "L2": pytest.approx(0.1)}
    assert sorted(opened) == ["edit.png", "edit.png", "source.png", "source.png"]


def test_without_a_step_nothing_is_outside(images: tuple[Path, Path]) -> None:
    with pytest.raises(NotMeasurable, match="no steps"):
        measured(images)


def test_a_sample_without_a_source(tmp_path: Path) -> None:
    with pytest.raises(NotMeasurable, match="no source"):
        look(OutsideBoxes(ModelPool()), Sample("s", ""), tmp_path / "edit.png")


def test_the_name_tells_the_detector(tmp_path: Path, images: tuple[Path, Path]) -> None:
    pytest.importorskip("transformers")
    model = write_owl(tmp_path / "owl")
    gauge = open_image_metrics(["outside"], {"boxes": str(model)})["outside"]
    assert gauge.name == f"outside@owl#{files_digest(str(model))[:8]}"
    assert OutsideBoxes(ModelPool()).name == "outside"
    sample = Sample("s", "", images[0], steps=(InstructionStep("a", boxes=((0, 0, 1, 1),), new="cat"),))
    assert set(look(gauge, sample, images[1])) == {"L1", "L2"}


def test_equation_9_also_leaves_out_the_objects_in_the_edit(images: tuple[Path, Path]) -> None:
    """The union of the source's boxes and of those that the detector finds in the edit, of old and new objects."""
    source, edit = images
    # The edit moved the cat from the right corner to the left half, and added a hat in the top row.
    steps = (InstructionStep("move", old="cat", boxes=((15.0, 5.0, 20.0, 10.0),)), InstructionStep("add", new="hat"))
    sample = Sample("s", "", source, steps=steps)
    found: dict[str, float] = {}
    for metric in (OutsideBoxes(ModelPool()), OutsideAllBoxes(ModelPool())):
        seeing = Seeing(cat=[(0.0, 0.0, 10.0, 10.0)], hat=[(0.0, 0.0, 20.0, 1.0)])
        metric._detector = seeing
        found |= look(metric, sample, edit)
        searched = [name for _, names in seeing.asked for name in names]
        assert searched == (["hat"] if type(metric) is OutsideBoxes else ["cat", "hat"])
    # 20 x 10 pixels. The authors' code leaves out 25 + 20: white are 10 x 9 of the other 155.
    assert found["L1"] == pytest.approx(90 / 155)
    assert found["L1_all"] == 0, "all that changed is inside a box"
    with pytest.raises(NotMeasurable, match="needs a detector"):
        look(OutsideAllBoxes(ModelPool()), sample, edit)
