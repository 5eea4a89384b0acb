"""Asking a judge questions whose truth is known, as they are and in every variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from creval.calls.retry import Progress
from creval.calls.settings import Settings
from creval.core.edit import EditKey
from creval.core.probe import Question
from creval.judging.run import Judging
from creval.stats.calibration import Told
from creval.store import open_run
from creval.touchstone.calibration_trials import PLAIN, Trial
from creval.touchstone.questions import read_check


@dataclass(frozen=True)
class Heard:
    """What a judge said in one variant: its answers, how many questions stayed open, and, where
    everything was asked several times, on how many of how many questions it agreed with itself."""

    told: dict[tuple[EditKey, str], Told]
    unanswered: int
    agreed: int
    repeated: int


def judging(
    trial: Trial, judge: str, run: Path, settings: Settings, *, dry: bool = False
) -> Judging:
    """One variant, ready to be asked."""
    return Judging(trial.benchmark, [trial.edits], judge, run, settings, dry=dry)


def settings_for(variant: str, settings: Settings) -> Settings:
    """Only what is as it is gets asked several times."""
    return settings if variant == PLAIN else replace(settings, repeat=1)


def hear(
    trials: Mapping[str, Trial],
    judge: str,
    folder: Path,
    settings: Settings,
    watch: Callable[[str], Callable[[Progress], None]],
) -> dict[str, Heard]:
    """Ask every variant, and read what was said."""
    found = {}
    for variant, trial in trials.items():
        run = folder / variant
        asked = judging(trial, judge, run, settings_for(variant, settings))
        done = asked.ask(watch(variant))
        found[variant] = read(run)
        if done.stopped:
            break
    return found


def read(run: Path) -> Heard:
    """The answers in a run of a trial."""
    with open_run(run) as opened:
        kinds: dict[tuple[str, str], tuple[Question, str]] = {}
        for sample, probes in opened.probes.items():
            for question in probes:
                if isinstance(question, Question):
                    check = read_check(question.text)
                    kinds[sample, question.id] = question, check.kind if check else ""
        said: dict[tuple[EditKey, str], list[float | None]] = {}
        for _, _, edit, probe, value in opened.spoken():
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
        told[edit, probe] = Told(edit.sample, question.metric, kind, truth, there[0] > 0.5)
    return Heard(told, unanswered, agreed, repeated)
