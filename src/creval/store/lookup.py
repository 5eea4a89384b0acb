"""Lookup of single edits, verdicts and replies in a run, and detection of changes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.call import Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.verdict import VerdictStatus
from creval.store.run import FROM_VERDICTS, VERDICT_COLUMNS, Run, VerdictRow
from creval.store.stored_shapes import CALL_DETAIL, CALL_PARTS, parse_stored
from creval.store.writer import DATABASE, select_edits


class StoredCall(NamedTuple):
    """One reply with its call: the edit, the judge, the questions, and details of the request."""

    edit: EditKey
    judge: str
    repeat: int
    variant: str
    probes: tuple[str, ...]
    detail: dict[str, Any]
    reply: Reply


class ExplanationRow(NamedTuple):
    """A verdict's explanation, with the ids of the verdict's row and its reply."""

    row_id: int
    reply_id: int
    explanation: str


class RunLookup(Run):
    """A run with fast lookup of single rows, which uses the indexes of the database."""

    def all_edits(self) -> Iterator[Edit]:
        """Return all stored edits."""
        return select_edits(self._connection, "ORDER BY id")

    def _find_edit(self, key: EditKey) -> Edit | None:
        return next(select_edits(self._connection, "WHERE system = ? AND sample = ? AND draw = ?", key), None)

    def image_path(self, edit: EditKey) -> Path | None:
        """Return the path of an edit's image, or None if it has none."""
        found = self._find_edit(edit)
        return self.resolve_image(found.image) if found and found.image else None

    def ancestor_image_path(self, edit: EditKey, position: int) -> Path | None:
        """Return the path of the image of an edit's ancestor at this position, or None if there is none."""
        found = self._find_edit(edit)
        return found.ancestors[position].image if found and position < len(found.ancestors) else None

    def first_image_paths(self, model: str, samples: Sequence[str]) -> dict[EditKey, Path]:
        """Return one image of a model for each of these samples: that of the first draw that has an image."""
        rows = self._connection.execute(
            "SELECT system, sample, min(draw), image FROM edits WHERE system = ?"
            f" AND sample IN ({_placeholders(samples)}) AND image IS NOT NULL GROUP BY sample",
            (model, *samples),
        )
        return {EditKey(*key): self.resolve_image(Path(image)) for *key, image in rows}

    def verdicts_for(self, samples: Sequence[str], probes: Sequence[str] = ()) -> list[VerdictRow]:
        """Return the verdicts on all edits of some samples, for these probes or for all.

        There is one verdict for each edit, probe (question or measurement) and voice (judge, repeat and variant, or
        metric).
        """
        query = (
            f"SELECT {VERDICT_COLUMNS}, reply FROM edits CROSS JOIN verdicts ON edit = edits.id"
            f" JOIN voices ON voices.id = voice WHERE sample IN ({_placeholders(samples)})"
        )
        if probes:
            query += f" AND probe IN ({_placeholders(probes)})"
        query += " ORDER BY system, draw, variant, judge, repeat"
        return list(map(VerdictRow.from_row, self._connection.execute(query, (*samples, *probes))))

    def find_call(self, reply_id: int) -> StoredCall | None:
        """Return the reply with this id and its call, or None."""
        row = self._connection.execute(
            "SELECT system, sample, draw, judge, repeat, variant, probes, asks.detail,"
            " replies.status, text, origin, attempt, tokens_in, tokens_out, cost, latency"
            " FROM replies JOIN asks ON asks.id = ask JOIN edits ON edits.id = asks.edit"
            " JOIN voices ON voices.id = asks.voice WHERE replies.id = ?",
            (reply_id,),
        ).fetchone()
        if row is None:
            return None
        judge, repeat, variant, probes, detail = row[3:8]
        reply = Reply(VerdictStatus(row[8]), *row[9:])
        named, more = tuple(parse_stored(probes, CALL_PARTS)), parse_stored(detail, CALL_DETAIL)
        return StoredCall(EditKey(*row[:3]), judge, repeat, variant, named, more, reply)

    def explanations(
        self,
        after_row: int = 0,
        after_reply: int = 0,
        models: Container[str] | None = None,
        samples: Container[str] | None = None,
    ) -> Iterator[ExplanationRow]:
        """Yield explanations of verdicts that were added or replaced since an earlier read.

        `after_row` and `after_reply` are the highest ids of a verdict's row and of a reply at that read.
        """
        rows = self._connection.execute(
            "SELECT system, sample, verdicts.rowid, coalesce(reply, 0), explanation FROM verdicts"
            " JOIN edits ON edits.id = edit WHERE verdicts.rowid > ? OR reply > ? ORDER BY verdicts.rowid",
            (after_row, after_reply),
        )
        for model, sample, *row in rows:
            if (models is None or model in models) and (samples is None or sample in samples):
                yield ExplanationRow(*row)

    def verdicts_by_row(self, row_ids: Sequence[int]) -> dict[int, VerdictRow]:
        """Return the existing verdicts among these row ids."""
        which = f"WHERE verdicts.rowid IN ({_placeholders(row_ids)})"
        rows = self._connection.execute(
            f"SELECT verdicts.rowid, {VERDICT_COLUMNS}, reply {FROM_VERDICTS} {which}", tuple(row_ids)
        )
        return {number: VerdictRow.from_row(row) for number, *row in rows}

    def data_version(self) -> tuple[int, ...]:
        """Return a value that changes after a write by another process, and if the file is replaced."""
        changes = self._connection.execute("PRAGMA data_version").fetchone()[0]
        file = (self.folder / DATABASE).stat()
        return int(changes), file.st_dev, file.st_ino


def _placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
