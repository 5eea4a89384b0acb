"""Versions of an editor, a judge or a metric in one folder, and what is to happen with the results of older ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from creval.core.errors import CrevalError

Fingerprint = Mapping[str, Any]
"""The state of what runs, by name: digests of files, a revision, versions of libraries."""
_MAX_SHOWN = 4  # changes in an error


class ChangeChoice(NamedTuple):
    """What to do where something has changed: keep what the older version made, redo it, or stop and ask."""

    keep_old: bool = False
    redo: bool = False

    def check(self) -> None:
        if self.keep_old and self.redo:
            raise CrevalError("`keep_old` and `redo` exclude each other.")


STOP_IF_CHANGED = ChangeChoice()


class VersionHistory(NamedTuple):
    """The versions in a folder as its manifest holds them, the current one last.

    An entry has the `fingerprint`, its `version` (a short digest of it), and `keeps_older`: whether results of the
    versions before stay in use.
    """

    entries: tuple[Mapping[str, Any], ...]

    @property
    def number(self) -> int:
        """The number of the current version, from 0."""
        return len(self.entries) - 1

    @property
    def label(self) -> str:
        """The current version's short digest; empty if nothing is known about what runs."""
        return str(self.entries[-1]["version"])

    @property
    def usable(self) -> list[int]:
        """The numbers of the versions whose results are in use, the newest first."""
        found = []
        for number in range(self.number, -1, -1):
            found.append(number)
            if not self.entries[number].get("keeps_older"):
                break
        return found

    def drops(self, stored: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether results that are in use in a stored history are not in use in this one."""
        before = VersionHistory(tuple(stored)).usable if stored else [0]
        return not set(before) <= set(self.usable)

    def without_older(self) -> VersionHistory:
        """Return the history with only the current version's results in use."""
        return VersionHistory((*self.entries[:-1], {**self.entries[-1], "keeps_older": False}))

    def with_current(self, fingerprint: Fingerprint) -> VersionHistory:
        """Return the history with more known about the current version, which keeps its digest."""
        entry = self.entries[-1]
        known = _make_entry({**entry["fingerprint"], **fingerprint})
        return VersionHistory((*self.entries[:-1], {**entry, **known, "version": self.label}))


def _make_entry(fingerprint: Fingerprint) -> dict[str, Any]:
    plain = json.loads(json.dumps(dict(fingerprint), default=str))
    text = json.dumps(plain, sort_keys=True)
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return {"version": digest if plain else "", "fingerprint": plain}


def continue_history(
    stored: Sequence[Mapping[str, Any]] | None, fingerprint: Fingerprint, choice: ChangeChoice, what: str, other: str
) -> VersionHistory:
    """Return the history with the version that runs now.

    A folder of an older creval knows no versions (None): it is continued, and the present one recorded. A change
    raises `CrevalError` unless a choice says what follows. `redo` also drops results of older versions that were kept
    until now. `what` and `other` say in the error what has changed
    ("outputs/x was made with another version of python:x:y") and what else can be done (another `out`).
    """
    choice.check()
    now = _make_entry(fingerprint)
    if not stored:
        return VersionHistory((now,))
    history = VersionHistory(tuple(stored))
    before = history.entries[-1]["fingerprint"]
    changes = list(find_changes(before, now["fingerprint"]))
    if not changes:
        in_use = history.without_older() if choice.redo and len(history.usable) > 1 else history
        return in_use.with_current(now["fingerprint"])
    if not (choice.keep_old or choice.redo):
        shown = ", ".join(changes[:_MAX_SHOWN]) + (
            f" and {len(changes) - _MAX_SHOWN} more" * (len(changes) > _MAX_SHOWN)
        )
        raise CrevalError(
            f"{what}: {shown}. `keep_old` keeps what is there and makes the rest with this version, `redo` makes all "
            f"of it again; or give another `{other}`."
        )
    return VersionHistory((*history.entries, {**now, "keeps_older": choice.keep_old}))


def find_changes(before: Fingerprint, now: Fingerprint) -> Iterator[str]:
    """Yield what differs between two states, as far as both know of it, in words."""
    for name in sorted(before.keys() & now.keys()):
        old, new = before[name], now[name]
        if old == new:
            continue
        if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
            yield f"{name} changed" if name == "files" else f"{name} was {old} and is {new}"
            continue
        for part in sorted(old.keys() | new.keys()):
            if part not in new:
                yield f"{part} is gone"
            elif part not in old:
                yield f"{part} is new"
            elif old[part] != new[part]:
                yield f"{part} changed" if name == "files" else f"{part} was {old[part]} and is {new[part]}"
