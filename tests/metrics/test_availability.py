"""Tests of the availability of metrics, and of the steps to make them available."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from creval.core.schema import Metric
from creval.metrics.availability import metric_availability
from creval.metrics.base import MetricInfo
from creval.metrics.model_loading import ModelInfo

VALUE = (Metric("x", ""),)
HUB = ModelInfo("x", "org/model", 4550, "MIT", "https://example.org")


def test_a_formula_is_ready() -> None:
    assert metric_availability(MetricInfo("x", "", VALUE, "")) == (True, ())


def test_missing_packages_are_named() -> None:
    card = MetricInfo("x", "", VALUE, "", models=(HUB,), extra="local", packages=("no_such", "json"))
    ready, to_do = metric_availability(card)
    assert not ready
    assert to_do == ("pip install 'creval[local]' (for no_such)", "needs a download at first use: org/model (4.5 GB)")


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def cached(monkeypatch: pytest.MonkeyPatch, *files: str) -> None:
    monkeypatch.setattr(
        "creval.metrics.availability.find_cached_file", lambda _, file: "/somewhere" if file in files else None
    )


@pytest.mark.usefixtures("online")
def test_models_that_need_a_download_or_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    card = MetricInfo("x", "", VALUE, "", models=(HUB,))
    assert metric_availability(card) == (False, ("needs a download at first use: org/model (4.5 GB)",))
    assert metric_availability(card, {"x": "/my/folder"}) == (True, ())
    cached(monkeypatch, "config.json", "pytorch_model.bin")
    assert metric_availability(card) == (True, ())


@pytest.mark.usefixtures("online")
def test_a_model_without_its_weights_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    card = MetricInfo("x", "", VALUE, "", models=(HUB,))
    cached(monkeypatch, "config.json", "preprocessor_config.json")
    assert not metric_availability(card).ready
    alone = ModelInfo("x", "org/model", 1, "MIT", "https://example.org", file="weights.pth")
    cached(monkeypatch, "weights.pth")
    assert metric_availability(MetricInfo("x", "", VALUE, "", models=(alone,))).ready


def test_without_the_hub_a_model_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    ready, (line,) = metric_availability(MetricInfo("x", "", VALUE, "", models=(HUB,)))
    assert not ready
    assert line == "not downloaded, and HF_HUB_OFFLINE is set: org/model (4.5 GB)"
    shipped = ModelInfo("x", "its own", 27, "MIT", "https://example.org", "shipped")
    assert metric_availability(MetricInfo("x", "", VALUE, "", models=(shipped,))).ready


def test_a_library_that_keeps_its_model_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    model = ModelInfo("x", "x_l", 330, "MIT", "https://example.org", "library", ".x/x_l")
    card = MetricInfo("x", "", VALUE, "", models=(model,))
    assert metric_availability(card) == (False, ("needs a download at first use: x_l (330 MB)",))
    (tmp_path / ".x" / "x_l").mkdir(parents=True)
    assert metric_availability(card).ready
    unknown = MetricInfo("x", "", VALUE, "", models=(replace(model, file=""),))
    assert metric_availability(unknown).to_do == ("may need a download at first use: x_l (330 MB)",)


def test_models_that_need_a_file() -> None:
    head = ModelInfo("head", "head.pth", 6, "AGPL-3.0", "https://example.org", "given")
    card = MetricInfo("x", "", VALUE, "", models=(head,))
    ready, (line,) = metric_availability(card)
    assert not ready
    assert line == "give `metric_models` head=FILE: head.pth (6 MB) from https://example.org"
    assert metric_availability(card, {"head": "head.pth"}) == (True, ())
    optional = MetricInfo("x", "", VALUE, "", models=(ModelInfo("b", "", 0, "", "", "optional"),))
    assert metric_availability(optional) == (True, ())
