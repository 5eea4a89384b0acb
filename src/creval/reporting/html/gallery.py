"""Gallery of samples: largest differences, failed important questions, missing answers and missing edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from creval.benchmarks import protocol_of_run
from creval.core import formatting
from creval.core.benchmark import Protocol
from creval.core.edit_record import EditKey, EditStatus
from creval.core.formatting import format_measurement
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.reporting.html.thumbnails import EditHistory, Thumbnail, build_edit_history, edit_thumbnail, make_thumbnail
from creval.reporting.output import OutputTable
from creval.reporting.repeated_answers import summarise_answers
from creval.stats.scorecard import SAMPLE_LEVEL, Scorecard
from creval.store.run import Run, VerdictRow

RIGHT, WRONG, OPEN, UNGRADED = "right", "wrong", "open", "said"


@dataclass(frozen=True)
class ShownAnswer:
    """Answer about a model's edit: its state, its text, and the judge's explanation.

    The state is `right`, `wrong`, `open` (no answer, or answers that differ) or `said` (an answer that cannot be right
    or wrong, such as a grade).
    """

    model: str
    state: str
    answer: str
    explanation: str


@dataclass(frozen=True)
class ShownQuestion:
    """One question with the answer about each model's edit."""

    question: Question
    answers: Sequence[ShownAnswer]


@dataclass(frozen=True)
class GallerySample:
    """A sample with its images, the histories of its edits, its questions and its measurements."""

    sample: Sample
    group: str
    images: Sequence[Thumbnail]
    histories: Sequence[EditHistory]
    questions: Sequence[ShownQuestion]
    measurements: OutputTable | None


@dataclass(frozen=True)
class GallerySection:
    """Samples selected for one reason, which the description states."""

    title: str
    description: str
    samples: Sequence[GallerySample]


def build_gallery(
    run: Run, card: Scorecard, samples_per_section: int, link: Path | None, watch: Callable[[int, int], None]
) -> list[GallerySection]:
    """Return sections of up to `samples_per_section` samples, each sample at most once.

    Images are embedded or, if `link` is given, linked relative to that folder.
    """
    kinds: list[tuple[str, str, list[str]]] = [
        (
            "Largest differences between models",
            f"Samples with the largest differences in {card.table.schema.ranking_column}, from all groups in turn.",
            most_divergent_samples(run, card),
        ),
        *_heavy_failures(run, card),
        (
            "Unanswered questions",
            "Samples with the most questions that have no usable answer.",
            _most_frequent(card, (answer.edit for answer in run.unanswered_verdicts())),
        ),
        (
            "Largest differences between candidates",
            "Samples for which a model made several candidate images that were scored most differently.",
            _divergent_candidates(run, card),
        ),
        (
            "Missing edits",
            "Samples for which the most models have no edit, with the reason.",
            _most_frequent(card, (e.edit for e in run.missing_edits() if e.status is not EditStatus.UNSUPPORTED)),
        ),
    ]
    taken: set[str] = set()
    chosen = []
    for title, words, names in kinds:
        here = [name for name in names if name not in taken][:samples_per_section]
        taken.update(here)
        if here:
            chosen.append((title, words, here))
    shown: dict[str, GallerySample] = {}
    for _, _, names in chosen:
        for name in names:
            shown[name] = _gallery_sample(run, card, name, link)
            watch(len(shown), len(taken))
    return [GallerySection(title, words, [shown[name] for name in names]) for title, words, names in chosen]


def most_divergent_samples(run: Run, card: Scorecard) -> list[str]:
    """Return the samples in which models differ, taking one sample of each group in turn.

    Within a group, the largest difference comes first.
    """
    ranking = card.table.schema.ranking_column
    apart = {}
    for name in card.table.samples:
        values = [card.cell(model, ranking, name, SAMPLE_LEVEL).value for model in card.models]
        there = [value for value in values if value is not None]
        if len(there) > 1 and max(there) > min(there):
            apart[name] = max(there) - min(there)
    return _interleave_groups(run, card, apart)


def _heavy_failures(run: Run, card: Scorecard) -> Iterator[tuple[str, str, list[str]]]:
    """Yield a section of the samples in which edits fail the most questions of the largest weight.

    Yields nothing if all weights are equal.
    """
    asked = {(name, question.id): question for name in card.table.samples for question in _questions(run, name)}
    weights = {question.weight for question in asked.values()}
    if len(weights) < 2:
        return
    heaviest = max(weights)
    protocol = protocol_of_run(run.manifest)
    heavy = {key: question for key, question in asked.items() if question.weight == heaviest}
    failed: Counter[str] = Counter()
    wanted = set(card.models)
    for key, values in run.values_by_edit():
        if key.model in wanted:
            failed[key.sample] += sum(
                (key.sample, probe) in heavy and protocol.credit(heavy[key.sample, probe], value) == 0.0
                for probe, value in values.items()
            )
    counts = {name: float(number) for name, number in failed.items() if number}
    yield (
        f"Failed questions of weight {heaviest:g}",
        "Samples in which the most edits fail questions of the largest weight.",
        _interleave_groups(run, card, counts),
    )


def _most_frequent(card: Scorecard, edits: Iterable[EditKey]) -> list[str]:
    """Return the samples of these edits, those with the most edits first."""
    models, samples = set(card.models), set(card.table.samples)
    counts = Counter(key.sample for key in edits if key.sample in samples and key.model in models)
    return [name for name, _ in counts.most_common()]


def _divergent_candidates(run: Run, card: Scorecard) -> list[str]:
    """Return the samples for which the scores of a model's candidates differ, taking one of each group in turn.

    Within a group, the largest difference comes first.
    """
    there = set(card.table.samples)
    apart: dict[str, float] = {}
    for key, facts in run.edit_metadata().items():
        scores = facts.get("scores")
        if key.model in card.models and key.sample in there and isinstance(scores, Mapping):
            given = [score for score in scores.values() if isinstance(score, int | float)]
            if len(given) > 1 and max(given) > min(given):
                apart[key.sample] = max(apart.get(key.sample, 0.0), max(given) - min(given))
    return _interleave_groups(run, card, apart)


def _interleave_groups(run: Run, card: Scorecard, weights: Mapping[str, float]) -> list[str]:
    """Return samples so that groups take turns: the first sample of each group, then the second of each, and so on.

    Within a group and within a turn, samples are sorted by decreasing weight.
    """
    finest = next((level.name for level in reversed(card.table.schema.levels) if level.groups_samples), "")
    found: dict[str, list[str]] = {}
    for name in sorted(weights, key=lambda name: (-weights[name], name)):
        found.setdefault(run.samples[name].tags.get(finest, ""), []).append(name)
    turns = [(at, -weights[name], name) for names in found.values() for at, name in enumerate(names)]
    return [name for _, _, name in sorted(turns)]


def _questions(run: Run, sample: str) -> Iterator[Question]:
    return (probe for probe in run.probes[sample] if isinstance(probe, Question))


def _gallery_sample(run: Run, card: Scorecard, name: str, link: Path | None) -> GallerySample:
    sample = run.samples[name]
    brought = [("source", sample.source), ("mask", sample.mask)]
    brought += [("reference", path) for path in sample.references]
    images = [make_thumbnail(path, what, link) for what, path in brought if path is not None]
    ranking = card.table.schema.ranking_column
    digits = card.table.schema.find_metric(ranking).digits
    ways = []
    edits = run.edits_of(name)
    for model in card.models:
        cell = card.cell(model, ranking, name, SAMPLE_LEVEL)
        scored = f"{ranking} {formatting.format_value(cell.value, digits)}"
        mine = [edit for edit in edits if edit.key.model == model]
        if not mine:
            images.append(make_thumbnail(None, f"{model}: {scored}", link))
        for edit in mine:
            draw = f", draw {edit.key.draw}" if len(mine) > 1 else ""
            images.append(edit_thumbnail(edit, f"{model}{draw}: {scored}", link))
        ways += [one for edit in mine if (one := build_edit_history(edit, ranking, digits, link))]
    answers: dict[tuple[str, str], list[VerdictRow]] = {}
    for answer in run.answers(sample=name):
        answers.setdefault((answer.edit.model, answer.probe), []).append(answer)
    protocol = protocol_of_run(run.manifest)
    lacking = {e.key.model for e in edits if e.image is None and e.status is not EditStatus.DONE}
    lacking -= {e.key.model for e in edits if e.image is not None}
    asked = [
        ShownQuestion(
            question,
            [
                _shown_answer(
                    protocol,
                    question,
                    model,
                    answers.get((model, question.id), ()),
                    use_mean=run.uses_probabilities,
                    absence="no edit" if model in lacking else "not asked",
                )
                if (model, name) not in run.unsupported
                else ShownAnswer(model, OPEN, "not supported", "")
                for model in card.models
            ],
        )
        for question in _questions(run, name)
    ]
    group = " · ".join(dict.fromkeys(sample.tags.values()))
    found = measurement_table(run.probes[name], card.models, answers)
    return GallerySample(sample, group, images, ways, asked, found)


def _shown_answer(
    protocol: Protocol, question: Question, model: str, answers: Sequence[VerdictRow], *, use_mean: bool, absence: str
) -> ShownAnswer:
    """Return the summary of all answers about one model's edit, or `absence` if there are none."""
    credits_ = {protocol.credit(question, a.value) for a in answers if a.value is not None} - {None}
    state = UNGRADED if credits_ else OPEN
    if question.reference is not None:
        state = RIGHT if credits_ == {1.0} else WRONG if credits_ == {0.0} else OPEN
    words = summarise_answers(question, answers, use_mean=use_mean).text if answers else absence
    whys = dict.fromkeys(answer.explanation for answer in answers if answer.explanation)
    return ShownAnswer(model, state, words, "\n".join(whys))


def measurement_table(
    probes: Sequence[Probe], models: Sequence[str], answers: Mapping[tuple[str, str], Sequence[VerdictRow]]
) -> OutputTable | None:
    """Return a table with a row per measurement and a column per model, or None without measurements.

    `answers` are by model and probe.
    """

    def shown(model: str, probe: Measurement) -> str:
        given = answers.get((model, probe.id), ())
        return summarise_answers(probe, given).text if given else "–"

    rows = [
        [format_measurement(probe.id, probe.metric), *(shown(name, probe) for name in models)]
        for probe in probes
        if isinstance(probe, Measurement)
    ]
    return OutputTable(["measurement", *models], rows) if rows else None
