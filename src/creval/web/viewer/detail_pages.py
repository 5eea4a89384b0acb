"""A sample, a question and a reply: everything that a score rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from creval.core import formatting
from creval.core.errors import CrevalError
from creval.core.probe import Measurement, Question
from creval.core.sample import Sample
from creval.store.lookup import CloseUp, Heard
from creval.web.common.pages import link
from creval.web.viewer.answers import Said, Told, said_by, scale_of, told, voice
from creval.web.viewer.filters import Choice, known
from creval.web.viewer.lists import ranked
from creval.web.viewer.neighbours import counted, neighbours
from creval.web.viewer.sample_images import compared, pictures_of, pretty, ways_of
from creval.web.viewer.snapshot import Item, Snapshot


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


def sample(at: Snapshot, run: CloseUp, choice: Choice, given: dict[str, str]) -> dict[str, Any]:
    """What a sample's page shows."""
    found = at.samples[_sample_named(at, given.get("id", ""))]
    edits = run.made(found.id)
    pictures = pictures_of(at, found, edits)
    rows = _rows(at, choice, found, run.heard([found.id]))
    left, right = compared(pictures, choice, given)
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
        "ways": ways_of(at, found, edits),
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
        "pictures": pictures_of(at, found, run.made(found.id)),
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
        ("Cost", "" if found.reply.cost is None else formatting.money(found.reply.cost)),
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
        "parameters": pretty(found.detail.get("parameters")),
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
    inside = counted(choice, at)[span.start : span.stop]
    rows = []
    for item in at.probes(sample.id):
        row = _row(at, choice, item, by_probe.get(item.probe.id, ()))
        here = bool(inside[item.place])
        rows.append(row._replace(failed=row.failed and here, chosen=choice.narrow and here))
    return rows


def _row(at: Snapshot, choice: Choice, item: Item, heard: Sequence[Heard]) -> Row:
    probe = item.probe
    systems = ranked(at)
    by_system: dict[str, list[Heard]] = {system: [] for system in systems}
    for one in heard:
        by_system.setdefault(one.edit.system, []).append(one)
    said = [said_by(at, probe, by_system[name], (name, item.sample)) for name in systems]
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


def _detail(item: Item) -> list[tuple[str, str]]:
    """What else is known about a question, or about a measurement."""
    if isinstance(item.probe, Measurement):
        return [("Gauge", item.probe.gauge), ("Rests on", pretty(dict(item.probe.parameters)))]
    probe = item.probe
    found = [
        ("Answered with", scale_of(probe)),
        ("The judge sees", ", ".join(probe.shows)),
        ("About step", "" if probe.step is None else str(probe.step + 1)),
        ("Rubric", probe.rubric),
        ("Label in the release", probe.label),
    ]
    return [(name, value) for name, value in found if value]


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
