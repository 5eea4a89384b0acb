"""Tests of `creval metrics` and `creval measure` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval import registry
from creval.metrics.base import MODEL_SLOTS, image_metric_class
from tests.commands import creval, parsed, right, wrong
from tests.metrics.images import drawn, noise, slope
from tests.metrics.tiny import write_clip


def test_metrics_are_listed_with_their_requirements() -> None:
    shown = right("gauges")
    found = {gauge["name"]: gauge for gauge in parsed("gauges")["gauges"]}
    assert list(found) == list(registry.metrics.names())
    for name, gauge in found.items():
        assert name in shown
        assert gauge["values"]
        assert isinstance(gauge["ready"], bool)
        for model in gauge["models"]:
            assert model["licence"]
            assert model["home"].startswith("https://")
    assert found["ssim"]["ready"]
    assert found["ssim"]["to_do"] == []
    assert "Noncommercial" in found["imaging"]["licence"]
    assert not found["aesthetic"]["ready"], "its weights file must be given"
    assert any("aesthetic=FILE" in line for line in found["aesthetic"]["to_do"])


def test_every_replaceable_model_has_a_slot() -> None:
    cards = [image_metric_class(name).info for name in registry.metrics.names()]
    uses = {model.slot for card in cards for model in card.models if model.origin != "shipped"}
    assert uses == set(MODEL_SLOTS)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    slope((60, 40)).save(tmp_path / "a.png")
    noise(1, (60, 40)).save(tmp_path / "b.png")
    return tmp_path / "a.png", tmp_path / "b.png"


def test_two_images(pair: tuple[Path, Path], tmp_path: Path) -> None:
    found = parsed("measure", "ssim,l1_src,l2_src", *pair)
    a, b = (np.asarray(Image.open(path), dtype=np.float64) / 255 for path in pair)
    assert found["l1_src"] == pytest.approx(np.abs(a - b).mean())
    assert found["l2_src"] == pytest.approx(((a - b) ** 2).mean())
    assert right("measure", "ssim", *pair) == f"ssim  {found['ssim']:.6g}\n"
    mask = Image.new("L", (60, 40))
    mask.paste(255, (0, 0, 30, 40))
    mask.save(tmp_path / "mask.png")
    masked = parsed("measure", "l1_src", *pair, "--mask", tmp_path / "mask.png")
    assert masked["l1_src"] == pytest.approx(np.abs(a - b)[:, 30:].mean())
    assert parsed("measure", "colorfulness", pair[1])["colorfulness"] > 0


def test_captions_and_a_custom_model(pair: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model = f"clip={write_clip(tmp_path / 'clip')}"
    found = parsed(
        "measure",
        "clip_cap,clip_src,clip_dir",
        *pair,
        "--gauge",
        model,
        "--caption",
        "a hat",
        "--source-caption",
        "a cat",
    )
    assert set(found) == {"clip_cap", "clip_src", "clip_dir"}
    without = creval("measure", "clip_cap", pair[1], "--gauge", model)
    assert without.returncode == 1
    assert "clip_cap not measured: the sample has no caption of the target" in without.stderr


def test_a_metric_that_fails_does_not_stop_the_others(pair: tuple[Path, Path]) -> None:
    done = creval("measure", "ssim,clip_cap,l1_src", *pair)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ssim", "l1_src"]
    assert done.stderr == "clip_cap not measured: the sample has no caption of the target\n"
    found = parsed("measure", "ssim,clip_cap", *pair)
    assert found["unmeasured"] == {"clip_cap": "the sample has no caption of the target"}
    assert 0 <= found["ssim"] <= 1
    assert "unmeasured" not in parsed("measure", "ssim", *pair)
    nothing = creval("measure", "clip_cap", *pair, "--json")
    assert nothing.returncode == 1
    assert set(json.loads(nothing.stdout)) == {"unmeasured"}


def test_removed_text_is_compared_with_the_source(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    sign = drawn(tmp_path / "sign.png", "OPEN")
    asked = ("--wanted", "open", "--removed", "closed")
    alone = creval("measure", "text", sign, "--removed", "closed")
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "no source, which is needed to measure removed text" in alone.stderr
    before = drawn(tmp_path / "before.png", "CLOSED")
    found = parsed("measure", "text", before, sign, *asked)
    assert found == {"text_there": 1.0, "text_error": 0.0, "text_gone": 1.0}


def test_a_benchmarks_edits(miniature: Path, tmp_path: Path) -> None:
    folders = sorted((miniature / "edits").iterdir())
    table = tmp_path / "values.csv"
    command: list[str | Path] = ["measure", "l1_src,grey", "--bench", miniature, "--edits"]
    command += folders
    done = creval(*command, "--out", table, "--limit", "6")
    assert done.returncode == 0, done.stderr
    assert all(folder.name in done.stdout for folder in folders)
    found = parsed(*command)
    edits = found["edits"]
    assert len(edits) == 18 * len(folders)
    for name, cells in found["models"].items():
        mine = [edit["values"]["l1_src"] for edit in edits if edit["system"] == name]
        cell = cells["l1_src"]
        assert cell["value"] == pytest.approx(sum(mine) / len(mine))
        assert 0 <= cell["low"] < cell["value"] < cell["high"]
        assert (cell["measured"], cell["edits"]) == (18, 18)
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "system,sample,draw,gauge,value_name,value,unmeasured,source"
    assert len(lines) == 1 + 6 * len(folders) * 2
    rows = tmp_path / "values.json"
    right(*command, "--out", rows, "--limit", "1")
    assert len(json.loads(rows.read_text(encoding="utf-8"))) == len(folders) * 2


def test_features_are_stored_in_the_given_run(miniature: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model = f"clip={write_clip(tmp_path / 'clip')}"
    keeper, run = miniature / "edits" / "Keeper", tmp_path / "run"
    command = ("measure", "clip_src", "--bench", miniature, "--edits", keeper, "--gauge", model, "--run", run)
    first = parsed(*command)
    (kept,) = run.glob("vectors.db")
    assert kept.stat().st_size > 0
    assert parsed(*command) == first


def test_failed_measurements_are_reported_without_a_score(miniature: Path) -> None:
    keeper = miniature / "edits" / "Keeper"
    done = creval("measure", "clip_dir,l1_src", "--bench", miniature, "--edits", keeper)
    assert done.returncode == 0
    assert "clip_dir: not measured for 18 edits: the sample has no caption of the source" in done.stderr
    assert "clip_dir" not in done.stdout
    nothing = creval("measure", "clip_dir", "--bench", miniature, "--edits", keeper)
    assert nothing.returncode == 1


def test_wrong_input_is_one_error_message(pair: tuple[Path, Path], miniature: Path) -> None:
    keeper = miniature / "edits" / "Keeper"
    edits = ("--bench", miniature, "--edits", keeper)
    assert "did you mean 'ssim'" in wrong("measure", "sim", *pair)
    assert "no source" in creval("measure", "ssim", pair[0]).stderr
    assert "no reference" in creval("measure", "face", pair[0]).stderr
    assert "does not exist" in wrong("measure", "ssim", pair[0], "absent.png")
    assert "nothing to measure" in wrong("measure", "ssim")
    assert "nothing to measure" in wrong("measure", "ssim", "--edits", keeper)
    assert "one image, or two" in wrong("measure", "ssim", *pair, pair[0])
    assert ".csv, .parquet or .json" in wrong("measure", "ssim", *edits, "--out", "x.xls")
    assert "none of the chosen metrics uses this model" in wrong("measure", "ssim", *edits, "--gauge", "clip=x")
    assert "USE=MODEL" in wrong("measure", "ssim", *edits, "--gauge", "clip")
    words = pair[0].with_name("words.png")
    words.write_text("not an image")
    assert "words.png" in wrong("measure", "colorfulness", words, pair[0])


def test_an_option_without_effect_is_refused(pair: tuple[Path, Path], miniature: Path) -> None:
    edits = ("--bench", miniature, "--edits", miniature / "edits" / "Keeper")
    for option in (("--out", "x.csv"), ("--run", "run"), ("--limit", "3")):
        assert f"{option[0]} can only be used with --edits" in wrong("measure", "ssim", *pair, *option)
    for name in ("--mask", "--caption", "--source-caption", "--wanted", "--removed"):
        assert f"{name} can only be used with one or two images" in wrong("measure", "ssim", *edits, name, pair[0])


def test_empty_option_values_are_refused(pair: tuple[Path, Path], miniature: Path) -> None:
    edits = ("--bench", miniature, "--edits", miniature / "edits" / "Keeper")
    assert "--mask takes a file name" in wrong("measure", "l1_src", *pair, "--mask", "")
    assert "--run takes the name of a folder" in wrong("measure", "ssim", *edits, "--run", "")
    assert "--wanted takes a text" in wrong("measure", "text", pair[0], "--wanted", " ")
    removed = wrong("measure", "text", pair[0], "--wanted", "x", "--removed", "")
    assert "--removed takes a text" in removed


def test_output_files_are_checked_before_anything_is_measured(
    miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: object, **__: object) -> None:
        raise AssertionError("measured too soon")

    monkeypatch.setattr("creval.analysis.measure_edits.measure_edits", measured)
    (tmp_path / "values.csv").write_text("x")
    (tmp_path / "folder.csv").mkdir()
    edits = ("measure", "ssim", "--bench", miniature, "--edits", miniature / "edits" / "Keeper")
    for place in ("values.csv/more.json", "folder.csv"):
        done = creval(*edits, "--out", tmp_path / place)
        assert done.returncode == 2
        assert f"--out {tmp_path / place} cannot be written: " in done.stderr
    run = creval(*edits, "--run", tmp_path / "values.csv")
    assert f"--run takes a folder, but {tmp_path / 'values.csv'} is a file." in run.stderr
