from __future__ import annotations

import pytest
import typer

from creval.cli import exit_status


def test_an_interrupt_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        exit_status.exit_if_stopped("interrupted", "written")
    assert stopped.value.code == 130
    said = capsys.readouterr().err
    assert said == "stopped: what was written is kept; repeat the command to go on.\n"


def test_a_budget_that_is_reached(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped:
        exit_status.exit_if_stopped("budget", "written")
    assert stopped.value.exit_code == 1
    assert "may not pay the next call; raise it to go on." in capsys.readouterr().err


def test_what_came_to_its_end_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    exit_status.exit_if_stopped("", "written")
    exit_status.exit_if_too_many_missing(0.005, 0.005, "were left out")
    assert capsys.readouterr().err == ""
    with pytest.raises(typer.Exit) as stopped:
        exit_status.exit_if_too_many_missing(0.0125, 0.005, "were left out")
    assert stopped.value.exit_code == 1
    assert "1.2 % were left out: exit status 1 (--max-unanswered)." in capsys.readouterr().err
