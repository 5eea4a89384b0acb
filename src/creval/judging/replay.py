"""A run from recorded answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from creval.core.benchmark import Benchmark
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.files import many_small_objects
from creval.core.probe import Question
from creval.core.verdict import Status, Verdict
from creval.judges.recorded import RecordedFile, Recording, find_answers, read_answers
from creval.store import Store
from creval.store.manifest import check_same, describe

Track = Callable[[Sequence[RecordedFile], str], Iterable[RecordedFile]]


@dataclass
class Replayed:
    """What a replay did: how many questions of each model ended in which way, and the files that
    could not be read, with the reason."""

    recording: Recording
    statuses: dict[str, Counter[Status]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)


def replay(
    benchmark: Benchmark,
    answers: str | Path,
    run: str | Path,
    *,
    raw: bool = False,
    models: Sequence[str] = (),
    track: Track = lambda files, _: files,
) -> Replayed:
    """Read recorded answers into a run, in the place of what it held of the same models.

    It is written as a whole or, when killed, not at all.
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
    recording = find_answers(Path(answers), metrics, list(asked), raw=raw, only=models)
    done = Replayed(recording)
    with Store(run) as store, store.bulk(), many_small_objects():
        manifest = describe(benchmark, recording.judge)
        manifest |= {"answers_folder": str(recording.folder.resolve()), "raw": raw}
        _check_same(store, manifest, recording.systems)
        pairs = [(sample, asked[sample.id]) for sample in samples]
        store.put_samples(pairs, benchmark.dataset.subsets)
        store.put_manifest(manifest)
        store.forget(recording.judge, recording.systems)
        keys = dict.fromkeys(EditKey(file.system, file.sample) for file in recording.files)
        reason = "recorded answers came without the edited image"
        held = store.edits
        store.put_edits(
            Edit(key, EditStatus.ABSENT, reason=reason) for key in keys if key not in held
        )
        files = track(recording.files, "reading answers")
        store.put_replies(_replies(files, questions, done))
    return done


def _replies(
    files: Iterable[RecordedFile],
    questions: Mapping[tuple[str, str], Sequence[Question]],
    done: Replayed,
) -> Iterator[tuple[Ask, Reply, list[Verdict]]]:
    recording = done.recording
    done.statuses = {system: Counter() for system in recording.systems}
    ids = {key: tuple(question.id for question in asked) for key, asked in questions.items()}
    for file in files:
        key = (file.sample, file.metric)
        reply, verdicts = read_answers(recording.folder, file, questions[key])
        done.statuses[file.system].update([verdict.status for verdict in verdicts])
        if reply.status is Status.FAILED:
            done.broken[file.origin] = _reason(verdicts)
        yield Ask(recording.judge, EditKey(file.system, file.sample), ids[key]), reply, verdicts


def _reason(verdicts: Sequence[Verdict]) -> str:
    return verdicts[0].explanation if verdicts else "there are no questions for it"


def _check_same(store: Store, manifest: Mapping[str, object], systems: Sequence[str]) -> None:
    """Refuse to put answers to other questions, or from elsewhere, beside what a run holds."""
    check_same(store, manifest, ("benchmark", "protocol", "judge"))
    held = store.manifest
    kept = sorted(set(store.systems) - set(systems))
    for what, name in (("questions", "questions_digest"), ("answers", "answers_folder")):
        if kept and held.get(name, manifest[name]) != manifest[name]:
            raise CrevalError(
                f"{store.folder} holds {', '.join(kept)} with other {what} than these. "
                "Replay them together, or give another --run."
            )
