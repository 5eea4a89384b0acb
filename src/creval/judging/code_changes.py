"""Changes of the code of users' judges and metrics since a run used them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creval.store import RunWriter
from creval.store.code_versions import ChangeChoice, VersionHistory, continue_history
from creval.store.run import METRIC_VOICE_PREFIX

CODE_VERSIONS_KEY = "code_versions"
"""Manifest key of the versions of users' judges and metrics, by voice."""


class CodeChanges:
    """Versions of a run's judges and metrics that are user code.

    They are kept by voice: the name under which a run stores the answers of a judge or the values of a metric.
    """

    def __init__(self, digests: Mapping[str, Mapping[str, str]], choice: ChangeChoice) -> None:
        self._digests = {voice: files for voice, files in digests.items() if files}
        self._choice = choice

    def find_redone(self, store: RunWriter) -> list[str]:
        """Return the voices whose answers will be deleted and requested again.

        Raises `CrevalError` if code has changed and the user has not chosen what to do.
        """
        return [voice for voice, history in self._histories(store).items() if self._is_redone(store, voice, history)]

    def _histories(self, store: RunWriter) -> dict[str, VersionHistory]:
        known = store.manifest.get(CODE_VERSIONS_KEY, {})
        found = {}
        for voice, files in self._digests.items():
            name = voice.removeprefix(METRIC_VOICE_PREFIX)
            what = f"{store.folder} was made with another version of {name}"
            before = known.get(voice) if store.answered_questions(voice) else None
            found[voice] = continue_history(before, {"files": files}, self._choice, what, "run")
        return found

    def _is_redone(self, store: RunWriter, voice: str, history: VersionHistory) -> bool:
        before = store.manifest.get(CODE_VERSIONS_KEY, {}).get(voice, ())
        return self._choice.redo and len(history.entries) >= len(before) and history.drops(before)

    def apply(self, store: RunWriter) -> list[str]:
        """Delete the answers to be requested again, and record the versions.

        Returns a note for each voice with deleted answers or with answers of several versions.
        """
        notes = []
        histories = self._histories(store)
        for voice, history in histories.items():
            name = voice.removeprefix(METRIC_VOICE_PREFIX)
            if self._is_redone(store, voice, history):
                store.delete_answers(voice, store.models)
                notes.append(f"answers of an older version of {name} are deleted and requested again.")
            elif len(history.usable) > 1:
                notes.append(f"this run has answers of {len(history.usable)} versions of {name}.")
        if histories:
            entries: dict[str, Any] = {voice: history.entries for voice, history in histories.items()}
            store.put_manifest({CODE_VERSIONS_KEY: {**store.manifest.get(CODE_VERSIONS_KEY, {}), **entries}})
        return notes
