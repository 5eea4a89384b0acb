"""Tests of metrics with tiny models with random weights in their real formats.

The values are compared with plain implementations of the same computations.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.metrics.base import ImageMetric, open_image_metrics
from creval.metrics.batch import MetricJob, evaluate_batch
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureCache, FeatureExtractor
from creval.metrics.metric_inputs import MetricInputs, NonFiniteResult, NotMeasurable
from creval.metrics.model_loading import files_digest
from creval.providers.huggingface import DependencyMissing
from creval.store.feature_cache_file import FeatureCacheFile
from tests.metrics import tiny, tiny_files
from tests.metrics.evaluating import look, shown
from tests.metrics.images import noise, slope

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
save_file = pytest.importorskip("safetensors.torch").save_file
functional = torch.nn.functional
SIZES = [(60, 40), (33, 90), (64, 64), (31, 17)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models")
    made = {
        "clip": tiny.write_clip(folder / "clip"),
        "subject": tiny.write_dino(folder / "dino"),
        "style": tiny_files.write_csd(folder / "csd_vit_l.pth"),
        "siglip": tiny.write_siglip(folder / "siglip"),
        "aesthetic": tiny_files.write_aesthetic_head(folder / "aesthetic_predictor_v2_5.pth"),
        "depth": tiny.write_depth(folder / "depth"),
    }
    return {use: str(path) for use, path in made.items()}


@pytest.fixture
def images(tmp_path: Path) -> list[Path]:
    """Return edits of several sizes. The first is also source and reference."""
    paths = []
    for at, size in enumerate(SIZES):
        paths.append(tmp_path / f"{at}.png")
        (slope(size) if at % 2 else noise(at, size)).save(paths[-1])
    return paths


def sample_of(images: list[Path], mask: Path | None = None) -> Sample:
    captions = {"source": "a cat", "target": "a red hat"}
    return Sample("s", "", images[0], mask=mask, references=(images[0],), captions=captions)


def opened(name: str, models: Mapping[str, str]) -> ImageMetric:
    return open_image_metrics([name], models)[name]


def rgb(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")


def unit(values: Any) -> Any:
    return functional.normalize(values, dim=-1)


@pytest.mark.parametrize("name", ["clip_cap", "clip_src", "clip_dir", "subject", "style", "aesthetic", "depth"])
def test_together_as_alone(name: str, models: dict[str, str], images: list[Path]) -> None:
    sample, edits = sample_of(images), images[1:]
    gauge = opened(name, models)
    together = evaluate_batch([MetricJob(gauge, MetricInputs(sample, edit)) for edit in edits], FeatureCache())
    for edit, found in zip(edits, together, strict=True):
        assert not isinstance(found, Exception)
        assert found == pytest.approx(look(opened(name, models), sample, edit), abs=1e-5)
        assert set(found) == {name}


def test_clip_is_that_of_transformers(models: dict[str, str], images: list[Path]) -> None:
    processor = transformers.AutoProcessor.from_pretrained(models["clip"])
    model = transformers.AutoModel.from_pretrained(models["clip"]).eval()
    sample = sample_of(images)
    inputs = processor(
        text=list(sample.captions.values()),
        images=[rgb(path) for path in images[:2]],
        padding=True,
        return_tensors="pt",
    )
    with torch.inference_mode():
        made = model(**inputs)
    (source, edit), (before, after) = made.image_embeds, made.text_embeds
    expected = {
        "clip_cap": float(edit @ after),
        "clip_src": float(edit @ source),
        "clip_dir": float(unit(edit - source) @ unit(after - before)),
    }
    for name, value in expected.items():
        assert look(opened(name, models), sample, images[1])[name] == pytest.approx(value, abs=1e-5)


def test_gauges_that_share_a_model_cost_it_once(
    models: dict[str, str], images: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from creval.metrics.clip import Clip

    seen: list[ExtractorInput] = []
    embed = Clip.extract

    def counted(self: Clip, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        seen.extend(things)
        return embed(self, things)

    monkeypatch.setattr(Clip, "extract", counted)
    gauges = open_image_metrics(["clip", "clip_cap", "clip_dir", "clip_src"], models)
    sample = sample_of(images)
    jobs = [MetricJob(g, MetricInputs(sample, edit)) for edit in images[1:] for g in gauges.values()]
    assert not any(isinstance(one, Exception) for one in evaluate_batch(jobs, FeatureCache()))
    # Three edits, a source and two captions.
    assert len(seen) == 4 + 2


def test_subject_is_the_mean_of_all_tokens(models: dict[str, str], images: list[Path], tmp_path: Path) -> None:
    processor = transformers.AutoImageProcessor.from_pretrained(models["subject"])
    model = transformers.AutoModel.from_pretrained(models["subject"]).eval()

    def vector(image: Image.Image) -> Any:
        with torch.inference_mode():
            made = model(**processor(images=image, return_tensors="pt"))
        return unit(made.last_hidden_state.mean(dim=1)[0])

    gauge = opened("subject", models)
    found = look(gauge, sample_of(images), images[1])["subject"]
    assert found == pytest.approx(float(vector(rgb(images[0])) @ vector(rgb(images[1]))), abs=1e-5)
    mask = Image.new("L", SIZES[1])
    mask.paste(255, (0, 0, 20, 50))
    mask.save(tmp_path / "mask.png")
    pixels = np.asarray(rgb(images[1])).copy()
    pixels[np.asarray(mask) <= 128] = 255
    found = look(gauge, sample_of(images, tmp_path / "mask.png"), images[1])["subject"]
    expected = float(vector(rgb(images[0])) @ vector(Image.fromarray(pixels)))
    assert found == pytest.approx(expected, abs=1e-5)
    Image.new("L", SIZES[1]).save(tmp_path / "mask.png")
    with pytest.raises(NotMeasurable, match="the mask marks no region"):
        look(gauge, sample_of(images, tmp_path / "mask.png"), images[1])


def test_aesthetic_is_a_siglip_and_a_head(models: dict[str, str], images: list[Path]) -> None:
    processor = transformers.AutoImageProcessor.from_pretrained(models["siglip"])
    model = transformers.AutoModel.from_pretrained(models["siglip"]).eval()
    linear = torch.nn.Linear
    head = torch.nn.Module()
    head.scoring_head = torch.nn.Sequential(
        linear(16, 1024),
        torch.nn.Dropout(0.5),
        linear(1024, 128),
        torch.nn.Dropout(0.5),
        linear(128, 64),
        torch.nn.Dropout(0.5),
        linear(64, 16),
        torch.nn.Dropout(0.2),
        linear(16, 1),
    )
    head.load_state_dict(torch.load(models["aesthetic"]), strict=True)
    head.eval()
    for path in images:
        image = rgb(path)
        image = image.resize((int(image.width * 1024 / image.height), 1024))
        with torch.inference_mode():
            made = model.vision_model(**processor(images=image, return_tensors="pt")).pooler_output
            expected = float(head.scoring_head(unit(made)))
        found = look(opened("aesthetic", models), Sample("s", ""), path)
        assert found == {"aesthetic": pytest.approx(expected, abs=1e-3)}


def test_heads_that_are_none_get_a_sentence(models: dict[str, str], images: list[Path], tmp_path: Path) -> None:
    def trying(head: Path | None) -> ImageMetric:
        given = {k: v for k, v in models.items() if k != "aesthetic"}
        return opened("aesthetic", given | ({"aesthetic": str(head)} if head else {}))

    sample = Sample("s", "")
    with pytest.raises(DependencyMissing, match=r"download aesthetic_predictor_v2_5\.pth"):
        look(trying(None), sample, images[0])
    with pytest.raises(CrevalError, match="no file or folder"):
        look(trying(tmp_path / "absent.pth"), sample, images[0])
    with pytest.raises(CrevalError, match="contains none of"):
        look(trying(tmp_path), sample, images[0])
    (tmp_path / "broken.pth").write_bytes(b"PK nothing")
    with pytest.raises(CrevalError, match="cannot be loaded"):
        look(trying(tmp_path / "broken.pth"), sample, images[0])
    torch.save({"scoring_head.0.weight": torch.ones(3, 16)}, tmp_path / "other.pth")
    with pytest.raises(CrevalError, match="not a head of Aesthetic"):
        look(trying(tmp_path / "other.pth"), sample, images[0])
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(CrevalError, match="does not contain named weights"):
        look(trying(tmp_path / "list.pth"), sample, images[0])
    tiny_files.write_aesthetic_head(tmp_path / "wide.pth", 20)
    with pytest.raises(CrevalError, match="vectors of 20 values"):
        look(trying(tmp_path / "wide.pth"), sample, images[0])


def test_an_image_too_wide_to_be_scaled(models: dict[str, str], tmp_path: Path) -> None:
    Image.new("RGB", (20_000, 1)).save(tmp_path / "edit.png")
    Image.new("RGB", (1, 3000)).save(tmp_path / "narrow.png")
    with pytest.raises(NotMeasurable, match="too wide"):
        look(opened("aesthetic", models), Sample("s", ""), tmp_path / "edit.png")
    assert look(opened("aesthetic", models), Sample("s", ""), tmp_path / "narrow.png")


@pytest.mark.parametrize("name", ["clip_src", "subject", "style"])
def test_an_image_too_long_to_be_seen_costs_only_itself(
    name: str, models: dict[str, str], images: list[Path], tmp_path: Path
) -> None:
    Image.new("RGB", (1, 400_000)).save(tmp_path / "long.png")
    gauge, sample = opened(name, models), sample_of(images)
    jobs = [MetricJob(gauge, MetricInputs(sample, edit)) for edit in (images[1], tmp_path / "long.png")]
    good, bad = evaluate_batch(jobs, FeatureCache())
    assert not isinstance(good, Exception)
    assert isinstance(bad, NotMeasurable)
    assert "extreme aspect ratio" in str(bad)


def plain_csd(weights: Mapping[str, Any], image: Image.Image) -> Any:
    """Compute CLIP's vision transformer step by step: pre-norm blocks, two heads, x * sigmoid(1.702 x)."""
    side, heads = 24, 2

    def get(name: str) -> Any:
        return weights[f"module.backbone.{name}"]

    short = min(image.size)
    size = int(side * image.width / short), int(side * image.height / short)
    image = image.resize(size, Image.Resampling.BICUBIC)
    left, top = round((size[0] - side) / 2.0), round((size[1] - side) / 2.0)
    pixels = np.asarray(image.crop((left, top, left + side, top + side)), dtype=np.float64) / 255
    pixels = (pixels - [0.48145466, 0.4578275, 0.40821073]) / [0.26862954, 0.26130258, 0.27577711]
    x = torch.tensor(pixels, dtype=torch.float32).permute(2, 0, 1)[None]
    x = functional.conv2d(x, get("conv1.weight"), stride=8).flatten(2).transpose(1, 2)[0]
    x = torch.cat([get("class_embedding")[None], x]) + get("positional_embedding")

    def norm(of: Any, name: str) -> Any:
        return functional.layer_norm(of, of.shape[-1:], get(f"{name}.weight"), get(f"{name}.bias"))

    x = norm(x, "ln_pre")
    for layer in range(2):
        at = f"transformer.resblocks.{layer}"
        y = norm(x, f"{at}.ln_1")
        attended, _ = functional.multi_head_attention_forward(
            y[:, None],
            y[:, None],
            y[:, None],
            y.shape[1],
            heads,
            get(f"{at}.attn.in_proj_weight"),
            get(f"{at}.attn.in_proj_bias"),
            None,
            None,
            False,
            0.0,
            get(f"{at}.attn.out_proj.weight"),
            get(f"{at}.attn.out_proj.bias"),
        )
        x = x + attended[:, 0]
        y = norm(x, f"{at}.ln_2")
        y = functional.linear(y, get(f"{at}.mlp.c_fc.weight"), get(f"{at}.mlp.c_fc.bias"))
        y = y * torch.sigmoid(1.702 * y)
        x = x + functional.linear(y, get(f"{at}.mlp.c_proj.weight"), get(f"{at}.mlp.c_proj.bias"))
    return unit(norm(x[0], "ln_post") @ weights["module.last_layer_style"])


def test_style_is_csd_step_by_step(models: dict[str, str], images: list[Path]) -> None:
    weights = torch.load(models["style"])["model_state_dict"]
    reference = plain_csd(weights, rgb(images[0]))
    for path in images[1:]:
        expected = float(reference @ plain_csd(weights, rgb(path)))
        found = look(opened("style", models), sample_of(images), path)
        assert found == {"style": pytest.approx(expected, abs=1e-4)}


def test_checkpoints_that_hold_more_than_weights(images: list[Path], tmp_path: Path) -> None:
    good = tiny_files.write_csd(tmp_path / "a.pth", args=Namespace(lr=0.1))
    assert look(opened("style", {"style": str(good)}), sample_of(images), images[1])
    bad = tiny_files.write_csd(tmp_path / "b.pth", trainer=Path("x"))
    with pytest.raises(CrevalError, match="cannot be loaded"):
        look(opened("style", {"style": str(bad)}), sample_of(images), images[1])
    torch.save({"module.last_layer_style": torch.ones(2, 2)}, tmp_path / "c.pth")
    with pytest.raises(CrevalError, match="not a CSD checkpoint"):
        look(opened("style", {"style": str(tmp_path / "c.pth")}), sample_of(images), images[1])


def test_depth_is_stretched_and_compared(models: dict[str, str], images: list[Path]) -> None:
    processor = transformers.AutoImageProcessor.from_pretrained(models["depth"])
    model = transformers.AutoModelForDepthEstimation.from_pretrained(models["depth"]).eval()
    source, edit = rgb(images[0]), rgb(images[1])
    edit = edit.resize(source.size, Image.Resampling.BICUBIC)
    with torch.inference_mode():
        made = model(**processor(images=edit, return_tensors="pt"))
    (found,) = processor.post_process_depth_estimation(made, [(source.height, source.width)])
    depth = found["predicted_depth"].numpy().astype(np.float64)
    depth = np.floor((depth - depth.min()) / (depth.max() - depth.min()) * 255)
    expected = np.abs(depth - np.asarray(source.convert("L"), dtype=np.float64)).mean() / 255
    measured = look(opened("depth", models), sample_of(images), images[1])
    # A value between two integers may be truncated to either.
    assert measured == {"depth": pytest.approx(expected, abs=0.002)}


def test_depth_is_seen_in_batches_and_kept(
    models: dict[str, str], images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from creval.metrics.depth import DepthModel

    seen: list[int] = []
    embed = DepthModel.extract

    def counted(self: DepthModel, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        seen.append(len(things))
        return embed(self, things)

    monkeypatch.setattr(DepthModel, "extract", counted)
    edits = images[1:]

    def all_of(source: Path) -> list[Any]:
        vectors, gauge = FeatureCacheFile(tmp_path), opened("depth", models)
        jobs = [MetricJob(gauge, MetricInputs(Sample("s", "", source), edit)) for edit in edits]
        found = evaluate_batch(jobs, FeatureCache(vectors))
        vectors.close()
        return found

    first = all_of(images[0])
    assert all_of(images[0]) == first
    assert seen == [3], "the second evaluation uses the cache"
    assert all_of(images[3]) != first
    assert seen == [3, 3], "another control is another cache entry"
    assert (tmp_path / "vectors.db").stat().st_size < 50_000


def test_images_that_a_model_sees_in_their_own_shapes() -> None:
    from creval.metrics.depth import _predict_depths

    seen: list[tuple[int, ...]] = []

    def processor(images: Image.Image, return_tensors: str) -> dict[str, Any]:
        assert return_tensors == "pt"
        return {"pixel_values": torch.tensor(np.asarray(images, dtype=np.float32))[None]}

    class Depth:
        device = "cpu"

        def __call__(self, pixel_values: Any) -> Any:
            seen.append(tuple(pixel_values.shape))
            return Namespace(predicted_depth=pixel_values.mean(dim=-1))

    images = [noise(at, size) for at, size in enumerate([(9, 4), (3, 5), (9, 4), (3, 5), (2, 2)])]
    found = _predict_depths(processor, Depth(), images)
    assert seen == [(2, 4, 9, 3), (2, 5, 3, 3), (1, 2, 2, 3)]
    for image, depth in zip(images, found, strict=True):
        assert np.allclose(depth.numpy(), np.asarray(image, dtype=np.float32).mean(axis=-1))


def test_an_unavailable_model_is_missing_by_default_and_an_error_if_chosen(
    images: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for name in ("clip_src", "subject", "style", "depth"):
        gauge = opened(name, {})
        for _ in range(2):
            with pytest.raises(DependencyMissing, match="nor in the download cache"):
                look(gauge, sample_of(images), images[1])
        (use,) = (model.slot for model in gauge.info.models)
        with pytest.raises(CrevalError) as raised:
            look(opened(name, {use: str(tmp_path / "absent")}), sample_of(images), images[1])
        assert not isinstance(raised.value, DependencyMissing)
        with pytest.raises(CrevalError, match="nor in the download cache") as raised:
            look(opened(name, {use: "models/typo"}), sample_of(images), images[1])
        assert not isinstance(raised.value, DependencyMissing)


def test_a_model_that_gives_no_number(images: list[Path], tmp_path: Path) -> None:
    model = tiny.write_clip(tmp_path / "clip")
    for value in (float("nan"), 0.0):
        broken = transformers.CLIPModel.from_pretrained(model)
        with torch.no_grad():
            broken.visual_projection.weight[:] = value
        broken.save_pretrained(model)
        for name in ("clip_src", "clip_dir", "clip"):
            with pytest.raises(NonFiniteResult, match="returned no finite number"):
                look(opened(name, {"clip": str(model)}), sample_of(images), images[1])


def test_a_depth_that_is_no_number(images: list[Path], tmp_path: Path) -> None:
    from creval.metrics.depth import DepthModel

    model = tiny.write_depth(tmp_path / "depth")
    broken = transformers.DPTForDepthEstimation.from_pretrained(model)
    with torch.no_grad():
        broken.head.head[0].weight[:] = float("nan")
    broken.save_pretrained(model)
    with pytest.raises(NonFiniteResult, match="returned no finite number"):
        look(opened("depth", {"depth": str(model)}), sample_of(images), images[1])
    with pytest.raises(CrevalError, match="returned no finite number"):
        DepthModel(str(model)).estimate_depth(rgb(images[1]))


def test_the_name_tells_the_models_and_the_state_of_their_files(models: dict[str, str], tmp_path: Path) -> None:
    names = set()
    for width in (16, 16, 20):  # the second has the same content, written later
        head = tiny_files.write_aesthetic_head(tmp_path / "head.pth", width)
        names.add(opened("aesthetic", models | {"aesthetic": str(head)}).name)
    assert len(names) == 2
    shown = re.compile(r"aesthetic@head\.pth#[0-9a-f]{8}\+siglip#[0-9a-f]{8}")
    assert all(map(shown.fullmatch, names)), "names do not depend on the path"
    assert opened("aesthetic", {}).name == "aesthetic@google/siglip-so400m-patch14-384"
    assert opened("clip", {}).name == "clip@openai/clip-vit-large-patch14-336"
    assert opened("clip", {"clip": "org/name"}).name == "clip@org/name"


def test_a_changed_model_is_another(tmp_path: Path) -> None:
    from creval.metrics.subject import Dino

    folder = tiny.write_dino(tmp_path / "dino")
    before: FeatureExtractor = Dino(str(folder))
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert Dino(str(folder)).name != before.name
    assert before.extract([shown(noise(1, (40, 40)))])[0].shape == (16,)


@pytest.mark.parametrize("large", [False, True])
def test_a_model_of_which_one_layer_was_trained_further_is_another(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:  # as if the file were
        monkeypatch.setattr("creval.core.file_digest._TAIL_BYTES", 1 << 20)
    weights = {f"layer{at}": torch.full((512, 1024), float(at)) for at in range(8)}
    weights |= {"projection": torch.ones(384, 256), "bias": torch.ones(16)}
    plain, zipped = tmp_path / "model.safetensors", tmp_path / "model.pth"
    states = []
    for changed in (None, None, "layer3", "projection", "bias"):
        if changed:
            weights[changed] = weights[changed] * 1.5
        save_file(weights, plain)
        torch.save(weights, zipped)
        states.append((files_digest(str(plain)), files_digest(str(zipped))))
    first, again, *others = states
    assert again == first
    told = len({one for one, _ in (first, *others)})
    assert told >= 3 if large else told == 4, "in a large file, a change in a layer of 384 KB or more is detected"
    assert len({one for _, one in (first, *others)}) == 4, "PyTorch's files contain checksums"
