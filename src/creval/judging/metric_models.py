"""The gauges of a run: which models they measure with, now and before."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from creval.core.errors import CrevalError
from creval.judging.measurements import metric_voice
from creval.metrics.availability import metric_availability
from creval.metrics.base import ImageMetric, image_metric_names, open_image_metrics, unused_slots
from creval.providers.huggingface import DependencyMissing
from creval.store import RunWriter, read_stored_metrics
from creval.store.run import METRIC_VOICE_PREFIX

METRIC_MODELS_KEY = "gauge_models"
"""The manifest's name for the models that were chosen for gauges, by what they are for."""


class RunMetrics:
    """The gauges that a run needs, `image_metrics` by their names.

    They measure with the models that are `selected_models` now or else, as far as the run has values of
    them, with those that were chosen before: with another, what is there would have to go.
    """

    def __init__(self, run: Path, names: Collection[str], selected_models: Mapping[str, str]) -> None:
        self._run, self._names, self._selected_models = run, names, selected_models
        self._models = self._read_stored_models() | {
            use: str(Path(model).resolve()) if Path(model).exists() else model for use, model in selected_models.items()
        }
        self.image_metrics = open_image_metrics(names, self._models)

    def voices(self) -> list[str]:
        """The names under which the run keeps what they measure."""
        return [metric_voice(gauge) for gauge in self.image_metrics.values()]

    def notes(self) -> list[str]:
        """What is measured with that was not chosen now, what was chosen for nothing, and what has
        to be done before all can be measured."""
        found = [
            f"measured as before with `metric_models` {use}={self._models[use]}"
            for use in sorted(self._models.keys() - self._selected_models.keys())
        ]
        found += [
            f"`metric_models` {use}: nothing of what was chosen is measured with it."
            for use in unused_slots(self._selected_models, self._names)
        ]
        for name, gauge in self.image_metrics.items():
            ready = metric_availability(gauge.info, self._models)
            found += [f"to measure {name}: {what}" for what in ready.to_do]
        return found

    def all_models(self, store: RunWriter) -> dict[str, str]:
        """The models that were ever chosen for the run."""
        return _models_in_manifest(store.manifest, store.folder) | self._models

    def load_new_models(self, store: RunWriter) -> None:
        """Load the models that are new to the run: one that cannot be loaded stops the command
        before it is kept in mind, and before what another one has measured is dropped."""
        before = _models_in_manifest(store.manifest, store.folder)
        new = {use for use in self._selected_models if before.get(use) != self._models[use]}
        for gauge in self.image_metrics.values():
            if any(map(store.answered_questions, _outdated_voices(store, gauge))):
                gauge.load()
            elif any(model.slot in new for model in gauge.info.models):
                with contextlib.suppress(DependencyMissing):  # it is said of each edit
                    gauge.load()

    def drop_outdated_values(self, store: RunWriter) -> list[str]:
        """Drop what was measured with another model: measuring costs no money."""
        notes = []
        for gauge in self.image_metrics.values():
            for other in _outdated_voices(store, gauge):
                if store.answered_questions(other):
                    notes.append(
                        f"what was measured with {other.removeprefix(METRIC_VOICE_PREFIX)} is dropped, and "
                        f"measured anew with {gauge.name}."
                    )
                store.delete_answers(other, store.models)
        return notes

    def _read_stored_models(self) -> dict[str, str]:
        """The models with which the run was measured before, as far as they are used again."""
        manifest, voices = read_stored_metrics(self._run)
        there = {name.removeprefix(METRIC_VOICE_PREFIX).partition("@")[0] for name in voices}
        held = _models_in_manifest(manifest, self._run)
        for use in {*unused_slots(held, there & {*image_metric_names()}), *unused_slots(held, self._names)}:
            del held[use]
        for use, model in held.items():
            path = Path(model)
            if use not in self._selected_models and path.is_absolute() and not path.exists():
                raise CrevalError(
                    f"{self._run} was measured with {model}, which is not there. Give `metric_models` {use}=MODEL."
                )
        return held


def _models_in_manifest(manifest: Mapping[str, object], run: Path) -> dict[str, str]:
    """The models that were chosen for a run's gauges, by what they are for."""
    held = manifest.get(METRIC_MODELS_KEY, {})
    if not isinstance(held, dict) or not all(isinstance(model, str) for model in held.values()):
        raise CrevalError(
            f"{run} does not say which models it was measured with: its {METRIC_MODELS_KEY} is damaged. Give "
            "another `run`."
        )
    return dict(held)


def _outdated_voices(store: RunWriter, image_metric: ImageMetric) -> Iterator[str]:
    """The voices of the same gauge with other models."""
    mine = metric_voice(image_metric)
    for name in store.voices:
        if name != mine and name.partition("@")[0] == mine.partition("@")[0]:
            yield name
