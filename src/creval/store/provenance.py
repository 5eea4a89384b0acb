"""How systems' edits were made, and what that took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError
from creval.store.readonly import open_reader
from creval.store.run import VOICE
from creval.store.writer import DATABASE

MAKERS = "makers"
"""The entry in a run's manifest that says who made each system's edits."""
_ASKED = f"judge NOT LIKE '{VOICE}%'"


@dataclass(frozen=True)
class Bill:
    """What calls took: US dollars and seconds, or none where that is not known of all of them."""

    calls: int = 0
    cost: float | None = 0.0
    seconds: float | None = 0.0

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.calls + other.calls,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            None if self.seconds is None or other.seconds is None else self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class Maker:
    """Who made a system's edits and with which strategy; how many pictures there are, and what it
    took to edit, to pick among candidates, and to plan. `judge` is who picked, if anybody did."""

    editor: str
    strategy: str
    edits: int
    editing: Bill
    picking: Bill = Bill()
    planning: Bill = Bill()
    judge: str = ""

    @property
    def whole(self) -> Bill:
        return self.editing + self.picking + self.planning

    @property
    def cost(self) -> float | None:
        """US dollars for an edit, with all that it took; none where that is not known."""
        return self._each(self.whole.cost)

    @property
    def seconds(self) -> float | None:
        """Seconds of calls for an edit."""
        return self._each(self.whole.seconds)

    def _each(self, whole: float | None) -> float | None:
        return whole / self.edits if whole is not None and self.edits else None

    def facts(self) -> dict[str, Any]:
        """What a manifest keeps."""
        return asdict(self)


def bill(folder: Path) -> Bill:
    """What the calls in a folder's store took; nothing where there is no store."""
    if not (folder / DATABASE).is_file():
        return Bill()
    try:
        connection = open_reader(folder / DATABASE)
    except CrevalError:
        return Bill()
    try:
        # What names a task that runs elsewhere is no call, and what brought nothing may be free.
        calls, cost, seconds, unpaid, untimed = connection.execute(
            "SELECT count(*), total(cost), total(latency),"
            " total(cost IS NULL AND replies.status = 'answered'),"
            " total(latency IS NULL AND replies.status = 'answered')"
            " FROM replies JOIN asks ON asks.id = ask JOIN voices ON voices.id = voice"
            f" WHERE variant <> 'task' AND replies.status <> 'unaskable' AND {_ASKED}"
        ).fetchone()
    finally:
        connection.close()
    return Bill(calls, None if unpaid else cost, None if untimed else seconds)


def makers(manifest: Mapping[str, Any]) -> dict[str, Maker]:
    """Who made which system's edits, as far as a run knows."""
    found = {}
    for system, facts in manifest.get(MAKERS, {}).items():
        found[system] = Maker(
            facts["editor"],
            facts["strategy"],
            facts["edits"],
            Bill(**facts["editing"]),
            Bill(**facts["picking"]),
            Bill(**facts["planning"]),
            facts.get("judge", ""),
        )
    return found
