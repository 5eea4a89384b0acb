"""Reuse of edits in another folder instead of creating new ones, such as the candidates of a smaller best-of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from creval.core.call import CallKey
from creval.core.errors import CrevalError
from creval.store.code_versions import Fingerprint, find_changes, key_of_version, version_variant
from creval.store.edit_folders import EDITOR_KEY
from creval.store.readonly import read_reply_texts, read_stored_manifest, read_stored_texts

VERSIONS_KEY = "editor_versions"
"""Manifest key of the versions of the editor, in their order."""


@dataclass(frozen=True)
class ReusedEdits:
    """Stored edits of a folder that can be reused.

    - `model`, `version`: the folder's model, and the number of the editor's version.
    - `notes`: for each edit, the JSON that describes its image, by the digest of the call's key.
    - `counts`: the number of edits of each sample.
    """

    folder: Path
    model: str
    version: int
    notes: Mapping[str, str]
    counts: Mapping[str, int]

    def find(self, call_key: CallKey) -> str:
        """Return the note of the edit that the same request created in the folder, or an empty string.

        The first candidate of best-of (draw 1) is the same as the only edit of a strategy without candidates (draw 0).
        """
        subject = call_key.subject._replace(model=self.model)
        subjects = [subject, subject._replace(draw=1 - subject.draw)] if subject.draw in (0, 1) else [subject]
        keys = (key_of_version(call_key._replace(subject=one), self.version) for one in subjects)
        return next((self.notes[key.digest] for key in keys if key.digest in self.notes), "")


def open_reused_edits(folder: Path, out: Path, editor: str, fingerprint: Fingerprint) -> ReusedEdits:
    """Read the edits of another folder. Raises `CrevalError` if its editor or the editor's version differs."""
    manifest = read_stored_manifest(folder)
    if EDITOR_KEY not in manifest:
        raise CrevalError(f"`candidates` {folder} is not a folder of edits by `creval edit`.")
    if folder.resolve() == out.resolve():
        raise CrevalError("`candidates` and `out` are the same folder. Give another `out`.")
    if manifest[EDITOR_KEY] != editor:
        raise CrevalError(f"`candidates` {folder} was made by {manifest[EDITOR_KEY]}, not by {editor}.")
    versions = manifest.get(VERSIONS_KEY) or [{"fingerprint": {}}]
    if changes := list(find_changes(versions[-1]["fingerprint"], fingerprint)):
        raise CrevalError(f"`candidates` {folder} was made by another version of {editor}: {changes[0]}.")
    number = len(versions) - 1
    model = str(manifest.get("system") or folder.resolve().name)
    variant = version_variant(number)
    texts = read_stored_texts(folder, [variant]).texts
    counts = {item: count for (judge, role, item), count in texts.items() if (judge, role) == (editor, model)}
    return ReusedEdits(folder.absolute(), model, number, read_reply_texts(folder, variant), counts)
