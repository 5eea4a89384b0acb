"""Storage of a plan in a run: its samples and edits. Outdated answers are deleted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from creval.calls.journal import CallRecord
from creval.core.benchmark import Protocol
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus, FileStamp
from creval.core.errors import CrevalError
from creval.core.images import ImageError, file_digest
from creval.core.probe import Measurement
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.judging.plan import Plan
from creval.judging.requests import find_image_paths
from creval.store import RunWriter
from creval.store.writer import measurement_detail


def save_plan(store: RunWriter, plan: Plan, judges: Sequence[str], manifest: Mapping[str, object]) -> list[str]:
    """Store samples, edits and manifest. Delete answers about changed edits, and return notes on them."""
    dataset, protocol = plan.benchmark.dataset, plan.benchmark.protocol
    chosen = {sample.id for sample in plan.samples} | set(store.sample_ids)
    samples = [sample for sample in dataset.samples if sample.id in chosen]
    if not store.models:
        store.delete_edits()
    held, before = store.edits, store.measurement_details()
    other = {s.id for s in samples if before.get(s.id, ()) != _measurement_details(protocol, s)}
    store.put_samples(
        [(sample, protocol.probes(sample)) for sample in samples],
        {name: members & chosen for name, members in dataset.subsets.items()},
    )
    store.put_manifest(manifest)
    changed = find_changed_edits(plan, held, store.folder)
    store.put_edits(_edits_to_store(plan, held))
    store.delete_verdicts(changed)
    store.delete_verdicts([key for key in held if key.sample in other], only_measurements=True)
    store.put_replies(_unaskable_records(plan, held, judges))
    if not changed:
        return []
    names = ", ".join(f"{key.model}/{key.sample}" for key in changed[:3])
    return [
        f"{len(changed)} edits or their sources have changed since they were judged and are "
        f"judged again: {names}{' ...' if len(changed) > 3 else ''}"
    ]


def find_changed_edits(plan: Plan, stored: Mapping[EditKey, Edit], run: Path) -> list[EditKey]:
    """Return edits whose images or sources have changed.

    Raises `CrevalError` if changed images come from another folder, because they are probably edits of another model.
    """
    changed = []
    for sample in plan.samples:
        edits = plan.edits[sample.id]
        for at, edit in enumerate(edits):
            before = stored.get(edit.key)
            if before is None or before.image is None or edit.image is None:
                continue
            stamps = _current_stamps(sample, edit, before.judged_files)
            edits[at] = edit._replace(judged_files=before.judged_files if stamps is None else stamps)
            if stamps is not None:
                continue
            then, now = before.image.parent, edit.image.parent
            if then.resolve() != now.resolve():
                raise CrevalError(
                    f"{run} has edits of {edit.key.model!r} from {then}, but {now} has different "
                    f"images. Use another name, `edits` NAME={now}, or another `run`."
                )
            changed.append(edit.key)
    return changed


def _current_stamps(sample: Sample, edit: Edit, judged: Mapping[str, FileStamp]) -> dict[str, FileStamp] | None:
    """Return the current stamps of judged files. None if the content of a file has changed.

    A file is read only if its size or time differs from its stamp.
    """
    stamps = dict(judged)
    for name, stamp in judged.items():
        shown, _, file = name.partition(" ")
        for path in find_image_paths(sample, edit, shown):
            if file and path.name != file:
                continue
            with contextlib.suppress(OSError, ImageError):
                now = FileStamp.take(path, stamp.digest)
                if not stamp.is_like(now) and file_digest(path) != stamp.digest:
                    return None
                stamps[name] = now
    return stamps


def _edits_to_store(plan: Plan, stored: Mapping[EditKey, Edit]) -> Iterator[Edit]:
    """Yield the edits to store. An edit that was judged stays if its image is now missing."""
    for edit in plan.all_edits():
        before = stored.get(edit.key)
        if edit.status is EditStatus.DONE or before is None or before.image is None:
            yield edit


def _unaskable_records(plan: Plan, stored: Mapping[EditKey, Edit], judges: Sequence[str]) -> Iterator[CallRecord]:
    """Yield, for every new edit, a record that its questions without text cannot be asked."""
    reply = Reply(VerdictStatus.UNASKABLE)
    for edit in plan.all_edits():
        blank = [q.id for q in plan.questions[edit.key.sample] if not q.text.strip()]
        if blank and edit.status is EditStatus.DONE and edit.key not in stored:
            verdicts = [Verdict(probe, VerdictStatus.UNASKABLE) for probe in blank]
            for judge in judges:
                yield CallKey(judge, edit.key, tuple(blank)), reply, verdicts


def _measurement_details(protocol: Protocol, sample: Sample) -> tuple[str, ...]:
    """Return everything that a sample's measurements depend on, to detect changes."""
    probes = protocol.probes(sample)
    return tuple(measurement_detail(probe) for probe in probes if isinstance(probe, Measurement))
