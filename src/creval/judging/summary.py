"""Summary of a judged run."""

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
    """Summary of a call of `judge` and of the run.

    `stopped` is the reason if the call ended early. `outcome` is the result of the stopping rule, if one was given.
    `voices` is the number of answers to each question: judges times repeats. `run_calls` counts all calls with a
    stored reply.
    """

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
        """The number of answers from the cache and their original cost; "" if there were none."""
        if not self.progress.shared:
            return ""
        cost = f", which had cost {format_money(self.progress.saved)}" if self.progress.saved else ""
        return f"{pluralise(self.progress.shared, 'answer')} from the cache{cost}"

    @property
    def expected_answers(self) -> int:
        """The number of answers that judges should have given."""
        return sum(count for found in self.statuses.values() for count in found.values())

    @property
    def unanswered(self) -> int:
        """The number of expected answers that are missing."""
        return self.expected_answers - sum(found.get("answered", 0) for found in self.statuses.values())

    @property
    def share_unanswered(self) -> float:
        """The share of expected answers and values that are missing. 1 if none were expected.

        Answers about unreadable images count as missing.
        """
        wanted = self.expected_answers + self.progress.unreadable_questions + self.measured_edits + self.failed_edits
        lost = self.unanswered + self.progress.unreadable_questions + self.failed_edits
        return lost / wanted if wanted else 1.0


def summarise_run(summary: JudgeSummary, run: Run) -> None:
    """Add the numbers of the run's answers and values to the summary, and the reasons for missing ones."""
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
