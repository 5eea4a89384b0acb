"""Fixtures for tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.cache import CACHE_ENV


@pytest.fixture(autouse=True)
def own_answer_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own answer cache, also for commands in subprocesses."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv(CACHE_ENV, str(folder))
    return folder
