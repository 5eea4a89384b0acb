"""Tests of CLIP vectors of images and texts, with tiny models with random weights in the real format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import open_image
from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.batch import MetricJob, evaluate_batch
from creval.metrics.clip import Clip, directional_similarity
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureCache, cosine_similarity
from creval.metrics.metric_inputs import MetricInputs, NonFiniteResult, NotMeasurable
from tests.metrics.evaluating import look, shown
from tests.metrics.tiny import write_clip, write_grounding_dino, write_siglip

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module", params=[write_clip, write_siglip])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder: Path = request.param(tmp_path_factory.mktemp("tiny"))
    return folder


@pytest.fixture
def image() -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    return Image.fromarray(noise)


def vector(clip: Clip, of: Image.Image | str) -> FeatureArray:
    return clip.extract([of if isinstance(of, str) else shown(of)])[0]


def test_an_empty_caption_is_none() -> None:
    both = {"source": "a cat", "target": "a cat with a hat"}
    assert Sample("s", "", captions=both).has_captions
    assert not Sample("s", "", captions={**both, "source": " "}).has_captions
    assert not Sample("s", "", captions={"target": "a cat"}).has_captions


def test_vectors_are_those_of_the_model(model: Path, image: Image.Image) -> None:
    processor = transformers.AutoProcessor.from_pretrained(model)
    direct = transformers.AutoModel.from_pretrained(model).eval()
    # SigLIP expects texts padded to its maximum length, CLIP unpadded texts.
    filled = "max_length" if direct.config.model_type == "siglip" else False
    inputs = processor(text=["a red hat"], images=image, padding=filled, max_length=20, return_tensors="pt")
    with torch.inference_mode():
        made = direct(**inputs)  # its embeddings have length 1
    clip = Clip(str(model))
    assert np.allclose(vector(clip, image), made.image_embeds[0].numpy(), atol=1e-6)
    assert np.allclose(vector(clip, "a red hat"), made.text_embeds[0].numpy(), atol=1e-6)


def test_vectors_have_length_one(model: Path, image: Image.Image) -> None:
    clip = Clip(str(model))
    for made in (vector(clip, image), vector(clip, image.convert("P")), vector(clip, "")):
        assert np.linalg.norm(made) == pytest.approx(1.0, abs=1e-6)


def test_together_as_alone(model: Path, image: Image.Image) -> None:
    clip = Clip(str(model))
    things: list[ExtractorInput] = [shown(image), "a cat", shown(image.rotate(90)), "a red hat"]
    for one, thing in zip(clip.extract(things), things, strict=True):
        assert np.allclose(one, clip.extract([thing])[0], atol=1e-6)


def test_long_texts_are_cut(model: Path) -> None:
    clip = Clip(str(model))
    start = "a hat " * 20
    assert np.array_equal(vector(clip, start), vector(clip, start + "and a cat"))
    assert not np.array_equal(vector(clip, "a hat"), vector(clip, "a cat"))


def test_wrong_models_get_a_sentence(tmp_path: Path, image: Image.Image) -> None:
    with pytest.raises(CrevalError, match=r"no folder .* exists"):
        vector(Clip(str(tmp_path / "missing")), image)
    with pytest.raises(CrevalError, match="cannot be loaded"):
        vector(Clip(str(tmp_path)), "a cat")
    with pytest.raises(CrevalError, match="class GroundingDinoModel has no"):
        vector(Clip(str(write_grounding_dino(tmp_path))), image)


def test_the_similarity_is_a_cosine() -> None:
    a, b = np.array([0.6, 0.8]), np.array([0.8, 0.6])
    assert cosine_similarity(a, b) == pytest.approx(0.96)
    assert cosine_similarity(a, a) == pytest.approx(1.0)
    assert cosine_similarity(a, -a) == pytest.approx(-1.0)
    with pytest.raises(NonFiniteResult, match="a vector of length 0"):
        cosine_similarity(a, np.zeros(2))


def test_directional_similarity_by_hand() -> None:
    x, y, z = np.eye(3)
    # (y - x) and (z - x): (1 + 0 + 0) / (sqrt 2 * sqrt 2)
    assert directional_similarity(x, y, x, z) == pytest.approx(0.5)
    assert directional_similarity(x, y, x, y) == pytest.approx(1.0)
    assert directional_similarity(x, y, y, x) == pytest.approx(-1.0)
    # (y - x) and (x + y - 0): -1 + 1
    assert directional_similarity(x, y, np.zeros(3), x + y) == pytest.approx(0.0)


def test_without_a_change_there_is_no_direction() -> None:
    x, y, z = np.eye(3)
    # The last two differ as much as the vectors of an image in different batches.
    for vectors in ((x, x, x, y), (x, y, y, y), (x, x + 3e-6 * z, x, y), (x, y, y, y + 3e-6 * z)):
        with pytest.raises(NotMeasurable, match="has not changed"):
            directional_similarity(*vectors)
    assert directional_similarity(x, x + 1e-3 * (y - x), x, y) == pytest.approx(1.0)


def test_the_same_image_in_another_batch_has_not_changed(image: Image.Image, tmp_path: Path) -> None:
    larger = {"hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 8}
    model = write_clip(tmp_path / "wide", **larger)
    captions = {"source": "a cat", "target": "a red hat"}
    sample = Sample("s", "", tmp_path / "source.png", captions=captions)
    image.save(tmp_path / "source.png")
    image.save(tmp_path / "same.bmp")
    for turn in range(7):
        image.rotate(turn * 50 + 10).save(tmp_path / f"{turn}.png")
    gauges = open_image_metrics(["clip", "clip_dir"], {"clip": str(model)})
    embeddings = FeatureCache()
    others = [MetricInputs(sample, tmp_path / f"{turn}.png") for turn in range(7)]
    evaluate_batch([MetricJob(gauges["clip_dir"], other) for other in others], embeddings)
    same = tmp_path / "same.bmp"
    assert look(gauges["clip"], sample, same, embeddings) == {"CLIP_img": pytest.approx(1.0)}
    with pytest.raises(NotMeasurable, match="has not changed"):
        look(gauges["clip_dir"], sample, same, embeddings)


def test_the_direction_is_from_the_sources_caption_to_the_targets(
    model: Path, image: Image.Image, tmp_path: Path
) -> None:
    image.save(tmp_path / "source.png")
    image.transpose(Image.Transpose.ROTATE_180).save(tmp_path / "edit.png")
    captions = {"source": "a cat", "target": "a red hat"}
    sample = Sample("s", "", tmp_path / "source.png", captions=captions)
    gauge = open_image_metrics(["clip"], {"clip": str(model)})["clip"]
    found = look(gauge, sample, tmp_path / "edit.png")
    clip = Clip(str(model))
    vectors = [vector(clip, open_image(tmp_path / name)) for name in ("source.png", "edit.png")]
    texts = [vector(clip, captions[name]) for name in ("source", "target")]
    assert found["CLIP_img"] == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)
    change, wanted = vectors[1] - vectors[0], texts[1] - texts[0]
    direction = change @ wanted / np.linalg.norm(change) / np.linalg.norm(wanted)
    assert found["CLIP_dir"] == pytest.approx(float(direction), abs=1e-5)
    without = Sample("s", "", tmp_path / "source.png")
    assert set(look(gauge, without, tmp_path / "edit.png")) == {"CLIP_img"}
    with pytest.raises(NotMeasurable):
        look(gauge, Sample("s", ""), tmp_path / "edit.png")
