"""How an edit came about: its steps, at each what there was to pick from, and what was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from creval.core.edit_record import Edit


class Candidate(NamedTuple):
    """A picture on the way, and its place there: none where it is the edit itself. `picked` where
    there were several and it was taken; `score` is what the judge who picked gave it."""

    edit: Edit
    position: int | None
    picked: bool
    score: float | None


class EditStep(NamedTuple):
    """One step: what was to be done, how that was planned, and the pictures that came of it."""

    instruction: str
    plan: str
    candidates: tuple[Candidate, ...]


def edit_steps(edit: Edit) -> list[EditStep]:
    """The steps to an edit, the first first; none where it was made at once, without a plan. What
    it came to itself is a step only where there is a picture of it."""
    if not edit.ancestors:
        plan = _text(edit, "plan")
        return [EditStep(_text(edit, "instruction"), plan, ())] if plan else []
    groups: dict[str, list[tuple[int | None, Edit]]] = {}
    for place, one in enumerate(edit.ancestors):
        groups.setdefault(one.key.sample, []).append((place, one))
    if edit.key.sample not in groups and edit.image is not None:
        groups[edit.key.sample] = [(None, edit)]
    return [_edit_step(several) for several in groups.values()]


def is_linear(steps: Sequence[EditStep]) -> bool:
    """Whether each step is one picture, and no more is told about it."""
    return all(len(stage.candidates) == 1 and not stage.plan for stage in steps)


def _edit_step(several: list[tuple[int | None, Edit]]) -> EditStep:
    scores: Mapping[object, object] = {}
    for _, one in several:
        given = one.metadata.get("scores")
        scores = given if isinstance(given, Mapping) else scores
    tries = tuple(
        Candidate(
            one,
            place,
            len(several) > 1 and "picked_from" in one.metadata,
            _number(scores.get(str(one.key.draw), scores.get(one.key.draw))),
        )
        for place, one in several
    )
    first = several[0][1]
    return EditStep(_text(first, "instruction"), _text(first, "plan"), tries)


def _text(edit: Edit, fact: str) -> str:
    found = edit.metadata.get(fact, "")
    return found if isinstance(found, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
