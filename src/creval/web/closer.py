"""A sample, a question and a reply: everything that a score rests on."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError
from creval.core.images import ImageError, size_of
from creval.core.probe import EditKey, Measurement, Question
from creval.core.sample import Edit, Sample
from creval.report import text
from creval.store.closeup import CloseUp, Heard
from creval.web.answers import Said, Told, said_by, scale_of, told, voice
from creval.web.choice import (
    Choice,
    chosen_items,
    chosen_samples,
    groups,
    known,
    link,
    sample_values,
)
from creval.web.lists import ranked
from creval.web.pictures import MASK, REFERENCE, SOURCE, edit_name
from creval.web.scores import outcome_words
from creval.web.snapshot import Item, Snapshot, State


class Picture(NamedTuple):
    """A picture of a sample, or the reason why there is none."""

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


class Row(NamedTuple):
    """A question of a sample, with each model's answer and each voice's words."""

    item: Item
    anchor: str
    text: str
    weight: str
    reference: str
    released: str
    scale: str
    href: str
    failed: bool
    chosen: bool
    said: Sequence[Said]
    told: Sequence[Told]


class Neighbours(NamedTuple):
    """Where the keys lead from a sample, and where it stands in which list."""

    place: int
    total: int
    words: str
    back: str
    previous: str
    next: str
    failure: str


def sample(at: Snapshot, run: CloseUp, choice: Choice, given: dict[str, str]) -> dict[str, Any]:
    """What a sample's page shows."""
    found = at.samples[_sample_named(at, given.get("id", ""))]
    pictures = _pictures(at, found, run.made(found.id))
    rows = _rows(at, choice, found, run.heard([found.id]))
    left, right = _compared(pictures, choice, given)
    return {
        "sample": found,
        "tags": [
            (level.name.replace("_", " "), found.tags[level.name],
             link("/samples", group=f"{level.name}:{found.tags[level.name]}"))
            for level in at.card.levels
            if level.tagged and found.tags.get(level.name) in level.groups
        ],
        "pictures": pictures,
        "shown": [picture for picture in pictures if not picture.missing],
        "left": left,
        "right": right,
        "metrics": [
            (metric, [row for row in rows if row.item.probe.metric == metric.name])
            for metric in at.card.metrics
            if metric.name in {row.item.probe.metric for row in rows}
        ],
        "systems": ranked(at),
        "near": neighbours(at, choice, found.id, {s: given.get(s, "") for s in ("left", "right")}),
    }  # fmt: skip


def question(at: Snapshot, run: CloseUp, choice: Choice, given: dict[str, str]) -> dict[str, Any]:
    """What a question's page shows."""
    found = at.samples[_sample_named(at, given.get("sample", ""))]
    items = at.probes(found.id)
    name = known("question", given.get("id", ""), tuple(item.probe.id for item in items))
    if not name:
        raise CrevalError("say which question: id=METRIC/NUMBER.")
    item = next(item for item in items if item.probe.id == name)
    heard = run.heard([found.id], [name])
    row = _row(at, choice, item, heard)
    near = {
        side: link("/question", sample=found.id, id=items[place].probe.id, **choice.given)
        if 0 <= place < len(items)
        else ""
        for side, place in (("previous", item.place - 1), ("next", item.place + 1))
    }
    return {
        "sample": found,
        "row": row,
        "metric": at.card.metric(item.probe.metric),
        "question": item.probe if isinstance(item.probe, Question) else None,
        "measurement": item.probe if isinstance(item.probe, Measurement) else None,
        "detail": _detail(item),
        "systems": ranked(at),
        "pictures": _pictures(at, found, run.made(found.id)),
        "near": near,
        "back": link("/sample", id=found.id, **choice.given) + f"#{row.anchor}",
        "place": item.place + 1,
        "count": len(items),
    }


def reply(at: Snapshot, run: CloseUp, number: str) -> dict[str, Any]:
    """What a reply's page shows: what the judge sent, letter by letter."""
    there = number.isascii() and number.isdigit() and len(number) < 18
    found = run.reply(int(number)) if there else None
    if found is None:
        raise CrevalError("there is no such reply in this run.")
    prompt = str(found.detail.get("prompt", ""))
    facts = [
        ("Status", found.reply.status.value),
        ("Attempt", str(found.reply.attempt)),
        ("From", found.reply.origin),
        ("Tokens in", _number(found.reply.tokens_in)),
        ("Tokens out", _number(found.reply.tokens_out)),
        ("Cost", "" if found.reply.cost is None else text.money(found.reply.cost)),
        ("Latency", "" if found.reply.latency is None else f"{found.reply.latency:.2f} s"),
    ]
    return {
        "request": found,
        "voice": voice(found.judge, found.repeat, found.variant),
        "number": number,
        "questions": [
            (name, link("/question", sample=found.edit.sample, id=name)) for name in found.probes
        ],
        "facts": [(name, value) for name, value in facts if value],
        "parameters": _pretty(found.detail.get("parameters")),
        "prompt": prompt,
        "prompt_text": str(at.manifest.get("prompts", {}).get(prompt, "")),
        "back": link("/sample", id=found.edit.sample),
    }


def _sample_named(at: Snapshot, given: str) -> str:
    name = known("sample", given, tuple(at.samples))
    if not name:
        raise CrevalError("say which sample: id=SAMPLE.")
    return name


def _rows(at: Snapshot, choice: Choice, sample: Sample, heard: Sequence[Heard]) -> list[Row]:
    by_probe: dict[str, list[Heard]] = {}
    for one in heard:
        by_probe.setdefault(one.probe, []).append(one)
    span = at.spans[sample.id]
    counted = _counted(choice, at)[span.start : span.stop]
    rows = []
    for item in at.probes(sample.id):
        row = _row(at, choice, item, by_probe.get(item.probe.id, ()))
        here = bool(counted[item.place])
        rows.append(row._replace(failed=row.failed and here, chosen=choice.narrow and here))
    return rows


def _counted(choice: Choice, at: Snapshot) -> NDArray[np.bool_]:
    """Which questions a choice is about, however they ended and for whom."""
    mask = np.zeros(len(at.items), dtype=np.bool_)
    mask[chosen_items(choice.but(outcome="", model=""), at)] = True
    return mask


def _row(at: Snapshot, choice: Choice, item: Item, heard: Sequence[Heard]) -> Row:
    probe = item.probe
    systems = ranked(at)
    by_system: dict[str, list[Heard]] = {system: [] for system in systems}
    for one in heard:
        by_system.setdefault(one.edit.system, []).append(one)
    said = [said_by(at, probe, by_system[system]) for system in systems]
    counted = [
        one.state for system, one in zip(systems, said, strict=True) if choice.model in ("", system)
    ]
    asked = probe if isinstance(probe, Question) else None
    return Row(
        item,
        f"q{item.place + 1}",
        asked.text if asked else f"measured by {getattr(probe, 'gauge', '')}",
        f"{asked.weight:g}" if asked and at.known_weights else "",
        (asked.reference or "") if asked else "",
        asked.released if asked and asked.released != (asked.reference or "") else "",
        scale_of(probe),
        link("/question", sample=item.sample, id=probe.id, **choice.given),
        "wrong" in counted,
        False,
        said,
        [one for system in systems for one in told(at, probe, by_system[system])],
    )


def _pictures(at: Snapshot, sample: Sample, edits: Sequence[Edit]) -> list[Picture]:
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
        missing = "" if edit.image else edit.reason or f"the edit is {edit.status}"
        made = _picture(sample, edit_name(key), title, edit.image, missing)
        found.append(
            made._replace(
                system=key.system,
                scores=_scores(at, key),
                facts=_pretty(dict(edit.facts)),
                parents=[(_told_parent(p), link("/sample", id=p.sample)) for p in edit.parents],
            )
        )
    return found


def _told_parent(key: EditKey) -> str:
    return f"{key.system}, {key.sample}, draw {key.draw}"


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
            found.append((column, text.value(value, at.card.metric(column).digits)))
    return found


def _compared(
    pictures: Sequence[Picture], choice: Choice, given: dict[str, str]
) -> tuple[Picture | None, Picture | None]:
    """The two pictures that a slider goes between: those asked for, or the source and an edit."""
    there = [picture for picture in pictures if not picture.missing]
    if len(there) < 2:
        return None, None
    by_name = {text.visible(picture.name): picture for picture in there}
    by_name |= {picture.name: picture for picture in there}
    edits = [picture for picture in there if picture.system]
    wanted = [picture for picture in edits if picture.system == choice.model]
    left = by_name.get(given.get("left", ""), there[0])
    usual = (wanted or edits or there[1:])[0]
    right = by_name.get(given.get("right", ""), usual)
    if left == right and not given.get("right"):
        right = next(picture for picture in reversed(there) if picture != left)
    return left, right


def neighbours(
    at: Snapshot, choice: Choice, sample: str, kept: Mapping[str, str] = MappingProxyType({})
) -> Neighbours:
    """The samples before and behind one in the list that it was chosen from, and the next behind it
    that a model failed in. What is `kept` goes along."""
    names, _ = chosen_samples(choice, at)
    if sample not in names:  # somebody came another way
        choice, names = Choice(model=choice.model), list(at.samples)
    here = names.index(sample)

    def to(place: int) -> str:
        there = 0 <= place < len(names)
        return link("/sample", id=names[place], **choice.given, **kept) if there else ""

    wrong = at.states == State.WRONG
    if choice.model:
        wrong = wrong[:, [at.systems.index(choice.model)]]
    failed = wrong.any(axis=1) & _counted(choice, at)
    failure = ""
    for place in range(here + 1, len(names)):
        span = at.spans[names[place]]
        first = np.flatnonzero(failed[span.start : span.stop])
        if len(first):
            failure = f"{to(place)}#q{first[0] + 1}"
            break
    return Neighbours(
        here + 1,
        len(names),
        described(at, choice),
        link("/samples", **choice.given),
        to(here - 1),
        to(here + 1),
        failure,
    )


def described(at: Snapshot, choice: Choice) -> str:
    """A choice in words."""
    words = outcome_words(at)
    parts = [
        groups(at)[choice.group][1] if choice.group else "",
        choice.model,
        choice.metric,
        words[choice.outcome] if choice.outcome else "",
        f"weight {choice.weight}" if choice.weight else "",
        "models disagree" if choice.split else "",
    ]
    return ", ".join(part for part in parts if part) or "all samples"


def _detail(item: Item) -> list[tuple[str, str]]:
    """What else is known about a question, or about a measurement."""
    if isinstance(item.probe, Measurement):
        return [("Gauge", item.probe.gauge), ("Rests on", _pretty(dict(item.probe.parameters)))]
    probe = item.probe
    found = [
        ("Answered with", scale_of(probe)),
        ("The judge sees", ", ".join(probe.shows)),
        ("About step", "" if probe.step is None else str(probe.step + 1)),
        ("Rubric", probe.rubric),
        ("Label in the release", probe.label),
    ]
    return [(name, value) for name, value in found if value]


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
