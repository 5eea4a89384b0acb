"""Loading models: what is missing gets a sentence."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from creval.core import models
from creval.core.errors import CrevalError
from creval.core.models import load_model


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        if name == "torch":
            raise ImportError("No module named 'torch'")
        return import_module(name)

    monkeypatch.setattr("creval.core.models.import_module", absent)
    with pytest.raises(CrevalError, match=r"x needs torch .* pip install 'creval\[local\]'"):
        load_model("x", "AutoModel")


def test_a_folder_that_is_not_there_or_holds_no_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(CrevalError, match="there is no folder"):
        load_model(str(tmp_path / "absent"), "AutoModel")
    with pytest.raises(CrevalError, match="cannot be loaded"):
        load_model(str(tmp_path), "AutoModel")


def test_a_hub_that_cannot_be_reached_is_not_tried_for_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("huggingface_hub")
    for name in models._PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(CrevalError, match=r"org/model .* 127\.0\.0\.1 cannot be reached"):
        models.load_model("org/model", "AutoModel")
    assert time.monotonic() - began < 30
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CrevalError, match="HF_HUB_OFFLINE"):
        models.check_reachable("org/model")


def test_what_was_downloaded_needs_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: str(tmp_path / "c"))
    models.check_reachable("org/model")
    assert models.on_disk("org/model") == tmp_path / "c"
