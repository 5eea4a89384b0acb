"""Tests of the errors for files without weights, or with more than weights."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.metrics.checkpoints import load_weights
from tests.metrics.images import slope

torch = pytest.importorskip("torch")


def refused(path: Path) -> str:
    with pytest.raises(CrevalError) as caught:
        load_weights(path)
    return str(caught.value)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    slope((20, 10)).save(tmp_path / "a.png")
    (tmp_path / "empty.pth").touch()
    (tmp_path / "b.safetensors").write_bytes(bytes(100))
    torch.save({"w": torch.zeros(300)}, tmp_path / "whole.pth")
    whole = (tmp_path / "whole.pth").read_bytes()
    (tmp_path / "cut.pth").write_bytes(whole[: len(whole) // 2])
    torch.save({0: torch.zeros(3)}, tmp_path / "unnamed.pth")
    assert refused(tmp_path / "unnamed.pth").endswith("unnamed.pth does not contain named weights.")
    for name in ("a.png", "empty.pth", "b.safetensors", "cut.pth"):
        path = tmp_path / name
        assert refused(path) == (f"{path} cannot be loaded: it is not a weights file, or it is damaged.")
    assert set(load_weights(tmp_path / "whole.pth")) == {"w"}


@pytest.mark.filterwarnings("error")
def test_errors_do_not_advise_unsafe_loading(tmp_path: Path) -> None:
    more, other = tmp_path / "more.pth", tmp_path / "other.pkl"
    torch.save({"made": date(2024, 1, 2), "w": torch.zeros(3)}, more)
    other.write_bytes(pickle.dumps({"made": date(2024, 1, 2)}))
    assert refused(more) == (
        f"{more} cannot be loaded: it contains more than weights (such as datetime.date), and creval does not execute "
        "code from weights files."
    )
    assert "it contains more than weights" in refused(other)
