"""Lists of samples and of questions, and their filters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from creval.core import formatting
from creval.core.probe import Question
from creval.core.schema import Level
from creval.store.lookup import CloseUp, Heard
from creval.web.common.images import SOURCE, edit_name, state_of_file
from creval.web.common.pages import link, paged
from creval.web.viewer.answers import Said, said_by
from creval.web.viewer.filters import (
    ORDERS,
    OUTCOMES,
    Choice,
    chosen_items,
    chosen_samples,
    groups,
    sample_values,
)
from creval.web.viewer.score_pages import outcome_words
from creval.web.viewer.snapshot import Item, Snapshot


class SampleLine(NamedTuple):
    """A sample in a list."""

    sample: str
    instruction: str
    groups: Sequence[str]
    href: str
    picture: str
    edit: str
    values: Sequence[str]
    matches: int


class QuestionLine(NamedTuple):
    """A question in a list, with what each model was answered."""

    item: Item
    weight: str
    reference: str
    href: str
    said: Sequence[Said]


class Option(NamedTuple):
    value: str
    words: str
    chosen: bool


class Select(NamedTuple):
    """A filter of a form: its options, some of them under a heading."""

    name: str
    label: str
    options: Sequence[tuple[str, Sequence[Option]]]


def samples(at: Snapshot, run: CloseUp, choice: Choice, number: str) -> dict[str, Any]:
    """The samples that a choice leaves, a page of them."""
    names, counts = chosen_samples(choice, at)
    page = paged(number, len(names), "/samples", choice.given)
    column = choice.metric or at.card.ranking
    values, digits = sample_values(at, column), at.card.metric(column).digits
    systems = ranked(at)
    names = names[page.first_line - 1 : page.last_line]
    made = run.first_pictures(choice.model, names) if choice.model else {}
    edits = {key.sample: (edit_name(key), path) for key, path in made.items()}
    lines = []
    for name in names:
        sample = at.samples[name]
        numbers = [values[at.systems.index(system), at.places[name]] for system in systems]
        lines.append(
            SampleLine(
                name,
                sample.instruction,
                tuple(dict.fromkeys(sample.tags.values())),
                link("/sample", id=name, **choice.given),
                _thumbnail(name, SOURCE, sample.source),
                _thumbnail(name, *edits.get(name, ("", None))),
                [formatting.value(None if math.isnan(n) else n, digits) for n in numbers],
                counts[name],
            )
        )
    return {
        "page": page,
        "lines": lines,
        "systems": systems,
        "column": column,
        "selects": selects(at, choice, ordered=True),
        "asked": len(chosen_items(choice, at)),
    }


def _thumbnail(sample: str, name: str, path: Path | None) -> str:
    """Where a small picture is, if its file is there."""
    if path is None or not state_of_file(path):
        return ""
    return link("/picture", sample=sample, name=name, size="small")


def questions(at: Snapshot, run: CloseUp, choice: Choice, number: str) -> dict[str, Any]:
    """The questions that a choice leaves, a page of them, with all models' answers."""
    places = chosen_items(choice, at)
    page = paged(number, len(places), "/questions", choice.given)
    items = [at.items[place] for place in places[page.first_line - 1 : page.last_line].tolist()]
    heard = _heard(run, items)
    lines = []
    for item in items:
        question = item.probe if isinstance(item.probe, Question) else None
        lines.append(
            QuestionLine(
                item,
                f"{question.weight:g}" if question else "",
                (question.reference or "") if question else "",
                link("/question", sample=item.sample, id=item.probe.id, **choice.given),
                [
                    said_by(
                        at,
                        item.probe,
                        heard.get((system, item.sample, item.probe.id), ()),
                        (system, item.sample),
                    )
                    for system in ranked(at)
                ],
            )
        )
    return {
        "page": page,
        "lines": lines,
        "systems": ranked(at),
        "selects": selects(at, choice, ordered=False),
    }


def _heard(run: CloseUp, items: Sequence[Item]) -> dict[tuple[str, str, str], list[Heard]]:
    found: dict[tuple[str, str, str], list[Heard]] = {}
    if items:
        samples = tuple(dict.fromkeys(item.sample for item in items))
        for one in run.heard(samples, tuple(dict.fromkeys(item.probe.id for item in items))):
            found.setdefault((one.edit.system, one.edit.sample, one.probe), []).append(one)
    return found


def ranked(at: Snapshot) -> tuple[str, ...]:
    """The models, best first as far as that is known."""
    if at.scores is None:
        return at.systems
    best = [name for name in at.scores.systems if name in at.systems]
    return (*best, *(name for name in at.systems if name not in best))


def selects(at: Snapshot, choice: Choice, *, ordered: bool) -> list[Select]:
    """The filters of a list page, as they are set."""
    words = outcome_words(at)
    shown = {name: words[name] for name in OUTCOMES}
    if at.measured_only:
        shown = {name: word for name, word in shown.items() if name not in ("right", "wrong")}
    columns = at.card.columns if ordered else at.metrics
    found = [
        _select("model", "Model", "any model", {name: name for name in ranked(at)}, choice),
        _groups(at, choice),
        _select("metric", "Metric", "every metric", {name: name for name in columns}, choice),
        _select("outcome", "Outcome", "any outcome", shown, choice),
    ]
    if at.known_weights:
        weights = {f"{weight:g}": f"{weight:g}" for weight in at.known_weights}
        found.append(_select("weight", "Weight", "any weight", weights, choice))
    if len(at.systems) > 1 and not at.measured_only:
        split = {"yes": "they disagree"}
        found.append(_select("split", "Models", "agree or not", split, choice))
    if ordered:
        named = dict(zip(ORDERS, ("worst first", "best first", "furthest apart"), strict=True))
        found.append(_select("order", "Order", "as in the benchmark", named, choice))
    return found


def _select(
    name: str, label: str, every: str, options: Mapping[str, str], choice: Choice
) -> Select:
    set_to = getattr(choice, name)
    listed = [Option(value, words, value == set_to) for value, words in options.items()]
    return Select(name, label, [("", [Option("", every, not set_to), *listed])])


def _groups(at: Snapshot, choice: Choice) -> Select:
    there = {sample_tag for s in at.samples.values() for sample_tag in s.tags.items()}
    by_level: dict[str, list[Option]] = {}
    for value, (level, group) in groups(at).items():
        if level.parts or (level.name, group) in there:
            option = Option(value, group, value == choice.group)
            by_level.setdefault(heading(level), []).append(option)
    every = ("", [Option("", "all", not choice.group)])
    return Select("group", "Group", [every, *by_level.items()])


def heading(level: Level) -> str:
    """A level's name as a heading."""
    return level.plural.replace("_", " ")
