"""Provenance of models' edits: editor, strategy and costs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from creval.core.call import CACHE_ORIGIN
from creval.core.errors import CrevalError
from creval.store.connection import UnusableDatabaseError
from creval.store.damage import explained
from creval.store.readonly import open_readonly
from creval.store.run import METRIC_VOICE_PREFIX
from creval.store.run import PROVENANCE_KEY as PROVENANCE_KEY
from creval.store.writer import DATABASE

_BY_JUDGE = f"judge NOT LIKE '{METRIC_VOICE_PREFIX}%'"


@dataclass(frozen=True)
class CallCosts:
    """Number, cost (US dollars) and duration (seconds) of calls; None if unknown for any of them."""

    calls: int = 0
    cost: float | None = 0.0
    seconds: float | None = 0.0

    def __add__(self, other: CallCosts) -> CallCosts:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        seconds = None if self.seconds is None or other.seconds is None else self.seconds + other.seconds
        return CallCosts(self.calls + other.calls, cost, seconds)


@dataclass(frozen=True)
class EditProvenance:
    """A model's editor, strategy, number of edits, and costs. `judge` is the judge that picked candidates, if any."""

    editor: str
    strategy: str
    edits: int
    editing: CallCosts
    picking: CallCosts = CallCosts()
    planning: CallCosts = CallCosts()
    judge: str = ""

    @property
    def total_costs(self) -> CallCosts:
        return self.editing + self.picking + self.planning

    @property
    def cost_per_edit(self) -> float | None:
        """US dollars per edit, including planning and picking; None if unknown."""
        return self._per_edit(self.total_costs.cost)

    @property
    def seconds_per_edit(self) -> float | None:
        """Seconds of calls per edit; None if unknown."""
        return self._per_edit(self.total_costs.seconds)

    def _per_edit(self, total: float | None) -> float | None:
        return total / self.edits if total is not None and self.edits else None

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest entry."""
        return asdict(self)


def read_call_costs(folder: Path) -> CallCosts:
    """Return the costs of the calls in a folder's database; zero if there is no database."""
    if not (folder / DATABASE).is_file():
        return CallCosts()
    try:
        opened = open_readonly(folder / DATABASE)
    except UnusableDatabaseError:
        raise
    except CrevalError:
        return CallCosts()
    with closing(opened) as connection, explained(connection, folder / DATABASE):
        # Rows that only store a remote task's address are not calls. Calls without an answer may be free.
        calls, cost, seconds, unpaid, untimed = connection.execute(
            "SELECT count(*), total(cost), total(latency),"
            " total(cost IS NULL AND replies.status = 'answered'),"
            " total(latency IS NULL AND replies.status = 'answered')"
            " FROM replies JOIN asks ON asks.id = ask JOIN voices ON voices.id = voice"
            f" WHERE variant <> 'task' AND replies.status <> 'unaskable' AND origin <> '{CACHE_ORIGIN}' AND {_BY_JUDGE}"
        ).fetchone()
    return CallCosts(calls, None if unpaid else cost, None if untimed else seconds)


def read_provenance(manifest: Mapping[str, Any]) -> dict[str, EditProvenance]:
    """Return the provenance of models' edits that a run's manifest contains."""
    costs = ("editing", "picking", "planning")
    return {
        model: EditProvenance(**{**facts, **{name: CallCosts(**facts[name]) for name in costs}})
        for model, facts in manifest.get(PROVENANCE_KEY, {}).items()
    }
