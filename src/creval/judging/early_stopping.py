"""Asking until a question is settled: in the plan's order, and only what is still needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from creval.analysis.score_table import sample_values
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.judging.plan import Answered, Plan, spread
from creval.stats.early_stopping import Outcome, Stopping, check_several
from creval.stats.elimination import Rule
from creval.stats.score_table import Integers, ScoreTable
from creval.store import Run


class Deciding:
    """Follows the answers of a run, and says which are still needed.

    Samples count in the plan's order, whatever order they are done in: one that is done early waits
    for those before it. So a run that was killed comes to the same state from what it holds.
    """

    def __init__(self, rule: Rule, plan: Plan, run: Run, judges: Sequence[str]) -> None:
        self._plan, self._run, self._judges = plan, run, tuple(judges)
        self._card = plan.benchmark.card
        self._voices = len(judges) * plan.settings.repeat
        tags = [sample.tags for sample in plan.samples]
        self._stopping = Stopping(rule, self._card, plan.systems, tags)
        self._begun: Counter[EditKey] = Counter()
        self._left: Counter[EditKey] = Counter()

    @property
    def settled(self) -> bool:
        return self._stopping.settled

    def outcome(self) -> Outcome:
        return self._stopping.outcome(sum(map(self._answers, self._plan.all_edits())))

    def needs(self, key: EditKey) -> bool:
        """Whether answers about an edit are still needed."""
        return key.system in self._stopping.needed

    def resume(self, through: Mapping[str, Answered]) -> None:
        """Take up what a run holds: what each judge has answered, or left open to the end."""
        for edit in self._plan.all_edits():
            wanted = {
                (repeat, question.id)
                for question in self._plan.askable(edit)
                for repeat in range(self._plan.settings.repeat)
            }
            if all(wanted <= through[name].get(edit.key, set()) for name in self._judges):
                self._begun[edit.key] = len(self._judges)
        self._follow()

    def begin(self, key: EditKey, calls: int) -> None:
        """A judge will get so many calls about an edit."""
        self._begun[key] += 1
        self._left[key] += calls
        self._follow()

    def end(self, key: EditKey, more: int) -> None:
        """A call about an edit is through; `more` follow from it."""
        self._left[key] += more - 1
        self._follow()

    def _follow(self) -> None:
        samples = self._plan.samples
        while not self.settled and self._stopping.seen < len(samples):
            sample = samples[self._stopping.seen]
            edits = [e for e in self._plan.edits[sample.id] if e.status is EditStatus.DONE]
            if not all(self._done(e.key) for e in edits if self.needs(e.key)):
                return
            values = sample_values(self._run, self._card, self._plan.systems, sample.id)
            self._stopping.add(values, self._counts(edits))

    def _done(self, key: EditKey) -> bool:
        return self._begun[key] >= len(self._judges) and self._left[key] == 0

    def _answers(self, edit: Edit) -> int:
        there = edit.status is EditStatus.DONE
        return len(self._plan.askable(edit)) * self._voices if there else 0

    def _counts(self, edits: Sequence[Edit]) -> Integers:
        counts = dict.fromkeys(self._plan.systems, 0)
        for edit in edits:
            counts[edit.key.system] += self._answers(edit)
        return np.array(list(counts.values()), dtype=np.int64)


def check_decidable(plan: Plan) -> None:
    """Refuse to decide between too few models, or by a column of which a part is not asked."""
    card, asked = plan.benchmark.card, plan.benchmark.asked_metrics
    check_several(plan.systems)
    for name in card.rests_on(card.ranking):
        if name not in asked:
            raise CrevalError(
                f"--until-decided goes by {card.ranking}, and no judge is asked for {name}: what "
                "is measured costs nothing, so measure all."
            )
        if name not in plan.metrics:
            raise CrevalError(
                f"--until-decided goes by {card.ranking}, which needs {name}: add it to --metrics."
            )


def decide(table: ScoreTable, samples: Sequence[Sample], rule: Rule, seed: int) -> Outcome:
    """What asking until a question is settled would have come to, had these answers been given.

    The seed gives the order of the samples.
    """
    order = spread(samples, table.card, seed)
    place = {name: at for at, name in enumerate(table.samples)}
    stopping = Stopping(rule, table.card, table.systems, [sample.tags for sample in order])
    column = table.card.columns.index(table.card.ranking)
    values = table.with_composite()[..., column]
    answers = table.total.sum(axis=2)
    for sample in order:
        if stopping.settled:
            break
        at = place[sample.id]
        stopping.add(values[:, at], answers[:, at])
    return stopping.outcome(int(answers.sum()))
