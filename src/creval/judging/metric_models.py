"""The gauges of a run: which models they measure with, now and before."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from creval.core.errors import CrevalError
from creval.judging.measurements import voice
from creval.metrics.availability import readiness
from creval.metrics.base import Gauge, gauge_names, open_gauges, unused
from creval.providers.huggingface import Missing
from creval.store import Store, held_measures
from creval.store.run import VOICE

MODELS = "gauge_models"
"""The manifest's name for the models that were chosen for gauges, by what they are for."""


class Gauges:
    """The gauges that a run needs, `opened` by their names.

    They measure with the models that are `chosen` now or else, as far as the run has values of
    them, with those that were chosen before: with another, what is there would have to go.
    """

    def __init__(self, run: Path, names: Collection[str], chosen: Mapping[str, str]) -> None:
        self._run, self._names, self._chosen = run, names, chosen
        self._models = self._held() | {
            use: str(Path(model).resolve()) if Path(model).exists() else model
            for use, model in chosen.items()
        }
        self.opened = open_gauges(names, self._models)

    def voices(self) -> list[str]:
        """The names under which the run keeps what they measure."""
        return [voice(gauge) for gauge in self.opened.values()]

    def notes(self) -> list[str]:
        """What is measured with that was not chosen now, what was chosen for nothing, and what has
        to be done before all can be measured."""
        found = [
            f"measured as before with --gauge {use}={self._models[use]}"
            for use in sorted(self._models.keys() - self._chosen.keys())
        ]
        found += [
            f"--gauge {use}: nothing of what was chosen is measured with it."
            for use in unused(self._chosen, self._names)
        ]
        for name, gauge in self.opened.items():
            ready = readiness(gauge.card, self._models)
            found += [f"to measure {name}: {what}" for what in ready.to_do]
        return found

    def all_models(self, store: Store) -> dict[str, str]:
        """The models that were ever chosen for the run."""
        return _models_in(store.manifest, store.folder) | self._models

    def load_new(self, store: Store) -> None:
        """Load the models that are new to the run: one that cannot be loaded stops the command
        before it is kept in mind, and before what another one has measured is dropped."""
        before = _models_in(store.manifest, store.folder)
        new = {use for use in self._chosen if before.get(use) != self._models[use]}
        for gauge in self.opened.values():
            if any(map(store.answered, _others(store, gauge))):
                gauge.load()
            elif any(model.use in new for model in gauge.card.models):
                with contextlib.suppress(Missing):  # it is said of each edit
                    gauge.load()

    def drop_others(self, store: Store) -> list[str]:
        """Drop what was measured with another model: measuring costs no money."""
        notes = []
        for gauge in self.opened.values():
            for other in _others(store, gauge):
                if store.answered(other):
                    notes.append(
                        f"what was measured with {other.removeprefix(VOICE)} is dropped, and "
                        f"measured anew with {gauge.name}."
                    )
                store.forget(other, store.systems)
        return notes

    def _held(self) -> dict[str, str]:
        """The models with which the run was measured before, as far as they are used again."""
        manifest, voices = held_measures(self._run)
        there = {name.removeprefix(VOICE).partition("@")[0] for name in voices}
        held = _models_in(manifest, self._run)
        for use in {*unused(held, there & {*gauge_names()}), *unused(held, self._names)}:
            del held[use]
        for use, model in held.items():
            path = Path(model)
            if use not in self._chosen and path.is_absolute() and not path.exists():
                raise CrevalError(
                    f"{self._run} was measured with {model}, which is not there. Give "
                    f"--gauge {use}=MODEL."
                )
        return held


def _models_in(manifest: Mapping[str, object], run: Path) -> dict[str, str]:
    """The models that were chosen for a run's gauges, by what they are for."""
    held = manifest.get(MODELS, {})
    if not isinstance(held, dict) or not all(isinstance(model, str) for model in held.values()):
        raise CrevalError(
            f"{run} does not say which models it was measured with: its {MODELS} is damaged. Give "
            "another --run."
        )
    return dict(held)


def _others(store: Store, gauge: Gauge) -> Iterator[str]:
    """The voices of the same gauge with other models."""
    mine = voice(gauge)
    for name in store.voices:
        if name != mine and name.partition("@")[0] == mine.partition("@")[0]:
            yield name
