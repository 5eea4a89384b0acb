"""A plan put into a run: its samples and edits kept, and what is no longer true let go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from creval.calls.journal import Record
from creval.core.benchmark import Protocol
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.images import ImageError, digest
from creval.core.probe import Measurement
from creval.core.sample import Sample
from creval.core.verdict import Status, Verdict
from creval.judging.plan import Plan
from creval.judging.requests import paths_of
from creval.store import Store
from creval.store.writer import detail_of


def keep_plan(
    store: Store, plan: Plan, judges: Sequence[str], manifest: Mapping[str, object]
) -> list[str]:
    """Keep samples, edits and manifest; drop verdicts on pictures that have changed since, and
    values of what is to be measured otherwise. Notes say what was dropped."""
    dataset, protocol = plan.benchmark.dataset, plan.benchmark.protocol
    chosen = {sample.id for sample in plan.samples} | set(store.samples)
    samples = [sample for sample in dataset.samples if sample.id in chosen]
    if not store.systems:
        store.clear_edits()
    held, before = store.edits, store.measurements()
    other = {s.id for s in samples if before.get(s.id, ()) != _measured_by(protocol, s)}
    store.put_samples(
        [(sample, protocol.probes(sample)) for sample in samples],
        {name: members & chosen for name, members in dataset.subsets.items()},
    )
    store.put_manifest(manifest)
    changed = changed_edits(plan, held, store.folder)
    store.put_edits(_kept(plan, held))
    store.drop_verdicts(changed)
    store.drop_verdicts([key for key in held if key.sample in other], measured=True)
    store.put_replies(_unaskable(plan, held, judges))
    if not changed:
        return []
    names = ", ".join(f"{key.system}/{key.sample}" for key in changed[:3])
    return [
        f"{len(changed)} edits, or their sources, have changed since they were judged and are "
        f"asked about anew: {names}{' ...' if len(changed) > 3 else ''}"
    ]


def changed_edits(plan: Plan, held: Mapping[EditKey, Edit], run: Path) -> list[EditKey]:
    """The edits whose pictures, or sources, are others than those that were judged.

    Others from another folder are another model's, and no model's in this run.
    """
    changed = []
    for sample in plan.samples:
        edits = plan.edits[sample.id]
        for at, edit in enumerate(edits):
            before = held.get(edit.key)
            if before is None or before.image is None or edit.image is None:
                continue
            edits[at] = edit._replace(seen=before.seen)
            if not _has_changed(sample, edits[at]):
                continue
            then, now = before.image.parent, edit.image.parent
            if then.resolve() != now.resolve():
                raise CrevalError(
                    f"{run} holds {edit.key.system!r} from {then}; {now} holds other "
                    f"pictures. Give it another name, --edits NAME={now}, or another --run."
                )
            changed.append(edit.key)
    return changed


def _has_changed(sample: Sample, edit: Edit) -> bool:
    """Whether a picture is another than the one that was judged. Most are known by their date."""
    for name, stamp in edit.seen.items():
        shown, _, file = name.partition(" ")
        for path in paths_of(sample, edit, shown):
            if file and path.name != file:
                continue
            with contextlib.suppress(OSError, ImageError):
                now = path.stat()
                same = (now.st_size, now.st_mtime_ns) == (stamp.size, stamp.changed)
                if not same and digest(path) != stamp.digest:
                    return True
    return False


def _kept(plan: Plan, held: Mapping[EditKey, Edit]) -> Iterator[Edit]:
    """The edits to keep: one that is gone does not take the place of one that was judged."""
    for edit in plan.all_edits():
        before = held.get(edit.key)
        if edit.status is EditStatus.DONE or before is None or before.image is None:
            yield edit


def _unaskable(plan: Plan, held: Mapping[EditKey, Edit], judges: Sequence[str]) -> Iterator[Record]:
    """That questions without words were not asked, for every edit that is new."""
    reply = Reply(Status.UNASKABLE)
    for edit in plan.all_edits():
        blank = [q.id for q in plan.questions[edit.key.sample] if not q.text.strip()]
        if blank and edit.status is EditStatus.DONE and edit.key not in held:
            verdicts = [Verdict(probe, Status.UNASKABLE) for probe in blank]
            for judge in judges:
                yield Ask(judge, edit.key, tuple(blank)), reply, verdicts


def _measured_by(protocol: Protocol, sample: Sample) -> tuple[str, ...]:
    """What a sample's measurements depend on, to see whether it has changed."""
    probes = protocol.probes(sample)
    return tuple(detail_of(probe) for probe in probes if isinstance(probe, Measurement))
