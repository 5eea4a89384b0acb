"""The lists of samples and of questions, and their filter forms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from creval.core import formatting
from creval.core.probe import Question
from creval.store.lookup import RunLookup
from creval.store.run import VerdictRow
from creval.web.common.browser_images import SOURCE, edit_image_name, file_etag
from creval.web.common.pages import SelectOption, link, paginate
from creval.web.viewer.answer_views import ModelAnswer, model_answer
from creval.web.viewer.filters import (
    ORDERS,
    OUTCOMES,
    Filters,
    column_values,
    describe_filters,
    filter_items,
    filter_samples,
    filterable_groups,
    outcome_labels,
)
from creval.web.viewer.snapshot import SampleProbe, Snapshot


class SampleRow(NamedTuple):
    """A sample in a list."""

    sample: str
    instruction: str
    groups: Sequence[str]
    href: str
    image: str
    edit_image: str
    values: Sequence[str]
    matches: int


class QuestionRow(NamedTuple):
    """A question in a list, with the answer about each model."""

    item: SampleProbe
    weight: str
    reference: str
    href: str
    answers: Sequence[ModelAnswer]


class FilterSelect(NamedTuple):
    """A select field of the filter form. Its options may be grouped under headings."""

    name: str
    label: str
    options: Sequence[tuple[str, Sequence[SelectOption]]]


def samples_page(snapshot: Snapshot, run: RunLookup, filters: Filters, params: Mapping[str, str]) -> dict[str, Any]:
    """Return the template variables of a page of the samples that pass the filters."""
    names, counts = filter_samples(filters, snapshot)
    page = paginate(params.get("page", ""), len(names), "/samples", filters.params)
    column = filters.metric or snapshot.schema.ranking_column
    values, digits = column_values(snapshot, column), snapshot.schema.find_metric(column).digits
    models = models_by_rank(snapshot)
    names = names[page.first_line - 1 : page.last_line]
    made = run.first_image_paths(filters.model, names) if filters.model else {}
    edits = {key.sample: (edit_image_name(key), path) for key, path in made.items()}
    lines = []
    for name in names:
        sample = snapshot.samples[name]
        numbers = [values[snapshot.models.index(model), snapshot.sample_positions[name]] for model in models]
        lines.append(
            SampleRow(
                name,
                sample.instruction,
                tuple(dict.fromkeys(sample.tags.values())),
                link("/sample", id=name, **filters.params),
                _thumbnail_url(name, SOURCE, sample.source),
                _thumbnail_url(name, *edits.get(name, ("", None))),
                [formatting.format_value(None if math.isnan(n) else n, digits) for n in numbers],
                counts[name],
            )
        )
    return {
        "page": page,
        "lines": lines,
        "models": models,
        "column": column,
        "selects": filter_selects(snapshot, filters, sortable=True),
        "asked": len(filter_items(filters, snapshot)),
        "words": describe_filters(snapshot, filters),
    }


def _thumbnail_url(sample: str, name: str, path: Path | None) -> str:
    """Return the URL of an image's thumbnail, or "" if the image's file does not exist."""
    if path is None or not file_etag(path):
        return ""
    return link("/image", sample=sample, name=name, size="small")


def questions_page(snapshot: Snapshot, run: RunLookup, filters: Filters, params: Mapping[str, str]) -> dict[str, Any]:
    """Return the template variables of a page of the questions that pass the filters."""
    places = filter_items(filters, snapshot)
    page = paginate(params.get("page", ""), len(places), "/questions", filters.params)
    items = [snapshot.items[place] for place in places[page.first_line - 1 : page.last_line].tolist()]
    verdicts = _verdicts_by_question(run, items)
    lines = []
    for item in items:
        question = item.probe if isinstance(item.probe, Question) else None
        lines.append(
            QuestionRow(
                item,
                f"{question.weight:g}" if question else "",
                (question.reference or "") if question else "",
                link("/question", sample=item.sample, id=item.probe.id, **filters.params),
                [
                    model_answer(
                        snapshot,
                        item.probe,
                        verdicts.get((model, item.sample, item.probe.id), ()),
                        (model, item.sample),
                    )
                    for model in models_by_rank(snapshot)
                ],
            )
        )
    return {
        "page": page,
        "lines": lines,
        "models": models_by_rank(snapshot),
        "selects": filter_selects(snapshot, filters, sortable=False),
        "words": describe_filters(snapshot, filters),
    }


def _verdicts_by_question(run: RunLookup, items: Sequence[SampleProbe]) -> dict[tuple[str, str, str], list[VerdictRow]]:
    found: dict[tuple[str, str, str], list[VerdictRow]] = {}
    if items:
        samples = tuple(dict.fromkeys(item.sample for item in items))
        for one in run.verdicts_for(samples, tuple(dict.fromkeys(item.probe.id for item in items))):
            found.setdefault((one.edit.model, one.edit.sample, one.probe), []).append(one)
    return found


def models_by_rank(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the models, the best first. Models without a rank are at the end."""
    if snapshot.scores is None:
        return snapshot.models
    best = [name for name in snapshot.scores.models if name in snapshot.models]
    return (*best, *(name for name in snapshot.models if name not in best))


def filter_selects(snapshot: Snapshot, filters: Filters, *, sortable: bool) -> list[FilterSelect]:
    """Return the fields of the filter form with the current selection."""
    words = outcome_labels(snapshot)
    shown = {name: words[name] for name in OUTCOMES}
    if snapshot.measured_only:
        shown = {name: word for name, word in shown.items() if name not in ("right", "wrong")}
    columns = snapshot.schema.columns if sortable else snapshot.metrics
    found = [
        _filter_select("model", "Model", "any model", {name: name for name in models_by_rank(snapshot)}, filters),
        _group_select(snapshot, filters),
        _filter_select("metric", "Metric", "every metric", {name: name for name in columns}, filters),
        _filter_select("outcome", "Outcome", "any outcome", shown, filters),
    ]
    if snapshot.distinct_weights:
        weights = {f"{weight:g}": f"{weight:g}" for weight in snapshot.distinct_weights}
        found.append(_filter_select("weight", "Weight", "any weight", weights, filters))
    if len(snapshot.models) > 1 and not snapshot.measured_only:
        split = {"yes": "disagree"}
        found.append(_filter_select("split", "Models", "any", split, filters))
    if sortable:
        named = dict(zip(ORDERS, ("worst first", "best first", "largest difference first"), strict=True))
        found.append(_filter_select("order", "Order", "as in the benchmark", named, filters))
    return found


def _filter_select(name: str, label: str, any_label: str, options: Mapping[str, str], filters: Filters) -> FilterSelect:
    set_to = getattr(filters, name)
    listed = [SelectOption(value, words, value == set_to) for value, words in options.items()]
    return FilterSelect(name, label, [("", [SelectOption("", any_label, not set_to), *listed])])


def _group_select(snapshot: Snapshot, filters: Filters) -> FilterSelect:
    used = {sample_tag for s in snapshot.samples.values() for sample_tag in s.tags.items()}
    by_level: dict[str, list[SelectOption]] = {}
    for level in (level for level in snapshot.schema.levels if level.groups_sub_scores):
        used |= {(level.name, level.groups[at]) for at in np.unique(snapshot.item_groups[level.name]) if at >= 0}
    for value, (level, group) in filterable_groups(snapshot).items():
        if (level.name, group) in used:
            option = SelectOption(value, group, value == filters.group)
            by_level.setdefault(level.plural.replace("_", " "), []).append(option)
    every = ("", [SelectOption("", "all", not filters.group)])
    return FilterSelect("group", "Group", [every, *by_level.items()])
