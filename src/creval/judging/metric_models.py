"""Metrics of a run and the models that they use, now and in earlier calls."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path

from creval import registry
from creval.core.errors import CrevalError
from creval.judging.measurements import metric_voice
from creval.metrics.availability import metric_availability
from creval.metrics.base import ImageMetric, open_image_metrics, unused_slots
from creval.providers.huggingface import DependencyMissing
from creval.store import RunWriter, read_stored_metrics
from creval.store.run import METRIC_VOICE_PREFIX

METRIC_MODELS_KEY = "gauge_models"
"""Manifest key of the models that were selected for metrics, by slot."""


class RunMetrics:
    """A run's metrics by name, with the models that they use.

    If no model is selected for a metric that has stored values, the model that computed these values is used.
    """

    def __init__(self, run: Path, names: Collection[str], selected_models: Mapping[str, str]) -> None:
        self._run, self._names, self._selected_models = run, names, selected_models
        self._models = self._read_stored_models() | {
            use: str(Path(model).resolve()) if Path(model).exists() else model for use, model in selected_models.items()
        }
        self.image_metrics = open_image_metrics(names, self._models)

    def voices(self) -> list[str]:
        """Return the names under which the run stores the metrics' values."""
        return [metric_voice(metric) for metric in self.image_metrics.values()]

    def model_names(self) -> list[str]:
        """Return the names of the models that the metrics use."""
        models = (model for metric in self.image_metrics.values() for model in metric.info.models)
        return [self._models.get(model.slot, model.default) for model in models]

    def notes(self) -> list[str]:
        """Return notes: models that are used as before, models that no metric uses, and what to install or provide."""
        found = [
            f"measured as before with `metric_models` {use}={self._models[use]}"
            for use in sorted(self._models.keys() - self._selected_models.keys())
        ]
        found += [
            f"`metric_models` {use}: no selected metric uses it."
            for use in unused_slots(self._selected_models, self._names)
        ]
        for name, metric in self.image_metrics.items():
            found += [f"to measure {name}: {what}" for what in metric_availability(metric.info, self._models).to_do]
        return found

    def all_models(self, store: RunWriter) -> dict[str, str]:
        """Return all models that were ever selected for the run."""
        return _models_in_manifest(store.manifest, store.folder) | self._models

    def load_new_models(self, store: RunWriter) -> None:
        """Load models that are new to the run. If one cannot be loaded, this fails before old values are deleted."""
        before = _models_in_manifest(store.manifest, store.folder)
        new = {use for use in self._selected_models if before.get(use) != self._models[use]}
        for metric in self.image_metrics.values():
            if any(map(store.answered_questions, _outdated_voices(store, metric))):
                metric.load()
            elif any(model.slot in new for model in metric.info.models):
                with contextlib.suppress(DependencyMissing):  # reported for each edit
                    metric.load()

    def drop_outdated_values(self, store: RunWriter) -> list[str]:
        """Delete values measured with other models. Measuring again costs nothing. Return notes on deleted values."""
        notes = []
        for metric in self.image_metrics.values():
            for other in _outdated_voices(store, metric):
                if store.answered_questions(other):
                    notes.append(
                        f"values measured with {other.removeprefix(METRIC_VOICE_PREFIX)} are deleted, and "
                        f"measured again with {metric.name}."
                    )
                store.delete_answers(other, store.models)
        return notes

    def _read_stored_models(self) -> dict[str, str]:
        """Return the models that the run was measured with, by slot, without those that would not be used again."""
        manifest, voices = read_stored_metrics(self._run)
        there = {name.removeprefix(METRIC_VOICE_PREFIX).partition("@")[0] for name in voices}
        held = _models_in_manifest(manifest, self._run)
        for use in {*unused_slots(held, there & {*registry.metrics.names()}), *unused_slots(held, self._names)}:
            del held[use]
        for use, model in held.items():
            path = Path(model)
            if use not in self._selected_models and path.is_absolute() and not path.exists():
                raise CrevalError(
                    f"{self._run} was measured with {model}, which does not exist. Give `metric_models` {use}=MODEL."
                )
        return held


def _models_in_manifest(manifest: Mapping[str, object], run: Path) -> dict[str, str]:
    """Return the models that were selected for a run's metrics, by slot."""
    held = manifest.get(METRIC_MODELS_KEY, {})
    if not isinstance(held, dict) or not all(isinstance(model, str) for model in held.values()):
        raise CrevalError(
            f"{run}: the models of its metrics are unknown, because {METRIC_MODELS_KEY} in its manifest is damaged. "
            "Give another `run`."
        )
    return dict(held)


def _outdated_voices(store: RunWriter, image_metric: ImageMetric) -> list[str]:
    """Return the voices under which the run stores values of this metric with other models."""
    mine = metric_voice(image_metric)
    return [name for name in store.voices if name != mine and name.partition("@")[0] == mine.partition("@")[0]]
