"""Loading models: what is missing gets a sentence."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

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
