"""Measurements in a run: stored like answers, made once, missing ones counted."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval import registry
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.benchmarks.clip_protocol import ClipProtocol
from creval.calls.call_session import INTERRUPTED
from creval.calls.settings import Settings
from creval.core.benchmark import Benchmark
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.images import open_image
from creval.core.probe import Measurement
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Metric, ScoreSchema
from creval.core.verdict import VerdictStatus
from creval.judging.judge_run import JudgeRun, judge
from creval.judging.measurements import MeasurementJob, _measure_batch
from creval.judging.summary import JudgeSummary
from creval.metrics import outside_boxes
from creval.metrics.base import ModelPool
from creval.metrics.clip import Clip
from creval.metrics.control_maps import GreyDistance
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureCache
from creval.metrics.metric_inputs import ImageCache, LazyImage, MetricInputs, NotMeasurable
from creval.metrics.outside_boxes import OutsideBoxes
from creval.reporting import sentences, tables
from creval.store import open_run
from creval.testing.fake_chat_server import FakeServer
from tests.commands import creval
from tests.metrics.tiny import write_clip, write_owl
from tests.serving import serving


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Four samples: a box over half the image, over all of it, no box, and a global step."""
    boxes: list[Any] = [[0, 0, 16, 32], [0, 0, 99, 99], "not detected"]
    three: dict[str, Any] = {}
    three_global: dict[str, Any] = {}
    for number in range(4):
        key = str(number + 1)
        kind = "change style" if number == 3 else "color"
        pairs = [{"edit_type": kind, "ori obj": "nothing", "new_obj": "nothing"} for _ in range(3)]
        pairs[0] |= {"ori obj": "cat", "bbox": boxes[min(number, 2)]}
        entry = {"img_path": f"{key}.jpg", "new_ins": "a\r\nb\r\nc", "edit pair": pairs}
        (three_global if number == 3 else three)[key] = entry
        image = tmp_path / "data" / "images" / f"{key}-{key}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 32)).save(image.with_suffix(".jpg"), quality=100)
    for subset, entries in (("COCO-three-obj", three), ("COCO-obj-attr-global", three_global)):
        folder = tmp_path / "data" / "instructions" / subset
        folder.mkdir(parents=True)
        (folder / "updated_final_update_v2.json").write_text(json.dumps(entries))
    return tmp_path


@pytest.fixture
def edits(tmp_path: Path) -> Path:
    folder = tmp_path / "Model"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (32, 32), (51, 51, 51)).save(folder / f"{number + 1}.png")
    return folder


def run_of(bench: Path, edits: Path, run: Path, spec: str = "", **chosen: Any) -> JudgeSummary:
    return judge(open_benchmark(bench), [edits], spec, run, Settings(**chosen))


MEASURED: dict[str, Any] = {"metrics": ("L1", "L2")}


def test_measurements_without_a_judge(bench: Path, edits: Path) -> None:
    run = bench / "run"
    done = run_of(bench, edits, run, **MEASURED)
    assert (done.expected_answers, done.measured_edits, done.share_unanswered) == (0, 1, 0.0)
    assert {reason.partition(" (")[0]: number for reason, number in done.unmeasured_reasons} == {
        "the boxes cover the whole image": 1,
        "the object to change has no box": 1,
    }
    with open_run(run) as opened:
        card = score(opened, resamples=50)
        assert [a.raw_answer for a in opened.answers() if a.raw_answer] == ["cat", "cat"]
        cell = card.cell("Model", "L1")
        assert cell.value == pytest.approx(0.2)
        assert (cell.scored, cell.total) == (1, 3), "the global sample has none"
        assert card.cell("Model", "L2").value == pytest.approx(0.04)
        assert card.cell("Model", "L1", "COCO-obj-attr-global").total == 0
        assert "Some metrics could not be measured for 2 edits" in " ".join(sentences.voice_sentences(opened, card))
        assert "measured" in sentences.basis_sentence(card, opened.manifest, 50)
        table = tables.markdown_table(card, tables.select_groups(card, ["overall"]), {})
        assert "0.2000" in table


def test_all_values_are_missing_if_nothing_can_be_measured(bench: Path, edits: Path) -> None:
    (edits / "1.png").unlink()
    done = run_of(bench, edits, bench / "run", **MEASURED)
    assert (done.measured_edits, done.failed_edits, done.share_unanswered) == (0, 0, 1.0)
    assert len(done.unmeasured_reasons) == 2
    typed = creval("judge", bench, "--edits", edits, "--run", bench / "a", "--metrics", "L1,L2")
    assert typed.returncode == 1
    assert "100.0 % of the answers are missing, more than --max-unanswered allows: exit status 1" in typed.stderr


def test_judging_and_measuring_in_either_order(bench: Path, edits: Path) -> None:
    server = FakeServer()
    with serving(server.app()) as url:
        spec = f"openai:m@{url}/v1"
        run_of(bench, edits, bench / "a", spec, metrics=("score",), batch_by="question")
        run_of(bench, edits, bench / "a", **MEASURED)
        run_of(bench, edits, bench / "b", **MEASURED)
        both = run_of(bench, edits, bench / "b", spec, batch_by="question")
        assert server.stats["requests"] == 2 * 12
        again = run_of(bench, edits, bench / "b", spec, batch_by="question")
        assert server.stats["requests"] == 2 * 12
    assert (both.expected_answers, both.unanswered, both.measured_edits) == (12, 0, 1)
    assert again.measured_edits == 1
    with open_run(bench / "a") as first, open_run(bench / "b") as second:
        assert first.manifest["judge"] == second.manifest["judge"] == "openai:m"
        one, two = (dict(run.values_by_edit()) for run in (first, second))
        assert one == two
        card = score(second, resamples=50)
        assert sum(card.table.unanswered.values()) == sum(card.table.unasked.values()) == 0
        assert not any(
            "answers to each question are missing" in note for note in sentences.voice_sentences(second, card)
        )
        assert tables.visible_columns(card) == ["score", "L1", "L2"]


def test_a_run_without_a_judge_only_measures(bench: Path, edits: Path) -> None:
    with pytest.raises(CrevalError, match="give `judge`"):
        run_of(bench, edits, bench / "run")


def test_changed_images_are_measured_again(bench: Path, edits: Path) -> None:
    run_of(bench, edits, bench / "run", **MEASURED)
    time.sleep(0.01)
    Image.new("RGB", (32, 32), (255, 255, 255)).save(edits / "1.png")
    done = run_of(bench, edits, bench / "run", **MEASURED)
    assert any("have changed" in note for note in done.notes)
    with open_run(bench / "run") as run:
        assert score(run, resamples=50).cell("Model", "L1").value == pytest.approx(1.0)


def test_an_image_that_cannot_be_opened_is_counted(bench: Path, edits: Path) -> None:
    (edits / "1.png").write_bytes(b"not an image")
    done = run_of(bench, edits, bench / "run", **MEASURED)
    assert (done.measured_edits, done.failed_edits, done.share_unanswered) == (0, 1, 1.0)
    assert any("1.png" in reason for reason, _ in done.unmeasured_reasons)


def test_values_of_different_models_are_not_mixed(bench: Path, edits: Path) -> None:
    pytest.importorskip("transformers")
    model = str(write_owl(bench / "owl"))
    run_of(bench, edits, bench / "run", **MEASURED)
    done = run_of(bench, edits, bench / "run", **MEASURED, metric_models={"boxes": model})
    assert any(note.startswith("values measured with outside are deleted") for note in done.notes)
    with open_run(bench / "run") as run:
        query = "SELECT DISTINCT judge FROM answers"
        (voice,) = [row[0] for row in run._connection.execute(query)]
        assert voice.startswith("gauge:outside@owl#")
    for wrong in ("no/such/owl", str(bench / "empty")):
        with pytest.raises(CrevalError, match=r"is neither a local folder|no folder"):
            run_of(bench, edits, bench / "run", **MEASURED, metric_models={"boxes": wrong})
    again = run_of(bench, edits, bench / "run", **MEASURED)
    assert again.measured_edits == done.measured_edits > 0, "a model that cannot be loaded drops nothing"
    with pytest.raises(CrevalError, match=r"no folder .* exists"):
        run_of(bench, edits, bench / "new", **MEASURED, metric_models={"boxes": str(bench / "empty")})
    assert run_of(bench, edits, bench / "new", **MEASURED).measured_edits == 1, "nor is it kept in mind"
    with pytest.raises(CrevalError, match="no use of a model 'box'; did you mean 'boxes'"):
        Settings(metric_models={"box": "x"})
    with pytest.raises(CrevalError, match="`metric_models` clip: none of the chosen metrics uses"):
        run_of(bench, edits, bench / "run", **MEASURED, metric_models={"clip": "x"})


def test_other_boxes_are_measured_again_and_answers_kept(bench: Path, edits: Path) -> None:
    server = FakeServer()
    with serving(server.app()) as url:
        spec = f"openai:m@{url}/v1"
        run_of(bench, edits, bench / "run", spec)
        path = bench / "data/instructions/COCO-three-obj/updated_final_update_v2.json"
        path.write_text(path.read_text().replace("[0, 0, 99, 99]", "[0, 0, 16, 32]"))
        done = run_of(bench, edits, bench / "run", spec)
        assert server.stats["requests"] == 12
    assert (done.expected_answers, done.measured_edits) == (12, 2)


class Slow(OutsideBoxes):
    """Metric that waits until all questions are answered."""

    def measure(self, exhibit: MetricInputs, made: Sequence[FeatureArray]) -> dict[str, float]:
        time.sleep(0.3)
        return super().measure(exhibit, made)


def test_measuring_keeps_the_records_of_judging(bench: Path, edits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_boxes, "OutsideBoxes", Slow)
    server = FakeServer()
    with serving(server.app()) as url:
        spec = f"openai:m@{url}/v1"
        run_of(bench, edits, bench / "run", spec)
        for path in edits.iterdir():
            Image.new("RGB", (32, 32), (9, 99, 9)).save(path)
        run_of(bench, edits, bench / "run", spec)
        assert server.stats["requests"] == 2 * 12
        run_of(bench, edits, bench / "run", spec)
        assert server.stats["requests"] == 2 * 12, "nothing has changed since"
        (edits / "2.png").write_bytes(b"not an image")
        broken = run_of(bench, edits, bench / "other", spec)
    assert broken.progress.unreadable_questions == 3
    with open_run(bench / "other") as run:
        assert run.count_unopened_images() == 1


def test_an_error_while_measuring_stops_the_run(bench: Path, edits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise CrevalError("the detector cannot be loaded")

    monkeypatch.setattr(OutsideBoxes, "measure", broken)
    with pytest.raises(CrevalError, match="cannot be loaded"):
        run_of(bench, edits, bench / "run", **MEASURED)


def test_clip_scores_on_any_dataset(miniature: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model = write_clip(tmp_path / "clip")
    benchmark = open_benchmark(miniature, "clip")
    folders = sorted((miniature / "edits").iterdir())
    settings = Settings(metric_models={"clip": str(model)}, limit=3)
    judging = JudgeRun(benchmark, folders, "", tmp_path / "run", settings)
    done = judging.run()
    assert done.measured_edits == 3 * len(folders)
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=50)
        values = [card.cell(name, "CLIP_img").value for name in card.models]
        assert all(value is not None and -1 <= value <= 1 for value in values)
        assert tables.visible_columns(card) == ["CLIP_img"]
        assert card.cell("Keeper", "CLIP_img", "Surreal Fantasy").total > 0


class Several(ClipProtocol):
    """Protocol with several metrics under its own names; one of them is not installed."""

    name = "several"
    schema = ScoreSchema(
        tuple(Metric(name, "", -1.0, 1.0) for name in ("near", "light", "sharp", "L1")), None, (OVERALL,), "near"
    )

    def probes(self, sample: Sample) -> Sequence[Measurement]:  # noqa: ARG002
        gauges = {"near": "clip_src", "light": "grey", "sharp": "imaging", "L1": "l1_src"}
        return [Measurement(metric, metric, gauge) for metric, gauge in gauges.items()]


@pytest.fixture
def several(miniature: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    registry.protocols.register("several", Several)
    monkeypatch.setitem(sys.modules, "pyiqa", None)
    return open_benchmark(miniature, "several")


def counting(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[ExtractorInput]]:
    """Count decoded files and embedded inputs."""
    opened: list[str] = []
    embedded: list[ExtractorInput] = []
    embed = Clip.extract

    def opening(path: Path) -> Image.Image:
        opened.append(str(path))
        return open_image(path)

    def embedding(self: Clip, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        embedded.extend(things)
        return embed(self, things)

    monkeypatch.setattr(ImageCache.get_image, "__defaults__", (opening,))
    monkeypatch.setattr(MetricInputs._open_input, "__defaults__", (opening,))
    monkeypatch.setattr(Clip, "extract", embedding)
    return opened, embedded


def test_every_image_is_decoded_and_embedded_once(
    several: Benchmark, miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    model = str(write_clip(tmp_path / "clip"))
    folders = sorted((miniature / "edits").iterdir())
    settings = Settings(metric_models={"clip": model})
    opened, embedded = counting(monkeypatch)
    done = judge(several, folders, "", tmp_path / "run", settings)
    files = {*(str(s.source) for s in several.dataset.samples)}
    files |= {str(path) for folder in folders for path in folder.iterdir()}
    assert sorted(opened) == sorted(files)
    contents = {Path(file).read_bytes() for file in files}
    assert len(embedded) == len(contents)
    assert done.unmeasured_reasons[0][0].startswith("MUSIQ needs pyiqa: pip install 'creval[quality]'")
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=50)
        cells = {name: card.cell("Keeper", name) for name in ("near", "light", "sharp", "L1")}
        assert cells["sharp"].value is None
        assert (cells["sharp"].scored, cells["sharp"].total) == (0, len(several.dataset.samples))
        assert all(cells[name].value is not None for name in ("near", "light", "L1"))
        before = dict(run.values_by_edit())
    (tmp_path / "run" / "creval.db").unlink()
    judge(several, folders, "", tmp_path / "run", settings)
    assert len(embedded) == len(contents), "what models made is still there"
    with open_run(tmp_path / "run") as run:
        assert dict(run.values_by_edit()) == before


def test_an_interrupted_model_finishes_its_batch(
    miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    model, seen, embed = write_clip(tmp_path / "clip"), list[ExtractorInput](), Clip.extract

    def judging() -> JudgeRun:
        settings = Settings(metric_models={"clip": str(model)})
        edits = [miniature / "edits" / "Keeper"]
        return JudgeRun(open_benchmark(miniature, "clip"), edits, "", tmp_path / "run", settings)

    def interrupting(self: Clip, things: Sequence[ExtractorInput]) -> list[FeatureArray]:
        seen.extend(things)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return embed(self, things)

    monkeypatch.setattr(Clip, "batch_size", 1)
    monkeypatch.setattr(Clip, "extract", interrupting)
    done = judging().run()
    assert (done.stopped, done.measured_edits, len(seen)) == (INTERRUPTED, 0, 2)
    done = judging().run()
    assert (done.stopped, done.measured_edits) == ("", 18)
    digests = [thing.digest for thing in seen if isinstance(thing, LazyImage)]
    assert len(digests) == len(set(digests)), "what was made before is not made again"


def test_a_changed_mask_or_reference_is_measured_again(several: Benchmark, miniature: Path, tmp_path: Path) -> None:
    mask = tmp_path / "mask.png"
    Image.new("L", (8, 8)).save(mask)
    samples = tuple(replace(s, mask=mask) for s in several.dataset.samples)
    masked = replace(several, dataset=replace(several.dataset, samples=samples))
    folders = [miniature / "edits" / "Keeper"]
    settings = Settings(metrics=("L1",), limit=2)
    judge(masked, folders, "", tmp_path / "run", settings)
    half = Image.new("L", (8, 8))
    half.paste(255, (0, 0, 4, 8))
    half.save(mask)
    done = judge(masked, folders, "", tmp_path / "run", settings)
    assert any("have changed since" in note for note in done.notes)


class Both(GreyDistance):
    """Metric that returns one of two expected values."""

    def measure(self, exhibit: MetricInputs, made: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"near": 0.75}


def test_values_of_one_metric_are_matched_by_name(edits: Path) -> None:
    probes = Measurement("near", "SRC", "both"), Measurement("far", "SRC", "both")
    edit = Edit(EditKey("Model", "1"), EditStatus.DONE, edits / "1.png")
    work = MeasurementJob(Both(ModelPool()), Sample("1", "do"), edit, probes)
    ((found, _, _),) = _measure_batch([work], ImageCache(), FeatureCache())
    near, far = found
    assert (near.probe, near.value) == ("near", 0.75)
    assert (far.probe, far.status, far.value) == ("far", VerdictStatus.INAPPLICABLE, None)


def test_a_failed_value_does_not_affect_the_others(edits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(*_: object) -> None:
        raise NotMeasurable("it is too far", values={"near": 0.75})

    monkeypatch.setattr(Both, "measure", measured)
    probes = Measurement("near", "SRC", "both"), Measurement("far", "SRC", "both")
    edit = Edit(EditKey("Model", "1"), EditStatus.DONE, edits / "1.png")
    ((found, _, _),) = _measure_batch(
        [MeasurementJob(Both(ModelPool()), Sample("1", "do"), edit, probes)], ImageCache(), FeatureCache()
    )
    near, far = found
    assert (near.status, near.value) == (VerdictStatus.ANSWERED, 0.75)
    assert (far.status, far.value) == (VerdictStatus.INAPPLICABLE, None)
    assert far.explanation == "it is too far"


def test_a_value_that_is_not_finite_is_missing(edits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Both, "measure", lambda *_: {"near": float("nan")})
    edit = Edit(EditKey("Model", "1"), EditStatus.DONE, edits / "1.png")
    work = MeasurementJob(Both(ModelPool()), Sample("1", "do"), edit, (Measurement("near", "SRC", "both"),))
    ((found, _, _),) = _measure_batch([work], ImageCache(), FeatureCache())
    (near,) = found
    assert (near.status, near.value) == (VerdictStatus.FAILED, None)
    assert near.explanation == "the model returned no finite number"
