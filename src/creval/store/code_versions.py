"""Code versions of an editor, judge or metric in a folder, and the treatment of results by older versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from creval.core.call import CallKey
from creval.core.errors import CrevalError

Fingerprint = Mapping[str, Any]
"""State of the running code, by name: digests of files, a revision, versions of libraries."""
_MAX_SHOWN = 4  # changes listed in an error


class ChangeChoice(NamedTuple):
    """What to do after a change of code: keep the older version's results, or redo them.

    If neither is chosen, a change is an error.
    """

    keep_old: bool = False
    redo: bool = False

    def check(self) -> None:
        if self.keep_old and self.redo:
            raise CrevalError("`keep_old` and `redo` cannot be combined.")


STOP_IF_CHANGED = ChangeChoice()


class VersionHistory(NamedTuple):
    """The recorded versions of some code in a folder's manifest, the current one last.

    An entry has a `fingerprint`, a `version` (a short digest of the fingerprint), and `keeps_older`, which is True if
    results of earlier versions stay in use.
    """

    entries: tuple[Mapping[str, Any], ...]

    @property
    def number(self) -> int:
        """Number of the current version, starting at 0."""
        return len(self.entries) - 1

    @property
    def label(self) -> str:
        """Short digest of the current version; empty if nothing is known about the code."""
        return str(self.entries[-1]["version"])

    @property
    def usable(self) -> list[int]:
        """Numbers of the versions whose results are in use, newest first."""
        found = []
        for number in range(self.number, -1, -1):
            found.append(number)
            if not self.entries[number].get("keeps_older"):
                break
        return found

    def drops(self, stored: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether some results that were in use by the stored history are no longer in use by this one."""
        before = VersionHistory(tuple(stored)).usable if stored else [0]
        return not set(before) <= set(self.usable)

    def without_older(self) -> VersionHistory:
        """Return the history in which only the current version's results are in use."""
        return VersionHistory((*self.entries[:-1], {**self.entries[-1], "keeps_older": False}))

    def with_current(self, fingerprint: Fingerprint) -> VersionHistory:
        """Return the history with additional facts about the current version, whose digest stays the same."""
        entry = self.entries[-1]
        known = _make_entry({**entry["fingerprint"], **fingerprint})
        return VersionHistory((*self.entries[:-1], {**entry, **known, "version": self.label}))


def _make_entry(fingerprint: Fingerprint) -> dict[str, Any]:
    plain = json.loads(json.dumps(dict(fingerprint), default=str))
    text = json.dumps(plain, sort_keys=True)
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return {"version": digest if plain else "", "fingerprint": plain}


def version_variant(number: int) -> str:
    """Return the variant that marks calls to a version of the code. Calls to the first version have none."""
    return f"version {number}" if number else ""


def key_of_version(call_key: CallKey, number: int) -> CallKey:
    """Return the call's key, marked as a call to this version of the code.

    Keys of calls to the first version are not marked.
    """
    if not number:
        return call_key
    parameters = {**call_key.parameters, "version": number}
    return call_key._replace(parameters=parameters, variant=version_variant(number))


def continue_history(
    stored: Sequence[Mapping[str, Any]] | None, fingerprint: Fingerprint, choice: ChangeChoice, what: str, other: str
) -> VersionHistory:
    """Return the history extended by the running version.

    A folder written by an older creval has no recorded versions (`stored` is None). Its results stay in use, and the
    running version is recorded.

    A change raises `CrevalError`, unless `choice` selects `keep_old` or `redo`. `redo` also drops results of older
    versions that were in use until now. In the error, `what` describes the change ("outputs/x was made with another
    version of python:x:y"), and `other` names the option for another folder (`out`).
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
            f"{what}: {shown}. Use `keep_old` to keep the existing results, `redo` to create all of them again, "
            f"or give another `{other}`."
        )
    return VersionHistory((*history.entries, {**now, "keeps_older": choice.keep_old}))


def find_changes(before: Fingerprint, now: Fingerprint) -> Iterator[str]:
    """Yield descriptions of the differences between two fingerprints.

    Facts that only one of them contains are ignored.
    """
    for name in sorted(before.keys() & now.keys()):
        old, new = before[name], now[name]
        if old == new:
            continue
        if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
            yield f"{name} changed" if name == "files" else f"{name} was {old} and is {new}"
            continue
        for part in sorted(old.keys() | new.keys()):
            if part not in new:
                yield f"{part} was removed"
            elif part not in old:
                yield f"{part} is new"
            elif old[part] != new[part]:
                yield f"{part} changed" if name == "files" else f"{part} was {old[part]} and is {new[part]}"
