"""Updates of the snapshot of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.web.viewer.live_snapshot import LiveSnapshot
from tests.web.made import say, write_run


def test_it_is_taken_anew_only_where_the_run_has_changed(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    told: list[str] = []
    current = LiveSnapshot(run, told.append)
    try:
        first = current.get(10)
        assert told == ["reading the run", "indexing its texts", "scoring"]
        assert not first.scores_outdated
        assert current.get(10) is first
        say(run, {"beta": {"s3": "++++"}})
        second = current.get(10)
        assert second.verdicts == first.verdicts + 4
        assert not second.scores_outdated
        assert second.scores is not first.scores
    finally:
        current.close()


def test_folders_that_are_no_runs_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="is not a run"):
        LiveSnapshot(tmp_path)
