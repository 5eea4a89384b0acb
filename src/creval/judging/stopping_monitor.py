"""Early stopping of a run: questions are asked in the plan's order until the stopping rule reaches a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from creval.analysis.scoring import ranking_values_of_sample
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.judging.plan import AnsweredProbes, Plan, stratified_shuffle
from creval.stats.early_stopping import SequentialTest, StoppingOutcome, require_several_models
from creval.stats.elimination import StoppingRule
from creval.stats.score_table import Integers, ScoreTable
from creval.store import Run


class EarlyStopping:
    """Monitor of a run that decides which answers are still needed.

    Samples are evaluated in the plan's order. A sample that finishes early is evaluated only after all earlier samples.
    Therefore an interrupted run resumes in the same state.
    """

    def __init__(self, rule: StoppingRule, plan: Plan, run: Run, judges: Sequence[str]) -> None:
        self._plan, self._run, self._judges = plan, run, tuple(judges)
        self._schema = plan.benchmark.schema
        self._answers_per_question = len(judges) * plan.settings.repeat
        tags = [sample.tags for sample in plan.samples]
        self._sequential_test = SequentialTest(rule, self._schema, plan.models, tags)
        self._judges_started: Counter[EditKey] = Counter()
        self._calls_left: Counter[EditKey] = Counter()

    @property
    def settled(self) -> bool:
        return self._sequential_test.is_settled

    def outcome(self) -> StoppingOutcome:
        return self._sequential_test.outcome(sum(map(self._count_edit_answers, self._plan.all_edits())))

    def needs_answers(self, key: EditKey) -> bool:
        """Return whether answers about an edit are still needed."""
        return key.model in self._sequential_test.active_models

    def resume(self, answered: Mapping[str, AnsweredProbes]) -> None:
        """Restore the state from a run's answers. Questions that were given up count as answered."""
        for edit in self._plan.all_edits():
            wanted = {
                (repeat, question.id)
                for question in self._plan.askable_questions(edit)
                for repeat in range(self._plan.settings.repeat)
            }
            if all(wanted <= answered[name].get(edit.key, set()) for name in self._judges):
                self._judges_started[edit.key] = len(self._judges)
        self._advance()

    def start_edit(self, key: EditKey, calls: int) -> None:
        """Register that one judge's calls about an edit are planned, and their number."""
        self._judges_started[key] += 1
        self._calls_left[key] += calls
        self._advance()

    def finish_call(self, key: EditKey, follow_ups: int) -> None:
        """Register that a call about an edit has finished. `follow_ups` is the number of calls that it requires."""
        self._calls_left[key] += follow_ups - 1
        self._advance()

    def _advance(self) -> None:
        samples = self._plan.samples
        while not self.settled and self._sequential_test.samples_added < len(samples):
            sample = samples[self._sequential_test.samples_added]
            edits = [e for e in self._plan.edits[sample.id] if e.status is EditStatus.DONE]
            keys = [edit.key for edit in edits if self.needs_answers(edit.key)]
            if any(self._judges_started[key] < len(self._judges) or self._calls_left[key] for key in keys):
                return
            values = ranking_values_of_sample(self._run, self._schema, self._plan.models, sample.id)
            self._sequential_test.add(values, self._count_answers(edits))

    def _count_edit_answers(self, edit: Edit) -> int:
        there = edit.status is EditStatus.DONE
        return len(self._plan.askable_questions(edit)) * self._answers_per_question if there else 0

    def _count_answers(self, edits: Sequence[Edit]) -> Integers:
        counts = dict.fromkeys(self._plan.models, 0)
        for edit in edits:
            counts[edit.key.model] += self._count_edit_answers(edit)
        return np.array(list(counts.values()), dtype=np.int64)


def require_decidable(plan: Plan) -> None:
    """Raise an error if early stopping cannot decide.

    It needs several models, and the column that ranks the models may only use metrics that are judged in this run.
    """
    card, asked = plan.benchmark.schema, plan.benchmark.judged_metrics
    require_several_models(plan.models)
    for name in card.component_weights(card.ranking_column):
        if name not in asked:
            raise CrevalError(
                f"`stopping_rule` decides by {card.ranking_column}, but {name} is measured, not judged: "
                "measuring is free, so there is nothing to save."
            )
        if name not in plan.metrics:
            raise CrevalError(
                f"`stopping_rule` decides by {card.ranking_column}, which needs {name}: add it to `metrics`."
            )


def simulate_early_stopping(
    table: ScoreTable, samples: Sequence[Sample], rule: StoppingRule, seed: int
) -> StoppingOutcome:
    """Return the outcome of early stopping with these scores and with samples in the order that `seed` determines."""
    order = stratified_shuffle(samples, table.schema, seed)
    place = {name: at for at, name in enumerate(table.samples)}
    stopping = SequentialTest(rule, table.schema, table.models, [sample.tags for sample in order])
    column = table.schema.columns.index(table.schema.ranking_column)
    values = table.with_composite()[..., column]
    answers = table.total.sum(axis=2)
    for sample in order:
        if stopping.is_settled:
            break
        at = place[sample.id]
        stopping.add(values[:, at], answers[:, at])
    return stopping.outcome(int(answers.sum()))
