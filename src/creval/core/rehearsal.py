"""Recognises judges and editors that are creval's rehearsal server (`creval fake-server`) by their names."""

from __future__ import annotations

REHEARSAL_PREFIX = "rehearsal:"
REHEARSAL_SUFFIX = "+rehearsal"
"""The end of the name of a model whose edits the rehearsal server made."""


def has_rehearsal(name: str) -> bool:
    """Return True if an editor, a judge, or a member of a panel is the rehearsal server."""
    return name.startswith((REHEARSAL_PREFIX, f"panel:{REHEARSAL_PREFIX}"))
