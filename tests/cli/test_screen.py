from __future__ import annotations

import json

import pytest

from creval.cli import screen


def test_json_keeps_its_meaning_and_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "a\x1b[31m\u202e\x9bé图", "number": 1.5}
    screen.print_json(value)
    shown = capsys.readouterr().out
    assert json.loads(shown) == value
    assert not set("\x1b\u202e\x9b") & set(shown)
    assert "é图" in shown


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        screen.print_json(float("nan"))


def test_progress_is_silent_on_what_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(screen.track(range(1000), "working")) == list(range(1000))
    assert list(screen.track([], "working")) == []
    assert capsys.readouterr().err == ""


def test_progress_is_shown_on_what_is_slow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 100_000, 1))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert len(list(screen.track(range(640), "working"))) == 640
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("working: ")
    assert lines[0].endswith(" s left")
    assert "of 640" in lines[0]
