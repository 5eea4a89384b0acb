"""Tests of loading models, and of the errors if something is missing."""

from __future__ import annotations

import logging
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from creval.core.errors import CrevalError
from creval.providers import huggingface
from creval.providers.huggingface import load_model, loaded_commits
from tests.metrics import tiny


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        if name == "torch":
            raise ImportError("No module named 'torch'")
        return import_module(name)

    monkeypatch.setattr("creval.providers.huggingface.import_module", absent)
    with pytest.raises(CrevalError, match=r"x needs torch .* pip install 'creval\[local\]'"):
        load_model("x", "AutoModel")


def test_a_folder_that_is_not_there_or_holds_no_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(CrevalError, match=r"no folder .* exists"):
        load_model(str(tmp_path / "absent"), "AutoModel")
    with pytest.raises(CrevalError) as caught:
        load_model(str(tmp_path), "AutoModel")
    assert str(caught.value) == (f"{tmp_path} cannot be loaded: the folder has no config.json.")


def test_messages_of_libraries_are_shortened(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = tiny.write_clip(tmp_path / "clip")
    with pytest.raises(CrevalError) as caught:
        load_model(str(folder), "AutoModelForDepthEstimation")
    assert str(caught.value) == (f"{folder} cannot be loaded: it is a model of another type (CLIPConfig).")
    for processor in folder.glob("*processor*"):
        processor.unlink()
    with pytest.raises(CrevalError) as caught:
        load_model(str(folder), "AutoModel", processor="AutoImageProcessor")
    assert "make sure" not in str(caught.value)
    assert str(caught.value).startswith(f"{folder} cannot be loaded: Can't load image processor")


def test_the_librarys_remarks_are_not_shown(tmp_path: Path) -> None:
    """Loading only one half of a model is valid, and prints nothing."""
    said: list[logging.LogRecord] = []
    library = pytest.importorskip("transformers").utils.logging
    hub = import_module("huggingface_hub").utils
    folder = str(tiny.write_siglip(tmp_path / "siglip"))
    library.set_verbosity_warning()
    library.enable_progress_bar()
    handler = logging.NullHandler()
    handler.handle = said.append  # type: ignore[assignment, method-assign]
    library.add_handler(handler)
    try:
        load_model(folder, "SiglipVisionModel", processor="AutoImageProcessor")
    finally:
        library.remove_handler(handler)
    assert said == []
    assert not library.is_progress_bar_enabled()
    assert not hub.are_progress_bars_disabled(), "download bars stay visible"


def test_a_model_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = str(tiny.write_clip(tmp_path / "clip"))
    with pytest.raises(CrevalError, match=r"clip cannot be loaded: it lacks 2 weights, such as cl"):
        load_model(folder, "CLIPForImageClassification")


def test_weights_that_nothing_is_computed_with_may_be_missing(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = tiny.write_depth(tmp_path / "depth")
    file = import_module("safetensors.torch")
    weights = file.load_file(folder / "model.safetensors")
    unused = [name for name in weights if "fusion_stage.layers.0.residual_layer1" in name]
    assert unused
    file.save_file(
        {name: weight for name, weight in weights.items() if name not in unused},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    load_model(str(folder), "AutoModelForDepthEstimation", processor="AutoImageProcessor")


@pytest.mark.parametrize("name", ["models/clip/v1", "my clip"])
def test_invalid_model_names_are_errors(name: str) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(CrevalError, match=f"'{name}' is neither a local folder nor a valid"):
        load_model(name, "AutoModel")


def test_a_hub_that_cannot_be_reached_is_not_tried_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    for name in huggingface._PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(CrevalError, match=r"'org/model' .* 127\.0\.0\.1 cannot be reached"):
        huggingface.load_model("org/model", "AutoModel")
    assert time.monotonic() - began < 30
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CrevalError, match="HF_HUB_OFFLINE"):
        huggingface.check_hub_reachable("org/model")


def test_downloaded_models_need_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: str(tmp_path / "c"))
    for name in huggingface._PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for offline in (False, True):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        assert not huggingface.check_hub_reachable("org/model"), "a downloaded model is loaded from the cache"
    assert huggingface.find_cached_file("org/model") == tmp_path / "c"


def test_a_tokenizer_with_a_damaged_vocabulary_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = tiny.write_clip(tmp_path / "clip")
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(CrevalError, match=r"its tokenizer knows only \d+ of \d+ tokens"):
        huggingface.load_model(str(folder), "AutoModel")


def test_the_commit_of_a_model_from_the_hub_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    commit = "c0ffee" * 6 + "beef"
    held = tmp_path / "models--org--tiny"
    tiny.write_clip(held / "snapshots" / commit)
    (held / "refs").mkdir()
    (held / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface, "_loaded_commits", {})
    load_model("org/tiny", "AutoModel")
    load_model(str(tiny.write_clip(tmp_path / "clip")), "AutoModel")
    assert loaded_commits(["org/tiny", str(tmp_path / "clip"), "org/other"]) == {"org/tiny": commit}
