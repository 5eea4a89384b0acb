"""Changes to a run: rename, remove or relabel a model."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.formatting import escape_control, pluralise
from creval.reporting.output import CommandOutput
from creval.reporting.result import Result
from creval.store import DATABASE, RunWriter
from creval.store.model_changes import count_model_replies, delete_model, rename_model, set_labels


def rename(run: str | Path, old: str, new: str) -> Result[int]:
    """Rename a model of a run. Under the new name, `judge` asks no answered question again."""
    with _open_for_change(run) as store:
        count = rename_model(store, old, new)
    shown = escape_control(new)
    summary = (
        f"{escape_control(old)} is now {shown}, with {pluralise(count, 'edit')}. From now on, judge its folder as "
        f"--edits {shlex.quote(f'{shown}=FOLDER')}."
    )
    return Result(count, CommandOutput([summary], [], {"old": old, "new": new, "edits": count}))


def remove(run: str | Path, model: str) -> Result[int]:
    """Delete a model from a run, with the records of its edits and all answers about its edits. Image files remain."""
    with _open_for_change(run) as store:
        count = delete_model(store, model)
    summary = f"{escape_control(model)} is removed, with {pluralise(count, 'edit')}; its image files are not deleted."
    return Result(count, CommandOutput([summary], [], {"model": model, "edits": count}))


def label(run: str | Path, labels: Mapping[str, str]) -> dict[str, str]:
    """Set labels, the names under which tables, plots and pages show models. An empty name removes a label."""
    with _open_for_change(run) as store:
        return set_labels(store, labels)


def count_replies(run: str | Path, model: str) -> int:
    """Return the number of replies about a model in a run."""
    with _open_for_change(run) as store:
        return count_model_replies(store, model)


def _open_for_change(run: str | Path) -> RunWriter:
    if not (Path(run) / DATABASE).is_file():
        raise CrevalError(f"{run} is not a run: it has no {DATABASE}.")
    store = RunWriter(run)
    if "protocol" not in store.manifest:
        store.close()
        raise CrevalError(f"{run} is not a run of a judge or of recorded answers.")
    return store
