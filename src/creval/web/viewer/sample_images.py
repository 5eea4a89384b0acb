"""The pictures of a sample: which there are, and which two of them are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from creval.core import formatting
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.images import ImageError, size_of
from creval.core.sample import Sample
from creval.report.edit_history import Stage, single, stages
from creval.web.common.images import MASK, REFERENCE, SOURCE, before_name, edit_name
from creval.web.common.pages import link
from creval.web.viewer.filters import Choice, sample_values
from creval.web.viewer.lists import ranked
from creval.web.viewer.snapshot import Snapshot

_TOLD = frozenset({"instruction", "plan", "scores", "picked_from"})  # where its way is shown
_STATES = {
    EditStatus.DONE: "No picture",
    EditStatus.ABSENT: "No picture",
    EditStatus.REFUSED: "Refused",
    EditStatus.FAILED: "Failed",
    EditStatus.UNSUPPORTED: "Not supported",
    EditStatus.IMPOSSIBLE: "Not possible",
}


class Picture(NamedTuple):
    """A picture of a sample, or the reason why there is none, and in a word what became of it."""

    name: str
    title: str
    missing: str
    width: int
    height: int
    medium: str
    full: str
    system: str = ""
    scores: Sequence[tuple[str, str]] = ()
    facts: str = ""
    parents: Sequence[tuple[str, str]] = ()
    state: str = "No picture"


class Way(NamedTuple):
    """How a model's edit came about; `single` where each step is one picture and no more."""

    system: str
    steps: Sequence[Step]
    single: bool


class Step(NamedTuple):
    """One step on the way to an edit: its words, how it was planned, and its pictures, each with
    its score from whoever picked, and whether it was picked."""

    words: str
    plan: str
    pictures: Sequence[tuple[Picture, str, bool]]


def pictures_of(at: Snapshot, sample: Sample, edits: Sequence[Edit]) -> list[Picture]:
    """The source, what else the sample brings, and all edits, the best model's first."""
    found = []
    if sample.source is not None:
        found.append(_picture(sample, SOURCE, "source", sample.source))
    if sample.mask is not None:
        found.append(_picture(sample, MASK, "mask", sample.mask))
    for number, path in enumerate(sample.references):
        title = "reference" if len(sample.references) == 1 else f"reference {number + 1}"
        found.append(_picture(sample, f"{REFERENCE}:{number}", title, path))
    order = {system: place for place, system in enumerate(ranked(at))}
    several = {e.key.system for e in edits if sum(o.key.system == e.key.system for o in edits) > 1}
    last = len(order)
    for edit in sorted(edits, key=lambda e: (order.get(e.key.system, last), e.key.draw)):
        key = edit.key
        title = f"{key.system}, draw {key.draw}" if key.system in several else key.system
        made = _edit(sample, edit_name(key), title, edit)
        told = _TOLD if stages(edit) else frozenset()
        facts = {name: fact for name, fact in edit.facts.items() if name not in told}
        parents = () if edit.before else edit.parents
        found.append(
            made._replace(
                system=key.system,
                scores=_scores(at, key),
                facts=pretty(facts),
                parents=[(_told_parent(p), link("/sample", id=p.sample)) for p in parents],
            )
        )
    return found


def _told_parent(key: EditKey) -> str:
    return f"{key.system}, {key.sample}, draw {key.draw}"


def ways_of(at: Snapshot, sample: Sample, edits: Sequence[Edit]) -> list[Way]:
    """How the edits of a sample came about, the best model's first, of those that were not made at
    once."""
    order = {system: place for place, system in enumerate(ranked(at))}
    edits = sorted(edits, key=lambda e: (order.get(e.key.system, len(order)), e.key.draw))
    ways = ((edit, stages(edit)) for edit in edits)
    return [
        Way(edit.key.system, [_step(at, sample, edit, *one) for one in enumerate(found, 1)],
            single(found))
        for edit, found in ways
        if found
    ]  # fmt: skip


def _step(at: Snapshot, sample: Sample, edit: Edit, number: int, stage: Stage) -> Step:
    digits = at.card.metric(at.card.ranking).digits
    pictures = []
    for one in stage.tries:
        name = edit_name(edit.key) if one.place is None else before_name(edit.key, one.place)
        title = f"{edit.key.system}, step {number}"
        if len(stage.tries) > 1:
            title += f", candidate {one.edit.key.draw}"
        value = "" if one.score is None else formatting.value(one.score, digits)
        score = f"{at.card.ranking} {value}" if value else ""
        pictures.append((_edit(sample, name, title, one.edit), score, one.picked))
    return Step(stage.words, stage.plan, pictures)


def _edit(sample: Sample, name: str, title: str, edit: Edit) -> Picture:
    """An edit's picture, or what became of it."""
    missing = "" if edit.image else edit.reason or "Nobody said why."
    return _picture(sample, name, title, edit.image, missing)._replace(state=_STATES[edit.status])


def _picture(
    sample: Sample, name: str, title: str, path: Path | None, missing: str = ""
) -> Picture:
    width = height = 0
    if path is not None:
        try:
            width, height = size_of(path)
        except ImageError as error:
            missing = str(error)
    return Picture(
        name,
        title,
        missing,
        width,
        height,
        link("/picture", sample=sample.id, name=name, size="medium"),
        link("/picture", sample=sample.id, name=name),
    )


def _scores(at: Snapshot, key: EditKey) -> list[tuple[str, str]]:
    """A system's scores on a sample, the one that ranks first."""
    if at.table is None or key.system not in at.systems:
        return []
    place = at.systems.index(key.system), at.places[key.sample]
    columns = sorted(at.card.columns, key=lambda column: column != at.card.ranking)
    found = []
    for column in columns:
        value = float(sample_values(at, column)[place])
        if not math.isnan(value):
            found.append((column, formatting.value(value, at.card.metric(column).digits)))
    return found


def compared(
    pictures: Sequence[Picture], choice: Choice, given: Mapping[str, str]
) -> tuple[Picture | None, Picture | None]:
    """The two pictures that a slider goes between: those asked for, or the source and an edit."""
    there = [picture for picture in pictures if not picture.missing]
    if len(there) < 2:
        return None, None
    by_name = {formatting.visible(picture.name): picture for picture in there}
    by_name |= {picture.name: picture for picture in there}
    edits = [picture for picture in there if picture.system]
    wanted = [picture for picture in edits if picture.system == choice.model]
    left = by_name.get(given.get("left", ""), there[0])
    usual = (wanted or edits or there[1:])[0]
    right = by_name.get(given.get("right", ""), usual)
    if left == right and not given.get("right"):
        right = next(picture for picture in reversed(there) if picture != left)
    return left, right


def pretty(value: object) -> str:
    """JSON for people; nothing for what is empty."""
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""
