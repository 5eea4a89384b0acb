"""Fixtures of the ICE-Bench tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.judging.summary import JudgeSummary
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.made import make_run, write_models
from tests.benchmarks.ice_bench.release_files import write_release
from tests.serving import serving


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, JudgeSummary]:
    """Return a run over all tasks with three items each, and its results.

    Its models support all, some and one of the tasks. Do not write into it.
    """
    root = tmp_path_factory.mktemp("ice-run")
    write_models(write_release(root / "ICE"), root / "results", listed="Painter")
    with serving(FakeServer().app()) as url:
        return root / "run", make_run(root, f"openai:m@{url}/v1")
