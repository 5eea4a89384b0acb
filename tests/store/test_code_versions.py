"""Continuing a folder after the editor's code has changed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from creval.core.errors import CrevalError
from creval.store.code_versions import STOP_IF_CHANGED, ChangeChoice, VersionHistory, continue_history, find_changes

OLD, NEW = {"files": {"a.py": "1"}}, {"files": {"a.py": "2"}}
KEEP, REDO = ChangeChoice(keep_old=True), ChangeChoice(redo=True)


def go_on(
    before: VersionHistory | None, now: Mapping[str, object], choice: ChangeChoice = STOP_IF_CHANGED
) -> VersionHistory:
    return continue_history(before and before.entries, now, choice, "x was made with another version of y", "out")


def test_a_change_stops_unless_a_choice_is_made() -> None:
    first = go_on(None, OLD)
    assert go_on(first, OLD) == first
    assert go_on(first, OLD, REDO) == first, "without a change there is nothing to redo"
    with pytest.raises(CrevalError, match=r"another version of y: a\.py changed\. Use `keep_old` .* another `out`"):
        go_on(first, NEW)
    with pytest.raises(CrevalError, match="cannot be combined"):
        go_on(first, NEW, ChangeChoice(keep_old=True, redo=True))


def test_which_versions_stay_in_use() -> None:
    kept = go_on(go_on(None, OLD), NEW, KEEP)
    assert (kept.number, kept.usable) == (1, [1, 0])
    assert go_on(kept, NEW).usable == [1, 0], "the choice is stored"
    back = go_on(kept, OLD, KEEP)
    assert (back.usable, back.label) == ([2, 1, 0], kept.entries[0]["version"]), "the same code has the same version"
    redone = go_on(back, NEW, REDO)
    assert (redone.number, redone.usable) == (3, [3])
    without = go_on(kept, NEW, REDO)
    assert (without.number, without.usable) == (1, [1]), "results of the older version are no longer in use"
    assert (without.drops(kept.entries), kept.drops(kept.entries), go_on(None, OLD).drops(())) == (True, False, False)


def test_newly_recorded_properties_are_no_change() -> None:
    assert go_on(None, {}).label == ""
    first = go_on(None, OLD)
    more = go_on(first, {**OLD, "revision": "abc"})
    assert more.entries[-1]["fingerprint"] == {**OLD, "revision": "abc"}
    assert more.label == first.label
    assert go_on(more, OLD) == more


def test_descriptions_of_changes() -> None:
    before = {"files": {"a": "1", "b": "1", "c": "1"}, "revision": "x", "versions": {"torch": "1"}, "gone": 1}
    now = {"files": {"a": "2", "c": "1", "d": "1"}, "revision": "y", "versions": {"torch": "2"}}
    assert list(find_changes(before, now)) == [
        "a changed",
        "b was removed",
        "d is new",
        "revision was x and is y",
        "torch was 1 and is 2",
    ]
    assert list(find_changes({"files": "1"}, {"files": "2"})) == ["files changed"]
