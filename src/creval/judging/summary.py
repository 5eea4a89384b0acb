"""What came of judging."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from creval.calls.retry import Progress
from creval.core.edit_record import EditStatus
from creval.core.formatting import format_money, pluralise
from creval.store import Run

if TYPE_CHECKING:  # NumPy comes with it
    from creval.stats.early_stopping import StoppingOutcome


@dataclass
class JudgeSummary:
    """What a run of `judge` did. `stopped` says why it ended early, if it did; `outcome` how the
    question was settled that it was to settle, if there was one. `voices` is how often the run has
    asked each question: of so many judges, so many times; `run_calls` counts all calls that it holds replies to."""

    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    missing_edits: dict[str, Counter[EditStatus]] = field(default_factory=dict)
    unmatched_files: list[str] = field(default_factory=list)
    statuses: dict[str, dict[str, int]] = field(default_factory=dict)
    voices: int = 0
    run_calls: int = 0
    reasons: list[tuple[str, int]] = field(default_factory=list)
    measured_edits: int = 0
    failed_edits: int = 0
    incomplete_edits: int = 0
    unmeasured_reasons: list[tuple[str, int]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    outcome: StoppingOutcome | None = None

    @property
    def cache_sentence(self) -> str:
        """What came from the cache, and what that had cost when it was asked; "" if nothing did."""
        if not self.progress.shared:
            return ""
        cost = f", which had cost {format_money(self.progress.saved)}" if self.progress.saved else ""
        return f"{pluralise(self.progress.shared, 'answer')} from the cache{cost}"

    @property
    def expected_answers(self) -> int:
        """The answers that were wanted of judges."""
        return sum(count for found in self.statuses.values() for count in found.values())

    @property
    def unanswered(self) -> int:
        """Those of them that did not come."""
        return self.expected_answers - sum(found.get("answered", 0) for found in self.statuses.values())

    @property
    def share_unanswered(self) -> float:
        """Return the share without an answer, unopened images included; all, if nothing was wanted."""
        wanted = self.expected_answers + self.progress.unreadable_questions + self.measured_edits + self.failed_edits
        lost = self.unanswered + self.progress.unreadable_questions + self.failed_edits
        return lost / wanted if wanted else 1.0


def summarise_run(summary: JudgeSummary, run: Run) -> None:
    """What is unanswered in the run, and why."""
    summary.statuses, summary.voices = run.count_statuses(), len(run.count_answers_by_voice())
    summary.reasons, summary.run_calls = run.unanswered_reasons(), run.costs().calls
    (summary.measured_edits, summary.failed_edits, summary.incomplete_edits, summary.unmeasured_reasons) = (
        run.count_measurements()
    )
    for answer in run.unanswered_verdicts(5):
        said = answer.raw_answer if answer.status in ("unreadable", "ambiguous") else ""
        words = " ".join((said or answer.explanation or answer.status).split())
        words = words if len(words) <= 160 else words[:159] + "…"
        summary.examples.append(f"{answer.edit.model}, {answer.edit.sample}, {answer.probe}: {words}")
