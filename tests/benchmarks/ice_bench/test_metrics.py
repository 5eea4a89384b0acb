"""Tests of ICE-Bench with its own metrics, on tiny models and with fakes of two libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.store import open_run
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.made import write_models
from tests.benchmarks.ice_bench.release_files import write_edits, write_release
from tests.benchmarks.ice_bench.sheet import compared
from tests.metrics import tiny, tiny_files
from tests.metrics.test_external import Drawing, module
from tests.serving import serving

pytest.importorskip("transformers")
pytest.importorskip("insightface")
pytestmark = pytest.mark.filterwarnings("ignore:`estimate` is deprecated:FutureWarning")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    pytest.importorskip("torch").set_num_threads(1)
    folder = tmp_path_factory.mktemp("models")
    made = {
        "clip": tiny.write_clip(folder / "clip"),
        "subject": tiny.write_dino(folder / "dino"),
        "siglip": tiny.write_siglip(folder / "siglip"),
        "depth": tiny.write_depth(folder / "depth"),
        "style": tiny_files.write_csd(folder / "csd_vit_l.pth"),
        "aesthetic": tiny_files.write_aesthetic_head(folder / "aesthetic_predictor_v2_5.pth"),
        "face": tiny_files.write_faces(folder / "buffalo_l"),
    }
    return {use: str(path) for use, path in made.items()}


def test_the_whole_way_with_what_is_here(
    models: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("pyiqa", "controlnet_aux"):
        monkeypatch.setitem(sys.modules, library, None)
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "results" / "Model")
    benchmark = open_benchmark(release)
    with serving(FakeServer().app()) as url:
        done = judge(benchmark, [edits], f"openai:m@{url}/v1", tmp_path / "run", Settings(metric_models=models))
    reasons = {reason.partition(":")[0]: number for reason, number in done.unmeasured_reasons}
    assert reasons == {"MUSIQ needs pyiqa": 31, "OpenPose needs controlnet_aux": 1}
    with open_run(tmp_path / "run") as run:
        raw = {(a.edit.sample, a.probe): a.value for a in run.answers()}
        samples = {sample.tags["task"]: sample for sample in run.samples.values()}
        found = {task.number: samples[task.name].id for task in TASKS.values()}
        measured = {probe for (_, probe), value in raw.items() if value is not None}
        assert measured >= {
            "aesthetic",
            "clip_cap",
            "clip_src",
            "l1_src",
            "face",
            "subject",
            "style",
            "depth",
            "canny",
            "grey",
            "ssim",
            "colorfulness",
        }
        assert raw[found[1], "imaging"] is None
        assert raw[found[23], "pose"] is None
        card = score(run, resamples=50)
        assert card.cell("Model", "AES", "Inpainting").value == pytest.approx((raw[found[17], "aesthetic"] or 0) / 10)
        assert card.cell("Model", "IMG", "Inpainting").value is None
        assert card.cell("Model", "score", "Inpainting").value is None
        sample = samples["Inpainting"]
        assert sample.source is not None
        assert sample.mask is not None
        images = (sample.source, edits / "images" / f"{sample.id}.png", sample.mask)
        source, edit, mask = (np.asarray(Image.open(path).convert("RGB")) for path in images)
        outside = mask[..., 0] <= 128
        apart = np.abs(source[outside].astype(float) - edit[outside]).mean() / 255
        assert raw[sample.id, "l1_src"] == pytest.approx(apart)


def test_three_of_each_task_the_whole_way(
    models: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_metric(*_: object, **__: object) -> Any:
        return lambda pixels: 100 * pixels.std()

    module(monkeypatch, "pyiqa", create_metric=create_metric)
    module(monkeypatch, "controlnet_aux", OpenposeDetector=Drawing)
    release = write_release(tmp_path / "ICE", each=3)
    able = {"Everything": frozenset(range(1, 32)), "Steered": frozenset({4, 23, 24, 25, 26, 27})}
    folders = write_models(release, tmp_path / "results", able)
    given = Settings(metric_models={**models, "pose": str(tiny_files.write_poses(tmp_path / "openpose"))})
    with serving(FakeServer().app()) as url:
        done = judge(open_benchmark(release), folders, f"openai:m@{url}/v1", tmp_path / "run", given)
    assert done.unmeasured_reasons == []
    with open_run(tmp_path / "run") as run:
        assert compared(run, able, each=3) == 207 + 51
