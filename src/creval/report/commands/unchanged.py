"""Who did nothing, and what those who did something kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from creval.core.formatting import interval, many, percent, value, visible
from creval.report.output import Findings, Grid, Row

if TYPE_CHECKING:
    from creval.analysis.unchanged import Unchanged


def changes(found: Sequence[Unchanged], half: float | None, lost: int) -> Findings:
    """What is to be said of edits that hardly changed their sources; from `half` on an instruction
    was followed, and `lost` edits were not looked at."""
    heads = ["model", "edits", "unchanged", "95 %"]
    rows: list[Row] = [
        [one.system, f"{one.unchanged.total:,}", *percent(one.unchanged)] for one in found
    ]
    if half is not None:
        heads += ["IF", "kept", "followed", "kept by those", "95 %"]
        for row, one in zip(rows, found, strict=True):
            row += [value(one.following), value(one.keeping), f"{one.followed:,}",
                    value(one.kept), interval(one.low, one.high)]  # fmt: skip
    notes = [
        "unchanged: edits that differ from their source no more than storing it again would make"
        + ("." if half is None else f"; followed: samples with IF of {half:g} or more.")
    ]
    if lost:
        notes.append(f"{lost:,} edits have no picture, or no source, that could be looked at.")
    models = [
        {
            "model": one.system,
            "unchanged": one.unchanged.found,
            "edits": one.unchanged.total,
            "share": one.unchanged.value,
            "share_ends": list(one.unchanged.ends),
            "following": one.following,
            "keeping": one.keeping,
            "followed": one.followed,
            "kept_when_followed": one.kept,
            "kept_ends": [one.low, one.high],
        }
        for one in found
    ]
    return Findings([_idle(found)], [Grid(heads, rows)], {"models": models, "lost": lost}, notes)


def _idle(found: Sequence[Unchanged]) -> str:
    lazy = [one for one in found if one.unchanged.found]
    if not any(one.unchanged.total for one in found):
        return "No edit could be looked at."
    if not lazy:
        return "No model left a source as it was."
    most = max(lazy, key=lambda one: one.unchanged.value or 0.0)
    share = 100 * (most.unchanged.value or 0.0)
    models = "One model" if len(lazy) == 1 else f"{len(lazy)} models"
    often = "" if len(lazy) == 1 else " most often"
    return (
        f"{models} left some sources as they were, {visible(most.system)}{often}: {share:.1f} % "
        f"of its {many(most.unchanged.total, 'edit')} changed no more than storing a picture again "
        "does."
    )
