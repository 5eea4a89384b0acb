"""History of an edit: its steps, the candidates of each step, and the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from creval.core.edit_record import Edit


class Candidate(NamedTuple):
    """An image that a step of an edit produced: an intermediate image, or the edit itself.

    `position` is its index among the edit's ancestors, or None for the edit itself. `score` is the score by which
    candidates were compared.
    """

    edit: Edit
    position: int | None
    picked: bool
    score: float | None


class EditStep(NamedTuple):
    """One step of an edit: its instruction, its plan, and the images it produced."""

    instruction: str
    plan: str
    candidates: tuple[Candidate, ...]


def edit_steps(edit: Edit) -> list[EditStep]:
    """Return the steps that led to an edit. Empty if it was made in one step without a plan."""
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
    """Return whether every step has exactly one image and no plan."""
    return all(len(stage.candidates) == 1 and not stage.plan for stage in steps)


def _edit_step(several: list[tuple[int | None, Edit]]) -> EditStep:
    scores: Mapping[object, object] = {}
    for _, one in several:
        given = one.metadata.get("scores")
        scores = given if isinstance(given, Mapping) else scores
    candidates = []
    for place, one in several:
        score = scores.get(str(one.key.draw), scores.get(one.key.draw))
        picked = len(several) > 1 and "picked_from" in one.metadata
        candidates.append(Candidate(one, place, picked, float(score) if isinstance(score, int | float) else None))
    first = several[0][1]
    return EditStep(_text(first, "instruction"), _text(first, "plan"), tuple(candidates))


def _text(edit: Edit, fact: str) -> str:
    found = edit.metadata.get(fact, "")
    return found if isinstance(found, str) else ""
