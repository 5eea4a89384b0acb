"""Calibration of a judge: it gets questions with known answers, about unmodified images and about their variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from creval.analysis.answer_tables import questions_by_id
from creval.calls.cost_estimate import CostEstimate
from creval.calls.retry import Progress
from creval.calls.settings import JudgeSettings
from creval.core.edit_record import EditKey
from creval.judges.judge_spec import JudgeSpec, judge_name, open_judges
from creval.judging.estimate import estimate_judge_costs
from creval.judging.judge_run import JudgeRun
from creval.stats.calibration import KnownAnswer
from creval.store import open_run
from creval.touchstone.calibration_trials import UNMODIFIED, VARIANTS, Trial, make_cases, make_trials
from creval.touchstone.scene_questions import parse_check

_ESTIMATE_SAMPLE = 50  # edits that a quick estimate is extrapolated from


@dataclass(frozen=True)
class TrialAnswers:
    """A judge's answers in one variant, and the number of unanswered questions.

    With repeats, `repeated_count` questions have several answers. `consistent_count` is the number of these questions
    whose answers are all equal.
    """

    answers: dict[tuple[EditKey, str], KnownAnswer]
    unanswered_count: int
    consistent_count: int
    repeated_count: int


class CalibrationRun:
    """Calibration trials of a judge: one run for each variant. Only the unmodified variant is judged repeatedly."""

    def __init__(
        self,
        judge: JudgeSpec,
        folder: Path,
        samples: int,
        repeat: int,
        settings: JudgeSettings,
        *,
        variants: bool = True,
        seed: int = 0,
    ) -> None:
        # A calibration measures the judge as it is now, so cached answers are not used.
        self.judge, self.settings = judge, replace(settings, repeat=repeat, cache=False)
        self._variants = list(VARIANTS) if variants else [UNMODIFIED]
        self._samples, self._seed = samples, seed
        self._drawn, self._runs = folder / f"pictures-{samples}-{seed}", folder / f"runs-{samples}-{seed}"
        self._trials: Mapping[str, Trial] = {}
        self.judge_name = ""

    def draw(self, watch: Callable[[int, int], None], *, dry_run: bool = False) -> None:
        """Draw the images, after checking the judge's name."""
        judges = open_judges(self.judge, replace(self.settings.judge_options(), key_optional=dry_run))
        self.judge_name = judge_name(self.judge, judges)
        self._trials = make_trials(self._drawn, make_cases(self._samples, self._seed), self._variants, watch)

    def estimate(self, *, dry_run: bool = False) -> list[CostEstimate]:
        """Estimate the costs: from all edits in a dry run, otherwise by extrapolation from a few edits."""
        prepared = [self._prepare(variant, dry_run=dry_run) for variant in self._trials]
        most = None if dry_run else _ESTIMATE_SAMPLE
        return [made for run in prepared for made in estimate_judge_costs(run, run.read_answered(), most)]

    def run(self, watch: Callable[[str], Callable[[Progress], None]]) -> dict[str, TrialAnswers]:
        """Judge every variant, and return the answers by variant."""
        found = {}
        for variant in self._trials:
            done = self._prepare(variant).run(watch(variant))
            found[variant] = read_trial_answers(self._runs / variant)
            if done.stopped:
                break
        return found

    def _prepare(self, variant: str, *, dry_run: bool = False) -> JudgeRun:
        trial = self._trials[variant]
        settings = self.settings if variant == UNMODIFIED else replace(self.settings, repeat=1)
        return JudgeRun(trial.benchmark, [trial.edits], self.judge, self._runs / variant, settings, dry_run=dry_run)


def read_trial_answers(run: Path) -> TrialAnswers:
    """Return the answers in the run of one variant."""
    with open_run(run) as opened:
        questions = questions_by_id(opened)
        said: dict[tuple[EditKey, str], list[float | None]] = {}
        for _, _, edit, probe, value in opened.verdicts_by_voice():
            said.setdefault((edit, probe), []).append(value)
    answers, unanswered, agreed, repeated = {}, 0, 0, 0
    for (edit, probe), values in said.items():
        question = questions[edit.sample, probe]
        there = [value for value in values if value is not None]
        if len(there) > 1:
            repeated += 1
            agreed += len(set(there)) == 1
        if not there:
            unanswered += 1
            continue
        check, truth = parse_check(question.text), question.reference == "Yes"
        kind = check.kind if check else ""
        answers[edit, probe] = KnownAnswer(edit.sample, question.metric, kind, truth, there[0] > 0.5)
    return TrialAnswers(answers, unanswered, agreed, repeated)
