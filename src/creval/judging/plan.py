"""Plan of a run: its samples in order, its questions, and which questions are asked in one call."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from creval.calls.settings import JudgeSettings
from creval.core.benchmark import Benchmark
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError, require_known
from creval.core.probe import Measurement, Question
from creval.core.sample import Sample
from creval.core.schema import ScoreSchema
from creval.store.edit_folders import FoundEdits

AnsweredProbes = Mapping[EditKey, set[tuple[int, str]]]
"""For each edit, what is answered: pairs of the repeat's number and the id of a question or measurement."""


class QuestionBatch(NamedTuple):
    """Questions that are asked together. `repeats` are the numbers of the answers that are still needed."""

    questions: tuple[Question, ...]
    repeats: tuple[int, ...]

    def repeats_by_call(self, *, supports_n: bool) -> list[tuple[int, ...]]:
        """Return the repeats that each call requests: all in one call with `supports_n`, otherwise one per call."""
        return [self.repeats] if supports_n else [(repeat,) for repeat in self.repeats]


class EditWork(NamedTuple):
    """Questions to ask about one edit. `cached_calls` counts the calls whose answers the run has already."""

    sample: Sample
    edit: Edit
    batches: tuple[QuestionBatch, ...]
    cached_calls: int

    def count_calls(self, *, supports_n: bool) -> int:
        """Return the number of calls of the batches."""
        return sum(len(batch.repeats_by_call(supports_n=supports_n)) for batch in self.batches)


class Plan:
    """Samples and edits of a run, in the order in which they are judged.

    The order of samples alternates between the groups of the benchmark's finest level. Therefore these groups are
    balanced in the first N samples, and in a run that stops early. All models' edits of a sample are consecutive: their
    requests begin with the same image, so prompt caches can reuse it.
    """

    def __init__(self, benchmark: Benchmark, found_edits: FoundEdits, settings: JudgeSettings) -> None:
        self.benchmark, self.settings = benchmark, settings
        protocol = benchmark.protocol
        metrics = benchmark.metrics
        for name in settings.metrics or ():
            require_known("metric", name, metrics)
        for name in settings.models or ():
            require_known("model", name, found_edits.models)
        self.models = tuple(settings.models or found_edits.models)
        self.metrics = tuple(settings.metrics or metrics)
        edited, unsupported = (
            {edit.key.sample for edit in found_edits.edits if edit.status is status and edit.key.model in self.models}
            for status in (EditStatus.DONE, EditStatus.UNSUPPORTED)
        )
        self.samples = select_samples(
            benchmark,
            groups=settings.groups,
            limit=settings.limit,
            edited_ids=edited,
            unsupported_ids=unsupported if benchmark.schema.unsupported_value is not None else frozenset(),
            seed=settings.seed,
        )
        self.questions: dict[str, tuple[Question, ...]] = {}
        self.measurements: dict[str, tuple[Measurement, ...]] = {}
        for sample in self.samples:
            probes = [p for p in protocol.probes(sample) if p.metric in self.metrics]
            self.questions[sample.id] = tuple(self._apply_settings(p) for p in probes if isinstance(p, Question))
            self.measurements[sample.id] = tuple(p for p in probes if isinstance(p, Measurement))
        self.edits: dict[str, list[Edit]] = {sample.id: [] for sample in self.samples}
        rank = {model: at for at, model in enumerate(self.models)}
        for edit in found_edits.edits:
            if edit.key.model in rank and edit.key.sample in self.edits:
                self.edits[edit.key.sample].append(edit)
        for edits in self.edits.values():
            edits.sort(key=lambda edit: (rank[edit.key.model], edit.key.draw))

    def _apply_settings(self, question: Question) -> Question:
        """Return a question with the run's settings applied."""
        settings = self.settings
        shows, form = question.shows, question.form
        if settings.show_instruction and "instruction" not in shows:
            shows = (*shows, "instruction")
        if settings.reasoning is not None:
            form = "reasoned" if settings.reasoning else "bare"
        elif settings.logprobs:
            form = "bare"
        rubric = question.rubric if settings.rubric else ""
        return question._replace(shows=shows, form=form, rubric=rubric)

    @property
    def image_metric_names(self) -> tuple[str, ...]:
        """The names of the image metrics that the plan needs."""
        wanted = (probe.image_metric for several in self.measurements.values() for probe in several)
        return tuple(dict.fromkeys(wanted))

    def all_edits(self) -> Iterator[Edit]:
        return (edit for edits in self.edits.values() for edit in edits)

    def askable_questions(self, edit: Edit) -> list[Question]:
        """Return the questions about an edit, except those with an empty text."""
        return [q for q in self.questions[edit.key.sample] if q.text.strip()]

    def work(self, answered: AnsweredProbes, *, supports_n: bool = False) -> Iterator[EditWork]:
        """Yield the unanswered questions, edit by edit. `supports_n`: one call can return all repeats."""
        nothing: set[tuple[int, str]] = set()
        for sample in self.samples:
            for edit in self.edits[sample.id]:
                if edit.status is not EditStatus.DONE:
                    continue
                groups, cached = self._batch_open_questions(edit, answered.get(edit.key, nothing), supports_n)
                yield EditWork(sample, edit, tuple(groups), cached)

    def _batch_open_questions(
        self, edit: Edit, done: set[tuple[int, str]], supports_n: bool
    ) -> tuple[list[QuestionBatch], int]:
        groups: list[QuestionBatch] = []
        cached = 0
        for questions in batch_questions(self.askable_questions(edit), self.settings.batch_by):
            pending: dict[tuple[Question, ...], list[int]] = {}
            for repeat in range(self.settings.repeat):
                open_ = tuple(q for q in questions if (repeat, q.id) not in done)
                if open_:
                    pending.setdefault(open_, []).append(repeat)
                elif not supports_n:
                    cached += 1
            cached += supports_n and not pending
            for open_, repeats in pending.items():
                # Questions that an earlier call left unanswered are asked one by one, as in `JudgeWorkers`.
                alone = [(q,) for q in open_] if len(open_) < len(questions) else [open_]
                groups += [QuestionBatch(part, tuple(repeats)) for part in alone]
        return groups, cached


def batch_questions(questions: Iterable[Question], batch_by: str) -> list[tuple[Question, ...]]:
    """Group questions that are asked in one call. They have the same images, scale, prompt, rubric and form.

    `batch_by` can split these groups further.
    """
    found: dict[object, list[Question]] = {}
    for question in questions:
        # A bare answer has no label that identifies its question.
        alone = batch_by == "question" or question.form == "bare"
        part = question.id if alone else "" if batch_by == "sample" else question.group or question.metric
        alike = (question.shows, question.scale, question.prompt, question.rubric, question.form)
        found.setdefault((*alike, part), []).append(question)
    return [tuple(group) for group in found.values()]


def select_samples(
    benchmark: Benchmark,
    *,
    groups: Sequence[str] | None = None,
    limit: int | None = None,
    edited_ids: Set[str] | None = None,
    unsupported_ids: Set[str] = frozenset(),
    subset: str | None = None,
    seed: int = 0,
) -> list[Sample]:
    """Return a run's samples in order.

    `limit` counts only samples in `edited_ids`. Samples in `unsupported_ids` are kept in addition, up
    to the first sample beyond the limit.
    """
    card = benchmark.schema
    samples = list(benchmark.dataset.samples)
    if subset is not None:
        subsets = benchmark.dataset.subsets
        members = subsets[require_known("subset", subset, subsets)]
        samples = [sample for sample in samples if sample.id in members]
    if groups:
        known = [group for level in card.levels if level.groups_samples for group in level.groups]
        wanted = {require_known("dimension", name, known) for name in groups}
        samples = [sample for sample in samples if wanted & set(sample.tags.values())]
    samples = stratified_shuffle(samples, card, seed)
    if limit is not None:
        if limit < 1:
            raise CrevalError("`limit` must be 1 or more.")
        edited = {sample.id for sample in samples} if edited_ids is None else edited_ids
        here = [at for at, sample in enumerate(samples) if sample.id in edited]
        kept = edited | unsupported_ids
        end = here[limit] if len(here) > limit else len(samples) if here else 0
        samples = [sample for sample in samples[:end] if sample.id in kept]
    if not samples:
        with_image = "" if edited_ids is None else " and has an edited image"
        raise CrevalError(f"no sample matches the given filters{with_image}.")
    return samples


def stratified_shuffle(samples: Sequence[Sample], schema: ScoreSchema, seed: int) -> list[Sample]:
    """Return samples in a random order that alternates between the groups of the finest level."""
    level = next((level.name for level in reversed(schema.levels) if level.groups_samples), "")
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.tags.get(level, ""), []).append(sample)
    chance = random.Random(seed)  # noqa: S311
    for members in groups.values():
        chance.shuffle(members)
    turns = [(turn, at, member) for at, members in enumerate(groups.values()) for turn, member in enumerate(members)]
    return [member for _, _, member in sorted(turns, key=lambda entry: entry[:2])]
