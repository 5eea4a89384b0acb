from __future__ import annotations

import json
from collections import Counter

import pytest
import typer
from rich.cells import cell_len

from creval.calls.retry import Progress
from creval.cli import console
from creval.reporting.output import OutputTable


def test_json_is_unchanged_with_control_characters_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "a\x1b[31m\u202e\x9bé图", "number": 1.5}
    console.print_json(value)
    shown = capsys.readouterr().out
    assert json.loads(shown) == value
    assert not set("\x1b\u202e\x9b") & set(shown)
    assert "é图" in shown


def test_nan_in_json_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        console.print_json(float("nan"))


def test_quick_work_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(console.track(range(1000), "working")) == list(range(1000))
    assert list(console.track([], "working")) == []
    assert capsys.readouterr().err == ""


def test_slow_work_shows_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100_000, 1))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert len(list(console.track(range(640), "working"))) == 640
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("working: ")
    assert lines[0].endswith(" s left")
    assert "of 640" in lines[0]


def test_a_table_that_is_too_wide_is_split_between_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [[f"{row}.{column}000001  100 %" for column in range(7)] for row in range(2)]
    names = ["a model with a name of many words", "图像编辑"]
    rows = [[name, *of] for name, of in zip(names, numbers, strict=True)]
    grid = OutputTable(["model", *"ABCDEFG"], rows, "Scores", "Bold is best.")
    for width in (40, 60, 80, 100, 200):
        monkeypatch.setattr(console, "_DEFAULT_WIDTH", width)
        console.print_table(grid)
        shown = capsys.readouterr().out
        assert max(map(cell_len, shown.splitlines())) <= width
        assert [shown.count(number) for of in numbers for number in of] == [1] * 14
        parts = shown.count("Scores")
        assert shown.count("图像编辑") == parts, "each part says whose numbers they are"
        assert shown.count("Bold is best.") == 1
        assert (parts == 1) == (width == 200)


def test_the_progress_of_calls_is_cleared_at_the_end_and_shows_stopping() -> None:
    shown: list[str] = []

    class Always(console.ProgressLine):
        def due(self) -> bool:
            return True

        def show(self, text: str) -> None:
            shown.append(text)

        def clear(self) -> None:
            shown.append("")

    watch = console.watch_calls(Always(), "swapped")
    watch(Progress(calls=4, done=1, cost=0.5, error_counts=Counter(timeout=2)))
    watch(Progress(calls=4, done=1), "editing", "images")
    watch(Progress(calls=4, done=1, in_flight=3, stopping=True))
    watch(Progress(calls=4, done=4))
    assert shown[0].startswith("swapped: 1 of 4 calls, ")
    assert "0.50 USD, 2 errors (timeout), " in shown[0]
    assert shown[1].startswith("editing: 1 of 4 images, ")
    assert shown[2:] == ["stopping: waiting for 3 calls in flight; press Ctrl-C again to stop at once", ""]


def test_the_summary_of_calls() -> None:
    progress = Progress(requests_sent=1, cached=2, tokens_in=900, tokens_out=100, cost=0.5, tokens_estimated=True)
    assert console.call_summary(progress) == "1 call in 0 s, about 1,000 tokens, about 0.50 USD"
    assert console.call_summary(progress, kept="text").endswith("; 2 texts kept from before")
    folder = console.call_summary(Progress(requests_sent=3), folder_cost=2.0)
    assert folder == "3 calls in 0 s, 2.00 USD for the whole folder"
    assert console.error_notes(Progress()) == []
    assert console.error_notes(Progress(error_counts=Counter(timeout=2)), "image") == [
        "calls without an image: timeout 2"
    ]


def test_an_interrupt_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        console.exit_if_stopped("interrupted", "written")
    assert stopped.value.code == 130
    said = capsys.readouterr().err
    assert said == "stopped: everything written so far is stored. Repeat the command to resume.\n"


def test_a_spent_budget_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped:
        console.exit_if_stopped("budget", "written")
    assert stopped.value.exit_code == 1
    assert "too small for the next call. Raise --budget to resume." in capsys.readouterr().err


def test_a_finished_command_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    console.exit_if_stopped("", "written")
    console.exit_if_too_many_missing(0.005, 0.005, "were left out")
    assert capsys.readouterr().err == ""
    with pytest.raises(typer.Exit) as stopped:
        console.exit_if_too_many_missing(0.0125, 0.005, "were left out")
    assert stopped.value.exit_code == 1
    assert "1.2 % were left out, more than --max-unanswered allows: exit status 1." in capsys.readouterr().err
