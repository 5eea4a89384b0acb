"""What was answered, as it is shown: one model's answer to one question, and each voice's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from creval.core import formatting
from creval.core.edit import EditKey
from creval.core.probe import Measurement, Probe
from creval.core.scales import contract_named
from creval.core.schema import Digits
from creval.core.verdict import Status
from creval.store.lookup import Heard
from creval.store.run import VOICE, reduced
from creval.web.common.pages import link
from creval.web.viewer.snapshot import Snapshot, State, state_of

SIGNS = {
    State.RIGHT: "✓",
    State.WRONG: "✗",
    State.UNANSWERED: "–",
    State.UNASKED: "·",
    State.UNSCORED: "",
}


class Said(NamedTuple):
    """A model's answer to a question: how it ended, and in which words."""

    state: str
    sign: str
    words: str


class Told(NamedTuple):
    """One voice's answer about one edit, with what it explained and where its reply is."""

    edit: EditKey
    draw: str
    voice: str
    said: Said
    status: str
    explanation: str
    reply: str


def said_by(
    at: Snapshot, probe: Probe, heard: Sequence[Heard], whose: tuple[str, str] = ("", "")
) -> Said:
    """What all voices together said about one system's edits; of several draws the mean counts.

    `whose` is the system and the sample: nobody is asked about what a system does not support.
    """
    plain = [one for one in heard if not one.variant]
    if not plain and whose in at.unsupported:
        return _said(at, State.UNSCORED, "not supported")
    if not plain:
        return _said(at, State.UNASKED, "")
    draws: dict[int, list[float | None]] = {}
    for one in plain:
        draws.setdefault(one.edit.draw, []).append(one.value)
    values = [reduced(probe, given, weighed(at)) for given in draws.values()]
    return _said(at, _state(at, probe, values), _together(at, probe, plain))


def _together(at: Snapshot, probe: Probe, heard: Sequence[Heard]) -> str:
    """Several answers in a few words: how often each was given, or on a scale their mean."""
    counts = Counter(_word(at, probe, one) for one in heard)
    if len(counts) == 1:
        return next(iter(counts))
    given = [one.value for one in heard if one.value is not None]
    if given and (isinstance(probe, Measurement) or probe.contract != "yes/no" or weighed(at)):
        mean = formatting.value(sum(given) / len(given), Digits(2 if max(given) > 1 else 4))
        rest = f" of {len(heard)}" if len(given) < len(heard) else ""
        return f"{mean} (mean of {len(given)}{rest})"
    return ", ".join(
        f"{word} × {count}" if count > 1 else word for word, count in counts.most_common()
    )


def told(at: Snapshot, probe: Probe, heard: Sequence[Heard]) -> list[Told]:
    """Each voice's answer by itself."""
    several = len({(one.judge, one.repeat, one.variant) for one in heard}) > 1
    draws = len({one.edit.draw for one in heard}) > 1
    return [
        Told(
            one.edit,
            f"draw {one.edit.draw}" if draws else "",
            voice(one.judge, one.repeat, one.variant) if several else "",
            _said(at, _state(at, probe, [one.value]), _word(at, probe, one)),
            "" if one.status == Status.ANSWERED.value else one.status,
            one.explanation,
            "" if one.reply is None else link("/reply", id=one.reply),
        )
        for one in heard
    ]


def voice(judge: str, repeat: int, variant: str) -> str:
    """Who spoke: a judge, in which repeat, and in which variant if it is not the plain one."""
    name = judge.removeprefix(VOICE)
    again = f", repeat {repeat + 1}" if repeat else ""
    return f"{name}{again}{f' ({variant})' if variant else ''}"


def weighed(at: Snapshot) -> bool:
    """Whether values are probabilities."""
    return bool(at.manifest.get("settings", {}).get("logprobs"))


def scale_of(probe: Probe) -> str:
    """The scale that a question is answered on, in words."""
    return "" if isinstance(probe, Measurement) else contract_named(probe.contract).scale


def _state(at: Snapshot, probe: Probe, values: Sequence[float | None]) -> State:
    states = [state_of(at.protocol, probe, value) for value in values]
    graded = [
        credit
        for value in values
        if not isinstance(probe, Measurement)
        and (credit := at.protocol.credit(probe, value)) is not None
    ]
    if graded:
        return State.RIGHT if sum(graded) > 0.5 * len(graded) else State.WRONG
    return State.UNSCORED if State.UNSCORED in states else State.UNANSWERED


def _word(at: Snapshot, probe: Probe, one: Heard) -> str:
    if one.value is None:
        return one.status
    if isinstance(probe, Measurement):
        return formatting.value(one.value, at.card.metric(probe.metric).digits)
    said = one.said or f"{one.value:g}"
    return f"{said} ({one.value:.2f})" if weighed(at) and one.value not in (0.0, 1.0) else said


def _said(at: Snapshot, state: State, words: str) -> Said:
    sign = SIGNS[state]
    if at.graded and state in (State.RIGHT, State.WRONG):
        sign = ""
    return Said(state.name.lower(), sign, words)
