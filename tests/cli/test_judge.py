"""Progress line of judging."""

from __future__ import annotations

from creval.calls.retry import Progress
from creval.cli import console


class Kept(console.ProgressLine):
    """Progress line that is always due, and records what it shows."""

    def due(self) -> bool:
        return True

    def show(self, text: str) -> None:
        self.text = text


def shown(**so_far: int) -> str:
    line = Kept()
    console.watch_calls(line)(Progress(**so_far))  # type: ignore[arg-type]
    return line.text


def test_measurements_are_counted_separately_from_calls() -> None:
    """An edit has many measurements."""
    both = shown(calls=20, done=5, measurements_total=1148, measurements_done=79)
    assert both.startswith("79 of 1,148 measurements, 5 of 20 calls")
    assert both.endswith(" left")
    assert "left" not in shown(calls=20, done=20, measurements_total=1148, measurements_done=79), "it goes on"
