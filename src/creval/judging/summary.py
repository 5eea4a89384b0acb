"""What came of judging."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from creval.calls.retry import Progress
from creval.core.edit import EditStatus
from creval.store import Run

if TYPE_CHECKING:  # NumPy comes with it
    from creval.stats.early_stopping import Outcome


@dataclass
class Judged:
    """What a run of `judge` did. `stopped` says why it ended early, if it did; `outcome` how the
    question was settled that it was to settle, if there was one. `voices` is how often the run has
    asked each question: of so many judges, so many times."""

    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    missing: dict[str, Counter[EditStatus]] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    statuses: dict[str, dict[str, int]] = field(default_factory=dict)
    voices: int = 0
    reasons: list[tuple[str, int]] = field(default_factory=list)
    measured: int = 0
    broken: int = 0
    lacking: int = 0
    unmeasured: list[tuple[str, int]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    outcome: Outcome | None = None

    @property
    def asked(self) -> int:
        """The answers that were wanted of judges."""
        return sum(count for found in self.statuses.values() for count in found.values())

    @property
    def unanswered(self) -> int:
        """Those of them that did not come."""
        return self.asked - sum(found.get("answered", 0) for found in self.statuses.values())

    @property
    def share_unanswered(self) -> float:
        """The share without an answer; pictures that could not be opened count as well. Where
        nothing was wanted that could come, it is all."""
        wanted = self.asked + self.progress.unopened + self.measured + self.broken
        lost = self.unanswered + self.progress.unopened + self.broken
        return lost / wanted if wanted else 1.0


def summarise(done: Judged, run: Run) -> None:
    """What is unanswered in the run, and why."""
    done.statuses, done.voices = run.statuses(), len(run.voices())
    done.reasons = run.unanswered_reasons()
    done.measured, done.broken, done.lacking, done.unmeasured = run.measured()
    for answer in run.unanswered(5):
        said = answer.said if answer.status in ("unreadable", "ambiguous") else ""
        words = " ".join((said or answer.explanation or answer.status).split())
        words = words if len(words) <= 160 else words[:159] + "…"
        edit = answer.edit
        done.examples.append(f"{edit.system}, {edit.sample}, {answer.probe}: {words}")
