"""Asking a judge questions whose truth is known, as they are and in every variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from creval.calls.retry import Progress
from creval.calls.settings import JudgeSettings
from creval.core.edit_record import EditKey
from creval.core.probe import Question
from creval.judging.judge_run import JudgeRun
from creval.stats.calibration import KnownAnswer
from creval.store import open_run
from creval.touchstone.calibration_trials import UNMODIFIED, Trial
from creval.touchstone.scene_questions import parse_check


@dataclass(frozen=True)
class TrialAnswers:
    """What a judge said in one variant: its answers, how many questions stayed open, and, where
    everything was asked several times, on how many of how many questions it agreed with itself."""

    answers: dict[tuple[EditKey, str], KnownAnswer]
    unanswered_count: int
    consistent_count: int
    repeated_count: int


def prepare_trial(trial: Trial, judge: str, run: Path, settings: JudgeSettings, *, dry_run: bool = False) -> JudgeRun:
    """One variant, ready to be asked."""
    return JudgeRun(trial.benchmark, [trial.edits], judge, run, settings, dry_run=dry_run)


def trial_settings(variant: str, settings: JudgeSettings) -> JudgeSettings:
    """Only what is as it is gets asked several times."""
    return settings if variant == UNMODIFIED else replace(settings, repeat=1)


def run_trials(
    trials: Mapping[str, Trial],
    judge: str,
    folder: Path,
    settings: JudgeSettings,
    watch: Callable[[str], Callable[[Progress], None]],
) -> dict[str, TrialAnswers]:
    """Ask every variant, and read what was said."""
    found = {}
    for variant, trial in trials.items():
        run = folder / variant
        asked = prepare_trial(trial, judge, run, trial_settings(variant, settings))
        done = asked.run(watch(variant))
        found[variant] = read_trial_answers(run)
        if done.stopped:
            break
    return found


def read_trial_answers(run: Path) -> TrialAnswers:
    """The answers in a run of a trial."""
    with open_run(run) as opened:
        kinds: dict[tuple[str, str], tuple[Question, str]] = {}
        for sample, probes in opened.probes.items():
            for question in probes:
                if isinstance(question, Question):
                    check = parse_check(question.text)
                    kinds[sample, question.id] = question, check.kind if check else ""
        said: dict[tuple[EditKey, str], list[float | None]] = {}
        for _, _, edit, probe, value in opened.verdicts_by_voice():
            said.setdefault((edit, probe), []).append(value)
    told, unanswered, agreed, repeated = {}, 0, 0, 0
    for (edit, probe), values in said.items():
        question, kind = kinds[edit.sample, probe]
        there = [value for value in values if value is not None]
        if len(there) > 1:
            repeated += 1
            agreed += len(set(there)) == 1
        if not there:
            unanswered += 1
            continue
        truth = question.reference == "Yes"
        told[edit, probe] = KnownAnswer(edit.sample, question.metric, kind, truth, there[0] > 0.5)
    return TrialAnswers(told, unanswered, agreed, repeated)
