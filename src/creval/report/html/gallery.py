"""Samples to look at: where models are furthest apart, where what weighs most failed, where nobody
answered, and where there is nothing to ask about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from creval.benchmarks import protocol_named
from creval.core import formatting
from creval.core.benchmark import Protocol
from creval.core.edit import EditStatus
from creval.core.formatting import measurement
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.report.html.thumbnails import Picture, Way, edited, picture, way
from creval.report.output import Grid
from creval.stats.scorecard import SAMPLE, Scorecard
from creval.store.run import Answer, Run

RIGHT, WRONG, OPEN, SAID = "right", "wrong", "open", "said"


@dataclass(frozen=True)
class Given:
    """The answer about a model's edit: right, wrong, open or, where nothing is right or wrong,
    said; its words, and the judge's reasons."""

    system: str
    state: str
    said: str
    why: str


@dataclass(frozen=True)
class Asked:
    """One question with the answers about each model's edit."""

    question: Question
    given: Sequence[Given]


@dataclass(frozen=True)
class Shown:
    """A sample as it is shown, with how its edits came about, what was asked and measured."""

    sample: Sample
    group: str
    pictures: Sequence[Picture]
    ways: Sequence[Way]
    asked: Sequence[Asked]
    measured: Grid | None


@dataclass(frozen=True)
class Shelf:
    """Samples of one kind: what they have in common, and the samples."""

    title: str
    words: str
    shown: Sequence[Shown]


def gallery(
    run: Run, card: Scorecard, each: int, link: Path | None, watch: Callable[[int, int], None]
) -> list[Shelf]:
    """So many samples of each kind, none of them twice. Pictures are inside or, with `link`, the
    folder from which they are found, elsewhere."""
    kinds: list[tuple[str, str, list[str]]] = [
        (
            "Where models are furthest apart",
            f"The largest differences in {card.table.card.ranking} between models, of as many "
            "groups as there are.",
            telling(run, card),
        ),
        *_failing(run, card),
        (
            "Where there is no answer",
            "Samples with the most questions that no answer could be taken for.",
            _unanswered(run, card),
        ),
        (
            "Where candidates are furthest apart",
            "Samples that a model made several pictures of, which differ most to whoever picked.",
            _picked(run, card),
        ),
        (
            "Where there is no edit",
            "Samples of which the most models have no edit, and what became of it.",
            _unedited(run, card),
        ),
    ]
    taken: set[str] = set()
    chosen = []
    for title, words, names in kinds:
        here = [name for name in names if name not in taken][:each]
        taken.update(here)
        if here:
            chosen.append((title, words, here))
    total, done = sum(len(names) for _, _, names in chosen), 0
    shelves = []
    for title, words, names in chosen:
        shown = []
        for name in names:
            shown.append(_shown(run, card, name, link))
            done += 1
            watch(done, total)
        shelves.append(Shelf(title, words, shown))
    return shelves


def telling(run: Run, card: Scorecard) -> list[str]:
    """The samples in which models differ, the furthest apart first, of as many groups as there
    are."""
    ranking = card.table.card.ranking
    apart = {}
    for name in card.table.samples:
        values = [card.cell(system, ranking, name, SAMPLE).value for system in card.systems]
        there = [value for value in values if value is not None]
        if len(there) > 1 and max(there) > min(there):
            apart[name] = max(there) - min(there)
    return _spread(run, card, apart)


def _failing(run: Run, card: Scorecard) -> Iterator[tuple[str, str, list[str]]]:
    """Samples in which most of what weighs most failed, where questions weigh differently."""
    heaviest = max((q.weight for n in card.table.samples for q in _questions(run, n)), default=0.0)
    lightest = min((q.weight for n in card.table.samples for q in _questions(run, n)), default=0.0)
    if heaviest == lightest:
        return
    protocol = protocol_named(run.manifest["protocol"])
    heavy = {
        (name, question.id): question
        for name in card.table.samples
        for question in _questions(run, name)
        if question.weight == heaviest
    }
    failed: Counter[str] = Counter()
    wanted = set(card.systems)
    for key, values in run.values():
        if key.system in wanted:
            failed[key.sample] += sum(
                (key.sample, probe) in heavy
                and protocol.credit(heavy[key.sample, probe], value) == 0.0
                for probe, value in values.items()
            )
    counts = {name: float(number) for name, number in failed.items() if number}
    yield (
        f"Where questions of weight {heaviest:g} failed",
        "What weighs most, and was answered wrongly of the most edits.",
        _spread(run, card, counts),
    )


def _unanswered(run: Run, card: Scorecard) -> list[str]:
    there = set(card.table.samples)
    wanted = set(card.systems)
    open_ = Counter(
        answer.edit.sample
        for answer in run.unanswered()
        if answer.edit.sample in there and answer.edit.system in wanted
    )
    return [name for name, _ in open_.most_common()]


def _picked(run: Run, card: Scorecard) -> list[str]:
    """Samples by how far the scores of a model's candidates are apart."""
    there = set(card.table.samples)
    apart: dict[str, float] = {}
    for key, facts in run.facts().items():
        scores = facts.get("scores")
        if key.system in card.systems and key.sample in there and isinstance(scores, Mapping):
            given = [score for score in scores.values() if isinstance(score, int | float)]
            if len(given) > 1 and max(given) > min(given):
                apart[key.sample] = max(apart.get(key.sample, 0.0), max(given) - min(given))
    return _spread(run, card, apart)


def _unedited(run: Run, card: Scorecard) -> list[str]:
    gone = [
        one.edit
        for one in run.missing()
        if one.edit.system in card.systems and one.status is not EditStatus.UNSUPPORTED
    ]
    there = set(card.table.samples)
    counts = Counter(key.sample for key in gone if key.sample in there)
    return [name for name, _ in counts.most_common()]


def _spread(run: Run, card: Scorecard, weights: Mapping[str, float]) -> list[str]:
    """Samples with the largest first, one of each group in turn."""
    finest = next((level.name for level in reversed(card.table.card.levels) if level.tagged), "")
    found: dict[str, list[str]] = {}
    for name in sorted(weights, key=lambda name: (-weights[name], name)):
        found.setdefault(run.samples[name].tags.get(finest, ""), []).append(name)
    turns = [
        (at, -weights[name], name) for names in found.values() for at, name in enumerate(names)
    ]
    return [name for _, _, name in sorted(turns)]


def _questions(run: Run, sample: str) -> Iterator[Question]:
    return (probe for probe in run.probes[sample] if isinstance(probe, Question))


def _shown(run: Run, card: Scorecard, name: str, link: Path | None) -> Shown:
    sample = run.samples[name]
    brought = [("source", sample.source), ("mask", sample.mask)]
    brought += [("reference", path) for path in sample.references]
    pictures = [picture(path, what, link) for what, path in brought if path is not None]
    ranking = card.table.card.ranking
    digits = card.table.card.metric(ranking).digits
    ways = []
    edits = run.made(name)
    for system in card.systems:
        cell = card.cell(system, ranking, name, SAMPLE)
        scored = f"{ranking} {formatting.value(cell.value, digits)}"
        mine = [edit for edit in edits if edit.key.system == system]
        if not mine:
            pictures.append(picture(None, f"{system}: {scored}", link))
        for edit in mine:
            draw = f", draw {edit.key.draw}" if len(mine) > 1 else ""
            pictures.append(edited(edit, f"{system}{draw}: {scored}", link))
        ways += [one for edit in mine if (one := way(edit, ranking, digits, link))]
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in run.answers(sample=name):
        answers.setdefault((answer.edit.system, answer.probe), []).append(answer)
    protocol = protocol_named(run.manifest["protocol"])
    asked = [
        Asked(
            question,
            [
                _given(protocol, question, system, answers.get((system, question.id), ()))
                if (system, name) not in run.unsupported
                else Given(system, OPEN, "not supported", "")
                for system in card.systems
            ],
        )
        for question in _questions(run, name)
    ]
    group = " · ".join(dict.fromkeys(sample.tags.values()))
    found = measured(run.probes[name], card.systems, answers)
    return Shown(sample, group, pictures, ways, asked, found)


def _given(protocol: Protocol, question: Question, system: str, answers: Sequence[Answer]) -> Given:
    """All answers of all voices and draws to a question about one model's edit."""
    credits_ = {protocol.credit(question, a.value) for a in answers if a.value is not None} - {None}
    state = OPEN
    if credits_:
        state = SAID
    if question.reference is not None:
        state = RIGHT if credits_ == {1.0} else WRONG if credits_ == {0.0} else OPEN
    said = Counter(answer.said or answer.status for answer in answers)
    words = ", ".join(name if n == 1 else f"{name} ({n})" for name, n in said.items())
    whys = dict.fromkeys(answer.explanation for answer in answers if answer.explanation)
    return Given(system, state, words or "not asked", "\n".join(whys))


def measured(
    probes: Sequence[Probe],
    systems: Sequence[str],
    answers: Mapping[tuple[str, str], Sequence[Answer]],
) -> Grid | None:
    """Each measurement in a row, each model in a column; none where nothing is measured.

    `answers` are by model and probe, one for each draw.
    """
    rows = [
        [measurement(probe.id, probe.metric)]
        + [", ".join(map(_number, answers.get((name, probe.id), ()))) or "–" for name in systems]
        for probe in probes
        if isinstance(probe, Measurement)
    ]
    return Grid(["measured", *systems], rows) if rows else None


def _number(answer: Answer) -> str:
    return answer.status if answer.value is None else f"{answer.value:.4g}"
