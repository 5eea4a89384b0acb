"""Tests of metrics with the real libraries, if they are installed.

The libraries' networks are randomly initialised and saved in the format in which they are published.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from tests.metrics.evaluating import look
from tests.metrics.images import noise, slope
from tests.metrics.tiny_files import write_random_openpose

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_imaging_is_what_pyiqa_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyiqa = pytest.importorskip("pyiqa")
    from pyiqa.archs.musiq_arch import MUSIQ  # type: ignore[import-not-found,unused-ignore]

    torch.manual_seed(0)
    path = tmp_path / "musiq_koniq_ckpt-e95806b9.pth"
    torch.save(MUSIQ(pretrained=False).state_dict(), path)
    edit = noise(3, (120, 90))
    edit.save(tmp_path / "edit.png")
    capsys.readouterr()
    (gauge,) = open_image_metrics(["imaging"], {"imaging": str(tmp_path)}).values()
    found = look(gauge, Sample("s", ""), tmp_path / "edit.png")
    assert capsys.readouterr().out == "", "standard output is for values"
    tall = edit.resize((round(120 * 1024 / 90), 1024), Image.Resampling.BICUBIC)
    pixels = torch.from_numpy(np.asarray(tall, dtype=np.float32).transpose(2, 0, 1)[None] / 255)
    metric = pyiqa.create_metric("musiq", pretrained_model_path=str(path), device="cpu")
    assert found == {"imaging": pytest.approx(float(metric(pixels)), abs=1e-4)}


def test_pose_is_what_openpose_draws(tmp_path: Path) -> None:
    poses = pytest.importorskip("controlnet_aux")
    write_random_openpose(tmp_path)
    edit, control = noise(3, (96, 64)), slope((96, 64))
    edit.save(tmp_path / "edit.png")
    control.save(tmp_path / "control.png")
    (gauge,) = open_image_metrics(["pose"], {"pose": str(tmp_path)}).values()
    sample = Sample("s", "", tmp_path / "control.png")
    found = look(gauge, sample, tmp_path / "edit.png")
    detector = poses.OpenposeDetector.from_pretrained(str(tmp_path))
    drawn = detector(edit, detect_resolution=64, image_resolution=64, include_hand=True)
    images = (drawn.resize((96, 64)), control)
    drawing, wanted = (np.asarray(image.convert("L"), float) for image in images)
    assert found == {"pose": pytest.approx(np.abs(drawing - wanted).mean() / 255)}


def test_lpips_is_what_its_package_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lpips = pytest.importorskip("lpips")
    torchvision = pytest.importorskip("torchvision")
    torch.manual_seed(0)
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    weights = torchvision.models.alexnet().state_dict()
    torch.save(weights, tmp_path / "hub" / "checkpoints" / "alexnet-owt-7be5be79.pth")
    source, edit = slope((96, 70)), noise(3, (96, 70))
    source.save(tmp_path / "source.png")
    edit.save(tmp_path / "edit.png")
    (gauge,) = open_image_metrics(["lpips"], {}).values()
    found = look(gauge, Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
    network = lpips.LPIPS(net="alex", verbose=False)
    first, second = (torch.tensor(np.asarray(of)).permute(2, 0, 1)[None] / 255 for of in (edit, source))
    assert found == {"lpips": pytest.approx(float(network(first, second, normalize=True)), abs=1e-5)}


def test_hps_is_what_its_package_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hpsv2.src.open_clip")
    from hpsv2.src.open_clip import create_model_and_transforms, factory, get_tokenizer  # type: ignore[import-not-found,unused-ignore]

    tiny = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 28, "layers": 2, "width": 32, "head_width": 16, "patch_size": 14},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
    }
    monkeypatch.setitem(factory._MODEL_CONFIGS, "ViT-H-14", tiny)
    torch.manual_seed(0)
    model, _, preprocess = create_model_and_transforms("ViT-H-14", light_augmentation=True, output_dict=True)
    torch.save({"state_dict": model.state_dict()}, tmp_path / "HPS_v2.1_compressed.pt")
    edit = noise(3, (96, 70))
    edit.save(tmp_path / "edit.png")
    (gauge,) = open_image_metrics(["hps"], {"hps": str(tmp_path)}).values()
    found = look(gauge, Sample("s", "", captions={"target": "a red cat"}), tmp_path / "edit.png")
    with torch.inference_mode():
        made = model.eval()(preprocess(edit)[None], get_tokenizer("ViT-H-14")(["a red cat"]))
    expected = float(torch.diagonal(made["image_features"] @ made["text_features"].T))
    assert found == {"hps": pytest.approx(expected, abs=1e-5)}


def test_dreamsim_is_what_its_package_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("dreamsim")
    import peft  # type: ignore[import-not-found,unused-ignore]
    from dreamsim.feature_extraction.vision_transformer import vit_base  # type: ignore[import-not-found,unused-ignore]
    from dreamsim.model import PerceptualModel, dreamsim_args  # type: ignore[import-not-found,unused-ignore]

    torch.manual_seed(0)
    folder, variant = tmp_path / "dreamsim", "open_clip_vitb32"
    folder.mkdir()
    network = vit_base(patch_size=32)
    network.pos_drop = torch.nn.LayerNorm(network.embed_dim)
    weights = {**network.state_dict(), "proj": torch.randn(768, 512) * 0.03}
    torch.save({"state_dict": weights}, folder / f"{variant}_pretrain.pth.tar")
    given = {**dreamsim_args["model_config"][variant], "device": "cpu", "load_dir": str(folder)}
    adapter = peft.LoraConfig(r=4, lora_alpha=4, lora_dropout=0.0, bias="none", target_modules=["qkv"])
    adapted = peft.get_peft_model(PerceptualModel(**given, normalize_embeds=True), adapter)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.05)
    adapted.save_pretrained(str(folder / f"{variant}_single_lora"))
    monkeypatch.setenv("CREVAL_CACHE", str(tmp_path))
    source, edit = slope((96, 70)), noise(3, (60, 50))
    source.save(tmp_path / "source.png")
    edit.save(tmp_path / "edit.png")
    (gauge,) = open_image_metrics(["dreamsim"], {"dreamsim": variant}).values()
    found = look(gauge, Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
    model, preprocess = library.dreamsim(device="cpu", cache_dir=str(folder), dreamsim_type=variant)
    with torch.inference_mode():
        expected = float(model(preprocess(source), preprocess(edit)))
    assert found == {"dreamsim": pytest.approx(expected, abs=1e-5)}
