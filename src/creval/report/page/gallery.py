"""Samples to look at: where models are furthest apart, where what weighs most failed, and where
nobody answered."""

from __future__ import annotations

import base64
import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from creval.benchmarks import protocol_named
from creval.core.benchmark import Protocol
from creval.core.images import ImageError, open_image
from creval.core.probe import EditKey, Question
from creval.core.sample import Sample
from creval.report import text
from creval.stats.scorecard import SAMPLE, Scorecard
from creval.store.run import Answer, Run

SIDE = 320
"""Pixels of a thumbnail's longer side."""
RIGHT, WRONG, OPEN, SAID = "right", "wrong", "open", "said"


@dataclass(frozen=True)
class Picture:
    """A thumbnail with its caption, or the words for why there is none."""

    caption: str
    source: str = ""
    instead: str = ""


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
    """A sample as it is shown."""

    sample: Sample
    group: str
    pictures: Sequence[Picture]
    asked: Sequence[Asked]


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
    pictures = [_picture(path, what, link) for what, path in brought if path is not None]
    ranking = card.table.card.ranking
    edits = run.edits(name)
    for system in card.systems:
        cell = card.cell(system, ranking, name, SAMPLE)
        value = text.value(cell.value, card.table.card.metric(ranking).digits)
        mine = {key: path for key, path in edits.items() if key.system == system}
        for key, path in mine.items() or [(EditKey(system, name), None)]:
            draw = f", draw {key.draw}" if len(mine) > 1 else ""
            none = "not supported" if (system, name) in run.unsupported else "no picture"
            pictures.append(_picture(path, f"{system}{draw}: {ranking} {value}", link, none))
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in run.answers(sample=name):
        answers.setdefault((answer.edit.system, answer.probe), []).append(answer)
    protocol = protocol_named(run.manifest["protocol"])
    asked = [
        Asked(
            question,
            [
                _given(protocol, question, system, answers.get((system, question.id), ()))
                for system in card.systems
            ],
        )
        for question in _questions(run, name)
    ]
    group = " · ".join(dict.fromkeys(sample.tags.values()))
    return Shown(sample, group, pictures, asked)


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


def _picture(path: Path | None, caption: str, link: Path | None, none: str = "") -> Picture:
    """A thumbnail, or words for why there is none: `none` where there is no file to look for."""
    if path is None:
        return Picture(caption, instead=none)
    if not path.is_file():
        return Picture(caption, instead=f"absent: {path.name}")
    try:
        if link is not None:
            away = os.path.relpath(path.resolve(), link.resolve())
            return Picture(caption, quote(Path(away).as_posix()))
        image = open_image(path)
    except ImageError:
        return Picture(caption, instead=f"cannot be opened: {path.name}")
    except ValueError:  # on another drive
        return Picture(caption, path.resolve().as_uri())
    image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    sent = io.BytesIO()
    image.save(sent, "JPEG", quality=80, optimize=True)
    return Picture(
        caption, f"data:image/jpeg;base64,{base64.b64encode(sent.getvalue()).decode('ascii')}"
    )
