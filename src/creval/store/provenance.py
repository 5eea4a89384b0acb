"""How models' edits were made, and what that took."""

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
    """What calls took: US dollars and seconds, or none where that is not known of all of them."""

    calls: int = 0
    cost: float | None = 0.0
    seconds: float | None = 0.0

    def __add__(self, other: CallCosts) -> CallCosts:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        seconds = None if self.seconds is None or other.seconds is None else self.seconds + other.seconds
        return CallCosts(self.calls + other.calls, cost, seconds)


@dataclass(frozen=True)
class EditProvenance:
    """Who made a model's edits, how many, by which strategy, and at what cost; `judge` picked candidates, if any."""

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
        """US dollars for an edit, with all that it took; none where that is not known."""
        return self._per_edit(self.total_costs.cost)

    @property
    def seconds_per_edit(self) -> float | None:
        """Seconds of calls for an edit."""
        return self._per_edit(self.total_costs.seconds)

    def _per_edit(self, total: float | None) -> float | None:
        return total / self.edits if total is not None and self.edits else None

    def to_dict(self) -> dict[str, Any]:
        """Return what a manifest keeps."""
        return asdict(self)


def read_call_costs(folder: Path) -> CallCosts:
    """Return what the calls in a folder's store took; nothing where there is no store."""
    if not (folder / DATABASE).is_file():
        return CallCosts()
    try:
        opened = open_readonly(folder / DATABASE)
    except UnusableDatabaseError:
        raise
    except CrevalError:
        return CallCosts()
    with closing(opened) as connection, explained(connection, folder / DATABASE):
        # What names a task that runs elsewhere is no call, and what brought nothing may be free.
        calls, cost, seconds, unpaid, untimed = connection.execute(
            "SELECT count(*), total(cost), total(latency),"
            " total(cost IS NULL AND replies.status = 'answered'),"
            " total(latency IS NULL AND replies.status = 'answered')"
            " FROM replies JOIN asks ON asks.id = ask JOIN voices ON voices.id = voice"
            f" WHERE variant <> 'task' AND replies.status <> 'unaskable' AND origin <> '{CACHE_ORIGIN}' AND {_BY_JUDGE}"
        ).fetchone()
    return CallCosts(calls, None if unpaid else cost, None if untimed else seconds)


def read_provenance(manifest: Mapping[str, Any]) -> dict[str, EditProvenance]:
    """Return who made which model's edits, as far as a run knows."""
    costs = ("editing", "picking", "planning")
    return {
        model: EditProvenance(**{**facts, **{name: CallCosts(**facts[name]) for name in costs}})
        for model, facts in manifest.get(PROVENANCE_KEY, {}).items()
    }
