"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.cache import CACHE_ENV


@pytest.fixture(autouse=True)
def own_answer_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the answers of one test from another, also where commands run in processes of their own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv(CACHE_ENV, str(folder))
    return folder
