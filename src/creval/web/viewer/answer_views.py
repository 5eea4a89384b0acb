"""Answers as pages show them: per model, and per voice (judge, repeat and variant)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from creval.core.edit_record import EditKey
from creval.core.probe import Measurement, Probe
from creval.core.scales import get_scale
from creval.core.schema import Digits
from creval.core.verdict import VerdictStatus
from creval.reporting.repeated_answers import summarise_answers
from creval.store.run import METRIC_VOICE_PREFIX, VerdictRow, reduce_answers
from creval.web.common.pages import link
from creval.web.viewer.snapshot import AnswerState, Snapshot, probe_credit

STATE_SIGNS = {
    AnswerState.RIGHT: "✓",
    AnswerState.WRONG: "✗",
    AnswerState.UNANSWERED: "–",
    AnswerState.UNASKED: "·",
    AnswerState.NO_EDIT: "",
    AnswerState.UNSCORED: "",
}


class ModelAnswer(NamedTuple):
    """The combined answer about a model's edit: state, sign and text."""

    state: str
    sign: str
    text: str


class VoiceAnswer(NamedTuple):
    """The answer of one voice about one edit, with its explanation and a link to the raw reply."""

    edit: EditKey
    draw: str
    voice: str
    answer: ModelAnswer
    status: str
    explanation: str
    reply: str


def model_answer(
    snapshot: Snapshot, probe: Probe, verdicts: Sequence[VerdictRow], edit_of: tuple[str, str] = ("", "")
) -> ModelAnswer:
    """Return the combined answer of all voices about a model's edit of a sample.

    `edit_of` are the names of the model and the sample. If there are several draws, the state is that of their mean.
    """
    plain = [one for one in verdicts if not one.variant]
    if not plain and edit_of in snapshot.unsupported:
        return _make_answer(snapshot, AnswerState.UNSCORED, "not supported")
    if not plain and edit_of in snapshot.without_edit:
        return _make_answer(snapshot, AnswerState.NO_EDIT, "no edit")
    if not plain:
        return _make_answer(snapshot, AnswerState.UNASKED, "")
    draws: dict[int, list[float | None]] = {}
    for one in plain:
        draws.setdefault(one.edit.draw, []).append(one.value)
    values = [reduce_answers(probe, given, uses_probabilities(snapshot)) for given in draws.values()]
    summary = summarise_answers(probe, plain, use_mean=uses_probabilities(snapshot), digits=_digits(snapshot, probe))
    return _make_answer(snapshot, _combined_state(snapshot, probe, values), summary.text)


def voice_answers(snapshot: Snapshot, probe: Probe, verdicts: Sequence[VerdictRow]) -> list[VoiceAnswer]:
    """Return the answer of each voice."""
    several = len({(one.judge, one.repeat, one.variant) for one in verdicts}) > 1
    draws = len({one.edit.draw for one in verdicts}) > 1
    return [
        VoiceAnswer(
            one.edit,
            f"draw {one.edit.draw}" if draws else "",
            voice_label(one.judge, one.repeat, one.variant) if several else "",
            _make_answer(snapshot, _combined_state(snapshot, probe, [one.value]), _answer_text(snapshot, probe, one)),
            "" if one.status == VerdictStatus.ANSWERED.value else one.status,
            one.explanation,
            "" if one.reply_id is None else link("/reply", id=one.reply_id),
        )
        for one in verdicts
    ]


def voice_label(judge: str, repeat: int, variant: str) -> str:
    """Return the label of a voice: the judge, and the repeat and variant if there are any."""
    name = judge.removeprefix(METRIC_VOICE_PREFIX)
    again = f", repeat {repeat + 1}" if repeat else ""
    return f"{name}{again}{f' ({variant})' if variant else ''}"


def uses_probabilities(snapshot: Snapshot) -> bool:
    """Return whether the run's values are probabilities."""
    return bool(snapshot.manifest.get("settings", {}).get("logprobs"))


def scale_text(probe: Probe) -> str:
    """Return the description of a question's answer scale, or "" for a measurement."""
    return "" if isinstance(probe, Measurement) else get_scale(probe.scale).description


def _combined_state(snapshot: Snapshot, probe: Probe, values: Sequence[float | None]) -> AnswerState:
    credits_ = [probe_credit(snapshot.protocol, probe, value) for value in values]
    graded = [credit for credit in credits_ if credit is not None]
    if graded:
        return AnswerState.RIGHT if sum(graded) > 0.5 * len(graded) else AnswerState.WRONG
    return AnswerState.UNANSWERED if all(value is None for value in values) else AnswerState.UNSCORED


def _answer_text(snapshot: Snapshot, probe: Probe, verdict: VerdictRow) -> str:
    digits = _digits(snapshot, probe)
    return summarise_answers(probe, [verdict], use_mean=uses_probabilities(snapshot), digits=digits).text


def _digits(snapshot: Snapshot, probe: Probe) -> Digits | None:
    return snapshot.schema.find_metric(probe.metric).digits if isinstance(probe, Measurement) else None


def _make_answer(snapshot: Snapshot, state: AnswerState, words: str) -> ModelAnswer:
    sign = STATE_SIGNS[state]
    if snapshot.has_grades and state in (AnswerState.RIGHT, AnswerState.WRONG):
        sign = ""
    return ModelAnswer(state.name.lower(), sign, words)
