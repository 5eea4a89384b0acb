"""Tests of face similarity, with a tiny detector and recogniser with random weights as ONNX files."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.metrics.base import ImageMetric, open_image_metrics
from creval.metrics.face import DETECTION_SIZES
from creval.metrics.metric_inputs import NotMeasurable
from creval.providers.huggingface import DependencyMissing
from tests.metrics.evaluating import look
from tests.metrics.images import noise, slope
from tests.metrics.tiny_files import write_faces

pytestmark = pytest.mark.filterwarnings("ignore:`estimate` is deprecated:FutureWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("insightface")
    pytest.importorskip("onnx")
    return write_faces(tmp_path_factory.mktemp("faces") / "buffalo_l")


def opened(folder: Path | None) -> ImageMetric:
    return open_image_metrics(["face"], {"face": str(folder)} if folder else {})["face"]


def rows(folder: Path, image: Image.Image) -> Any:
    """Return the faces that InsightFace finds when used as in its documentation."""
    app = pytest.importorskip("insightface.app").FaceAnalysis(name=str(folder))
    app.prepare(ctx_id=0, det_size=(DETECTION_SIZES[0], DETECTION_SIZES[0]))
    return [face.normed_embedding for face in app.get(np.asarray(image))]


def test_the_best_of_all_faces_against_the_references_first(folder: Path, tmp_path: Path) -> None:
    reference, edit = slope((90, 70)), noise(4, (80, 60))
    reference.save(tmp_path / "reference.png")
    edit.save(tmp_path / "edit.png")
    first, all_ = rows(folder, reference)[0], rows(folder, edit)
    assert len(all_) > 1
    expected = max(float(row @ first) for row in all_)
    sample = Sample("s", "", references=(tmp_path / "reference.png",))
    found = look(opened(folder), sample, tmp_path / "edit.png")
    assert found == {"face": pytest.approx(expected, abs=1e-6)}


def test_the_librarys_remarks_are_not_shown(folder: Path, tmp_path: Path) -> None:
    slope((90, 70)).save(tmp_path / "reference.png")
    sample = Sample("s", "", references=(tmp_path / "reference.png",))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        look(opened(folder), sample, tmp_path / "reference.png")
    assert [str(one.message) for one in said if one.category is FutureWarning] == []


class Picky:
    """Fake detector that finds one face, at one size only."""

    def __init__(self, at: int) -> None:
        self.at, self.asked = at, list[int]()

    def prepare(self, *, ctx_id: int, det_size: tuple[int, int]) -> None:  # noqa: ARG002
        self.asked.append(det_size[0])

    def get(self, _: object) -> list[Any]:
        if self.asked[-1] != self.at:
            return []
        vector = np.array([1.0, 0.0], dtype=np.float32)
        return [type("Face", (), {"normed_embedding": vector})]


def test_smaller_sizes_are_tried_until_there_is_a_face(tmp_path: Path) -> None:
    noise(1, (20, 20)).save(tmp_path / "a.png")
    sample = Sample("s", "", references=(tmp_path / "a.png",))
    for at, tried in ((640, 1), (256, 4), (128, 5)):
        gauge = opened(None)
        picky = Picky(at)
        gauge.extractor._model._value = picky  # type: ignore[attr-defined]
        assert look(gauge, sample, tmp_path / "a.png") == {"face": 1.0}
        assert picky.asked == list(DETECTION_SIZES[:tried])


def test_no_face_in_the_edit_is_zero_and_none_in_the_reference_is_unmeasured(tmp_path: Path) -> None:
    for name in ("a", "b"):
        noise(ord(name), (20, 20)).save(tmp_path / f"{name}.png")

    class Half(Picky):
        def get(self, pixels: Any) -> list[Any]:
            same = np.array_equal(pixels, np.asarray(noise(ord("a"), (20, 20))))
            return super().get(pixels) if same else []

    gauge = opened(None)
    gauge.extractor._model._value = Half(640)  # type: ignore[attr-defined]
    with_face = Sample("s", "", references=(tmp_path / "a.png",))
    assert look(gauge, with_face, tmp_path / "b.png") == {"face": 0.0}
    without = Sample("s", "", references=(tmp_path / "b.png",))
    with pytest.raises(NotMeasurable, match="no face was found in the reference"):
        look(gauge, without, tmp_path / "a.png")
    with pytest.raises(NotMeasurable, match="no reference"):
        look(gauge, Sample("s", ""), tmp_path / "a.png")


def test_wrong_folders_get_a_sentence(folder: Path, tmp_path: Path) -> None:
    noise(1, (20, 20)).save(tmp_path / "a.png")
    sample = Sample("s", "", references=(tmp_path / "a.png",))
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "det_10g.onnx").write_bytes((folder / "det_10g.onnx").read_bytes())
    for where, why in (("absent", "does not exist"), ("half", "no face recognition"), (".", "no face detection")):
        with pytest.raises(CrevalError, match=why):
            look(opened(tmp_path / where), sample, tmp_path / "a.png")


def test_without_the_library_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise(1, (20, 20)).save(tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "insightface.app", None)
    sample = Sample("s", "", references=(tmp_path / "a.png",))
    with pytest.raises(DependencyMissing, match=r"pip install 'creval\[faces\]'"):
        look(opened(None), sample, tmp_path / "a.png")


def test_a_model_that_cannot_be_downloaded_is_missing_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise(1, (20, 20)).save(tmp_path / "a.png")
    sample = Sample("s", "", references=(tmp_path / "a.png",))

    def unreachable(**_: object) -> None:
        raise OSError("HTTPSConnectionPool(host='github.com', port=443): Max retries exceeded")

    monkeypatch.setattr("insightface.app.FaceAnalysis", unreachable)
    with pytest.raises(DependencyMissing) as caught:
        look(opened(None), sample, tmp_path / "a.png")
    assert str(caught.value) == (
        "buffalo_l cannot be downloaded (no connection): fetch it elsewhere, unpack it, "
        "and give `metric_models` face=FOLDER"
    )
