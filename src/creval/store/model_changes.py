"""Renaming, deleting and labelling of a run's models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from creval.core.call import CallKey
from creval.core.edit_record import EditKey, EditStatus
from creval.core.errors import CrevalError, require_known
from creval.core.rehearsal import REHEARSAL_SUFFIX, has_rehearsal
from creval.store.edit_folders import EDITOR_KEY
from creval.store.run import LABELS_KEY, PROVENANCE_KEY, is_showable, read_labels
from creval.store.writer import RunWriter


def rename_model(store: RunWriter, old: str, new: str) -> int:
    """Rename a model everywhere in a run; return the number of its edits with an image."""
    old = _find_model(store, old)
    check_name(new, "name")
    _require_rehearsal_mark(store, old, new)
    if new in _list_models(store):
        raise CrevalError(f"{store.folder} already has a model {new!r}.")
    with store.transaction():
        made = _count_made(store, old)
        rows = store.execute("SELECT id, sample, draw, detail FROM edits WHERE system = ?", (old,)).fetchall()
        for number, sample, draw, detail in rows:
            renamed = json.dumps(_rename_in_detail(json.loads(detail), old, new), ensure_ascii=False)
            store.execute("UPDATE edits SET system = ?, detail = ? WHERE id = ?", (new, renamed, number))
            _renew_digests(store, number, EditKey(new, sample, draw))
        manifest = {**store.manifest, LABELS_KEY: read_labels(store.manifest)}
        changed = {
            key: {new if name == old else name: value for name, value in manifest[key].items()}
            for key in (PROVENANCE_KEY, LABELS_KEY)
            if key in manifest
        }
        if manifest.get("stopping"):
            changed["stopping"] = _replace_name(manifest["stopping"], old, new)
        store.put_manifest(changed)
    store.reload()
    return made


def delete_model(store: RunWriter, model: str) -> int:
    """Delete a model's edits with all replies and verdicts; return the number of its edits with an image."""
    model = _find_model(store, model)
    mine = "SELECT id FROM edits WHERE system = ?"
    with store.transaction():
        for doomed in (
            f"verdicts WHERE edit IN ({mine})",
            f"replies WHERE ask IN (SELECT id FROM asks WHERE edit IN ({mine}))",
            f"asks WHERE edit IN ({mine})",
        ):
            store.execute(f"DELETE FROM {doomed}", (model,))
        count = _count_made(store, model)
        store.execute("DELETE FROM edits WHERE system = ?", (model,))
        manifest = {**store.manifest, LABELS_KEY: read_labels(store.manifest)}
        changed: dict[str, Any] = {
            key: {name: value for name, value in manifest[key].items() if name != model}
            for key in (PROVENANCE_KEY, LABELS_KEY)
            if key in manifest
        }
        if manifest.get("stopping"):  # the decision to stop early included this model
            changed["stopping"] = None
        store.put_manifest(changed)
    store.reload()
    return count


def _count_made(store: RunWriter, model: str) -> int:
    made = "SELECT count(*) FROM edits WHERE system = ? AND status = ?"
    return int(store.execute(made, (model, EditStatus.DONE)).fetchone()[0])


def set_labels(store: RunWriter, labels: Mapping[str, str]) -> dict[str, str]:
    """Store display labels for models, and return all current labels. An empty label removes the stored one."""
    held = read_labels(store.manifest)
    for given, label in labels.items():
        name = _find_model(store, given)
        if not label or label == name:
            held.pop(name, None)
            continue
        check_name(label, "label")
        _require_rehearsal_mark(store, name, label)
        others = {held.get(other, other) for other in _list_models(store) if other != name}
        if label in others or label in _list_models(store):
            raise CrevalError(
                f"`label` {name}={label!r}: another model in {store.folder} already has this name or label."
            )
        held[name] = label
    with store.transaction():
        store.put_manifest({LABELS_KEY: held})
    return held


def count_model_replies(store: RunWriter, model: str) -> int:
    """Return the number of replies about a model in a run."""
    model = _find_model(store, model)
    query = (
        "SELECT count(*) FROM replies JOIN asks ON asks.id = ask JOIN edits ON edits.id = asks.edit WHERE system = ?"
    )
    return int(store.execute(query, (model,)).fetchone()[0])


def check_name(name: str, what: str) -> None:
    """Raise `CrevalError` if a model's name or label cannot be displayed."""
    if not is_showable(name):
        raise CrevalError(
            f"{name[:200]!r} is not a valid {what} for a model. Use 1 to 200 printable characters, without leading or "
            "trailing spaces."
        )


def _require_rehearsal_mark(store: RunWriter, model: str, name: str) -> None:
    """Raise `CrevalError` if a new name or label would hide that a model's edits are a rehearsal."""
    maker = store.manifest.get(PROVENANCE_KEY, {}).get(model, {})
    if has_rehearsal(str(maker.get("editor", ""))) and not name.endswith(REHEARSAL_SUFFIX):
        raise CrevalError(f"the edits of {model} are a rehearsal. Give a name that ends with {REHEARSAL_SUFFIX}.")


def _list_models(store: RunWriter) -> list[str]:
    return [name for (name,) in store.execute("SELECT DISTINCT system FROM edits ORDER BY system")]


def _find_model(store: RunWriter, given: str) -> str:
    """Return a model's name by its name or label."""
    manifest, known = store.manifest, _list_models(store)
    if EDITOR_KEY in manifest:
        raise CrevalError(
            f"{store.folder} is a folder of edits, and its name is the model's name. Rename or delete the folder."
        )
    own = {label: name for name, label in read_labels(manifest).items()}
    return require_known("model", given if given in known else own.get(given, given), known)


def _renew_digests(store: RunWriter, edit: int, key: EditKey) -> None:
    """Update the digests of an edit's calls, which depend on the edit's key."""
    query = (
        "SELECT asks.id, judge, repeat, variant, probes, detail FROM asks"
        " JOIN voices ON voices.id = voice WHERE edit = ?"
    )
    for number, judge, repeat, variant, probes, detail in store.execute(query, (edit,)).fetchall():
        more = json.loads(detail)
        call = CallKey(
            judge,
            key,
            tuple(json.loads(probes)),
            more.get("prompt", ""),
            tuple(more.get("images", ())),
            more.get("parameters", {}),
            repeat,
            variant,
        )
        store.execute("UPDATE asks SET digest = ? WHERE id = ?", (call.digest, number))


def _rename_in_detail(detail: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Rename a model among the parents and ancestors in an edit's details."""
    for parent in detail.get("parents", ()):
        parent[0] = new if parent[0] == old else parent[0]
    for row in detail.get("before", ()):
        row[0] = new if row[0] == old else row[0]
        row[-1] = _rename_in_detail(row[-1], old, new)
    return detail


def _replace_name(value: Any, old: str, new: str) -> Any:
    """Return a copy of a JSON value, with the model's name replaced wherever it is a whole key or value."""
    if isinstance(value, dict):
        return {new if key == old else key: _replace_name(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace_name(inner, old, new) for inner in value]
    return new if value == old else value
