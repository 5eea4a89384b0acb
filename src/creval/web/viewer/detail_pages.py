"""The pages of a sample, a question and a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from creval.core import formatting
from creval.core.errors import CrevalError
from creval.core.probe import Measurement, Question
from creval.core.sample import Sample
from creval.store.lookup import RunLookup
from creval.store.run import VerdictRow
from creval.web.common.pages import link
from creval.web.viewer.answer_views import (
    ModelAnswer,
    VoiceAnswer,
    model_answer,
    scale_text,
    voice_answers,
    voice_label,
)
from creval.web.viewer.filters import Filters, describe_filters, filter_samples, filtered_question_mask, require_name
from creval.web.viewer.list_pages import models_by_rank
from creval.web.viewer.sample_images import format_json, list_edit_histories, list_sample_images, select_compared
from creval.web.viewer.snapshot import AnswerState, SampleProbe, Snapshot


class QuestionDetail(NamedTuple):
    """A question of a sample, with the answers by model and by voice."""

    item: SampleProbe
    anchor: str
    text: str
    weight: str
    reference: str
    released: str
    scale: str
    href: str
    failed: bool
    selected: bool
    answers: Sequence[ModelAnswer]
    voice_answers: Sequence[VoiceAnswer]


class Neighbours(NamedTuple):
    """Position of a sample in the filtered list, and links to the previous, next and next failed sample."""

    position: int
    total: int
    description: str
    back: str
    previous: str
    next: str
    next_failure: str


def sample_page(snapshot: Snapshot, run: RunLookup, filters: Filters, params: dict[str, str]) -> dict[str, Any]:
    """Return the template variables of a sample's page."""
    found = snapshot.samples[require_name("sample", params.get("id", ""), tuple(snapshot.samples), "id=SAMPLE")]
    edits = run.edits_of(found.id)
    images = list_sample_images(snapshot, found, edits)
    rows = _question_details(snapshot, filters, found, run.verdicts_for([found.id]))
    left, right = select_compared(images, filters, params)
    return {
        "sample": found,
        "tags": [
            (
                level.name.replace("_", " "),
                found.tags[level.name],
                link("/samples", group=f"{level.name}:{found.tags[level.name]}"),
            )
            for level in snapshot.schema.levels
            if level.groups_samples and found.tags.get(level.name) in level.groups
        ],
        "images": images,
        "shown": [image for image in images if not image.missing],
        "histories": list_edit_histories(snapshot, found, edits),
        "left": left,
        "right": right,
        "metrics": [
            (metric, [row for row in rows if row.item.probe.metric == metric.name])
            for metric in snapshot.schema.metrics
            if metric.name in {row.item.probe.metric for row in rows}
        ],
        "models": models_by_rank(snapshot),
        "near": _find_neighbours(snapshot, filters, found.id, {s: params.get(s, "") for s in ("left", "right")}),
    }


def question_page(snapshot: Snapshot, run: RunLookup, filters: Filters, params: dict[str, str]) -> dict[str, Any]:
    """Return the template variables of a question's page."""
    found = snapshot.samples[require_name("sample", params.get("sample", ""), tuple(snapshot.samples), "id=SAMPLE")]
    items = snapshot.sample_items(found.id)
    names = tuple(item.probe.id for item in items)
    name = require_name("question", params.get("id", ""), names, "id=METRIC/NUMBER")
    item = next(item for item in items if item.probe.id == name)
    verdicts = run.verdicts_for([found.id], [name])
    row = _question_detail(snapshot, filters, item, verdicts)
    near = {
        side: link("/question", sample=found.id, id=items[place].probe.id, **filters.params)
        if 0 <= place < len(items)
        else ""
        for side, place in (("previous", item.position - 1), ("next", item.position + 1))
    }
    return {
        "sample": found,
        "row": row,
        "metric": snapshot.schema.find_metric(item.probe.metric),
        "question": item.probe if isinstance(item.probe, Question) else None,
        "measurement": item.probe if isinstance(item.probe, Measurement) else None,
        "detail": _probe_facts(item),
        "models": models_by_rank(snapshot),
        "images": list_sample_images(snapshot, found, run.edits_of(found.id)),
        "near": near,
        "back": link("/sample", id=found.id, **filters.params) + f"#{row.anchor}",
        "place": item.position + 1,
        "count": len(items),
    }


def reply_page(snapshot: Snapshot, run: RunLookup, number: str) -> dict[str, Any]:
    """Return the template variables of a reply's page: the raw reply and the details of its call."""
    valid = number.isascii() and number.isdigit() and len(number) < 18
    found = run.find_call(int(number)) if valid else None
    if found is None:
        raise CrevalError("there is no such reply in this run.")
    prompt = str(found.detail.get("prompt", ""))
    facts = [
        ("Status", found.reply.status.value),
        ("Attempt", str(found.reply.attempt)),
        ("Origin", found.reply.origin),
        ("Tokens in", _format_count(found.reply.tokens_in)),
        ("Tokens out", _format_count(found.reply.tokens_out)),
        ("Cost", "" if found.reply.cost is None else formatting.format_money(found.reply.cost)),
        ("Latency", "" if found.reply.latency is None else f"{found.reply.latency:.2f} s"),
    ]
    return {
        "request": found,
        "voice": voice_label(found.judge, found.repeat, found.variant),
        "number": number,
        "questions": [(name, link("/question", sample=found.edit.sample, id=name)) for name in found.probes],
        "facts": [(name, value) for name, value in facts if value],
        "parameters": format_json(found.detail.get("parameters")),
        "prompt": prompt,
        "prompt_text": str(snapshot.manifest.get("prompts", {}).get(prompt, "")),
        "back": link("/sample", id=found.edit.sample),
    }


def _find_neighbours(snapshot: Snapshot, filters: Filters, sample: str, extra_params: Mapping[str, str]) -> Neighbours:
    """Return the previous and next sample in the filtered list, and the next one with a failure."""
    names, _ = filter_samples(filters, snapshot)
    if sample not in names:  # opened by a link from elsewhere
        filters, names = Filters(model=filters.model), list(snapshot.samples)
    here = names.index(sample)

    def to(place: int) -> str:
        exists = 0 <= place < len(names)
        return link("/sample", id=names[place], **filters.params, **extra_params) if exists else ""

    wrong = snapshot.states == AnswerState.WRONG
    if filters.model:
        wrong = wrong[:, [snapshot.models.index(filters.model)]]
    failed = wrong.any(axis=1) & filtered_question_mask(filters, snapshot)
    failure = ""
    for place in range(here + 1, len(names)):
        span = snapshot.item_ranges[names[place]]
        first = np.flatnonzero(failed[span.start : span.stop])
        if len(first):
            failure = f"{to(place)}#q{first[0] + 1}"
            break
    return Neighbours(
        here + 1,
        len(names),
        describe_filters(snapshot, filters),
        link("/samples", **filters.params),
        to(here - 1),
        to(here + 1),
        failure,
    )


def _question_details(
    snapshot: Snapshot, filters: Filters, sample: Sample, verdicts: Sequence[VerdictRow]
) -> list[QuestionDetail]:
    by_probe: dict[str, list[VerdictRow]] = {}
    for one in verdicts:
        by_probe.setdefault(one.probe, []).append(one)
    span = snapshot.item_ranges[sample.id]
    inside = filtered_question_mask(filters, snapshot)[span.start : span.stop]
    rows = []
    for item in snapshot.sample_items(sample.id):
        row = _question_detail(snapshot, filters, item, by_probe.get(item.probe.id, ()))
        here = bool(inside[item.position])
        rows.append(row._replace(failed=row.failed and here, selected=filters.selects_questions and here))
    return rows


def _question_detail(
    snapshot: Snapshot, filters: Filters, item: SampleProbe, verdicts: Sequence[VerdictRow]
) -> QuestionDetail:
    probe = item.probe
    models = models_by_rank(snapshot)
    by_model: dict[str, list[VerdictRow]] = {model: [] for model in models}
    for one in verdicts:
        by_model.setdefault(one.edit.model, []).append(one)
    answers = [model_answer(snapshot, probe, by_model[name], (name, item.sample)) for name in models]
    counted = [one.state for model, one in zip(models, answers, strict=True) if filters.model in ("", model)]
    asked = probe if isinstance(probe, Question) else None
    return QuestionDetail(
        item,
        f"q{item.position + 1}",
        asked.text if asked else f"measured by {getattr(probe, 'image_metric', '')}",
        f"{asked.weight:g}" if asked and snapshot.distinct_weights else "",
        (asked.reference or "") if asked else "",
        asked.released_reference if asked and asked.released_reference != (asked.reference or "") else "",
        scale_text(probe),
        link("/question", sample=item.sample, id=probe.id, **filters.params),
        "wrong" in counted,
        False,
        answers,
        [one for model in models for one in voice_answers(snapshot, probe, by_model[model])],
    )


def _probe_facts(item: SampleProbe) -> list[tuple[str, str]]:
    """Return further facts about a question or measurement, as labels and texts."""
    if isinstance(item.probe, Measurement):
        return [("Metric", item.probe.image_metric), ("Parameters", format_json(dict(item.probe.parameters)))]
    probe = item.probe
    found = [
        ("Answer scale", scale_text(probe)),
        ("Shown to the judge", ", ".join(probe.shows)),
        ("Step", "" if probe.step is None else str(probe.step + 1)),
        ("Rubric", probe.rubric),
        ("Label in the release", probe.label),
    ]
    return [(name, value) for name, value in found if value]


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
