"""Models of a run's metrics: stored, used again, and distinguished."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from creval import registry
from creval.benchmarks import open_benchmark
from creval.benchmarks.clip_protocol import ClipProtocol
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.core.probe import Measurement
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Metric, ScoreSchema
from creval.judging.judge_run import JudgeRun, judge
from creval.store import RunWriter, open_run
from tests.metrics.tiny import write_clip


def test_other_weights_in_the_same_folder_are_measured_again(miniature: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model = write_clip(tmp_path / "clip")
    settings = Settings(metric_models={"clip": str(model)}, limit=2)
    folders = [miniature / "edits" / "Keeper"]

    def measured() -> tuple[list[str], list[float | None]]:
        done = judge(open_benchmark(miniature, "clip"), folders, "", tmp_path / "run", settings)
        with open_run(tmp_path / "run") as run:
            return list(done.notes), [answer.value for answer in run.answers()]

    notes, before = measured()
    assert measured() == (notes, before)
    for file in model.iterdir():
        file.touch()
    settings = replace(settings, metric_models={})
    assert measured() == (notes, before), "without a word, it goes on with the same"
    moved = Path(shutil.copytree(model, tmp_path / "else" / "clip"))
    shutil.rmtree(model)
    with pytest.raises(CrevalError, match="which does not exist"):
        measured()
    settings = replace(settings, metric_models={"clip": str(moved)})
    assert measured() == (notes, before), "wherever it lies"
    write_clip(moved, hidden_size=24, num_attention_heads=3)
    notes, after = measured()
    assert any(note.startswith("values measured with clip@clip#") for note in notes)
    assert len(after) == len(before)
    assert after != before


class Two(ClipProtocol):
    """Protocol with two metrics that share a model."""

    name = "two"
    schema = ScoreSchema((Metric("near", "", -1.0, 1.0), Metric("CLIP_img", "", -1.0, 1.0)), None, (OVERALL,), "near")

    def probes(self, sample: Sample) -> Sequence[Measurement]:  # noqa: ARG002
        gauges = {"near": "clip_src", "CLIP_img": "clip"}
        return [Measurement(metric, metric, gauge) for metric, gauge in gauges.items()]


def test_a_model_is_stored_for_all_metrics_that_share_it(miniature: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    registry.protocols.register("two", Two)
    model = write_clip(tmp_path / "clip")
    folders, run = [miniature / "edits" / "Keeper"], tmp_path / "run"

    def judging(metric: str, **gauges: str) -> JudgeRun:
        settings = Settings(metrics=(metric,), limit=2, metric_models=gauges)
        return JudgeRun(open_benchmark(miniature, "two"), folders, "", run, settings)

    def voices() -> list[str]:
        with RunWriter(run) as store:
            return sorted(voice.partition("#")[0] for voice in store.voices)

    with pytest.raises(CrevalError, match=r"no folder .* exists"):
        judging("near", clip=str(tmp_path / "none")).run()
    judging("near", clip=str(model)).run()
    with pytest.raises(CrevalError, match=r"no folder .* exists"):
        judging("CLIP_img", clip=str(tmp_path / "none")).run()
    further = judging("CLIP_img")
    assert further.warnings() == [f"measured as before with `metric_models` clip={model}"]
    assert further.run().measured_edits == 2
    assert voices() == ["gauge:clip@clip", "gauge:clip_src@clip"]
    with RunWriter(run) as store, store.transaction():
        store.put_manifest({"gauge_models": {"clip": str(model), "boxes": "/no/owl"}})
    assert judging("near").warnings() == [f"measured as before with `metric_models` clip={model}"]
    for damaged in (["clip"], {"clip": 3}):
        with RunWriter(run) as store, store.transaction():
            store.put_manifest({"gauge_models": damaged})
        with pytest.raises(CrevalError, match="the models of its metrics are unknown"):
            judging("near")
