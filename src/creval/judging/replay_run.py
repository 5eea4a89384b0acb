"""Replay of recorded answers into a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from creval.core.benchmark import Benchmark
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.files import gc_paused
from creval.core.probe import Question
from creval.core.verdict import Verdict, VerdictStatus
from creval.judges.recorded import RecordedAnswers, RecordedFile, find_recorded_answers, read_recorded_answers
from creval.store import RunWriter, open_run
from creval.store.manifest import describe_run, require_same, require_same_run

if TYPE_CHECKING:  # NumPy comes with them
    from creval.stats.early_stopping import StoppingOutcome
    from creval.stats.elimination import StoppingRule

TrackFiles = Callable[[Sequence[RecordedFile], str], Iterable[RecordedFile]]


@dataclass
class ReplaySummary:
    """Result of a replay: verdict counts by model and status, and unreadable files with the reason.

    `outcome` is the result of the simulated early stopping, if a stopping rule was given.
    """

    recording: RecordedAnswers
    statuses: dict[str, Counter[VerdictStatus]] = field(default_factory=dict)
    unreadable_files: dict[str, str] = field(default_factory=dict)
    outcome: StoppingOutcome | None = None


def replay(
    benchmark: Benchmark,
    answers: str | Path,
    run: str | Path,
    *,
    raw: bool = False,
    models: Sequence[str] = (),
    track: TrackFiles = lambda files, _: files,
    stopping_rule: StoppingRule | None = None,
    seed: int = 0,
) -> ReplaySummary:
    """Read recorded answers into a run. Answers of the run about the same models are replaced.

    The run is written in one transaction: if the process is killed, nothing is written. With a `stopping_rule`, early
    stopping is simulated, with samples in the order that `seed` determines.
    """
    protocol, samples = benchmark.protocol, benchmark.dataset.samples
    asked = {sample.id: protocol.probes(sample) for sample in samples}
    probes = [probe for several in asked.values() for probe in several]
    metrics = tuple(dict.fromkeys(p.metric for p in probes if isinstance(p, Question)))
    questions = {
        (sample, metric): [q for q in several if isinstance(q, Question) and q.metric == metric]
        for sample, several in asked.items()
        for metric in metrics
    }
    recording = find_recorded_answers(Path(answers), metrics, list(asked), raw=raw, only_models=models)
    done = ReplaySummary(recording)
    with RunWriter(run) as store, store.bulk(), gc_paused():
        manifest = describe_run(benchmark, recording.judge)
        manifest |= {"answers_folder": str(recording.folder.resolve()), "raw": raw}
        _require_same_recording(store, manifest, recording.models)
        store.put_samples([(sample, asked[sample.id]) for sample in samples], benchmark.dataset.subsets)
        store.put_manifest(manifest)
        store.delete_answers(recording.judge, recording.models)
        keys = dict.fromkeys(EditKey(file.model, file.sample) for file in recording.files)
        reason = "recorded answers came without the edited image"
        held = store.edits
        store.put_edits(Edit(key, EditStatus.ABSENT, reason=reason) for key in keys if key not in held)
        files = track(recording.files, "reading answers")
        store.put_replies(_read_replies(files, questions, done))
    if stopping_rule is not None:
        from creval.analysis.scoring import build_score_table
        from creval.judging.stopping_monitor import simulate_early_stopping

        with open_run(run) as opened:
            table = build_score_table(opened, models=recording.models)
        done.outcome = simulate_early_stopping(table, samples, stopping_rule, seed)
    return done


def _read_replies(
    files: Iterable[RecordedFile], questions: Mapping[tuple[str, str], Sequence[Question]], summary: ReplaySummary
) -> Iterator[tuple[CallKey, Reply, list[Verdict]]]:
    recording = summary.recording
    summary.statuses = {model: Counter() for model in recording.models}
    ids = {key: tuple(question.id for question in asked) for key, asked in questions.items()}
    for file in files:
        key = (file.sample, file.metric)
        reply, verdicts = read_recorded_answers(recording.folder, file, questions[key])
        summary.statuses[file.model].update([verdict.status for verdict in verdicts])
        if reply.status is VerdictStatus.FAILED:
            reason = verdicts[0].explanation if verdicts else "the sample has no questions of this metric"
            summary.unreadable_files[file.origin] = reason
        yield CallKey(recording.judge, EditKey(file.model, file.sample), ids[key]), reply, verdicts


def _require_same_recording(store: RunWriter, manifest: Mapping[str, object], models: Sequence[str]) -> None:
    """Refuse to add answers to a run that keeps answers to other questions or from another folder."""
    require_same_run(store, manifest)
    kept = sorted(set(store.models) - set(models))
    labels = {"questions_digest": "questions", "answers_folder": "answers"}
    require_same(
        store.manifest if kept else {},
        {name: manifest[name] for name in labels},
        lambda name, *_: (
            f"{store.folder} has {', '.join(kept)} with other {labels[name]}. "
            "Replay all models together, or give another `run`."
        ),
    )
