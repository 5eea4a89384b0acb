"""What goes wrong, as a sentence to the person who can mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from creval.core.redaction import hide_secrets


class CrevalError(Exception):
    """Wrong usage or bad input: what was found, where, and what to do. The command line then exits with status 2.

    Secrets in addresses are hidden before the message exists.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(hide_secrets(str(message)))


def unknown_name_error(what: str, name: str, known: Iterable[str]) -> CrevalError:
    """Return the error for a name that nothing here has, with the nearest known one.

    >>> str(unknown_name_error("metric", "FI", ["IF", "VC", "VQ"]))
    "there is no metric 'FI'; did you mean 'IF'? Known: IF, VC, VQ"
    """
    names = list(dict.fromkeys(known))
    near = nearest_name(name, names)
    hint = f"; did you mean {near!r}?" if near else "."
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return CrevalError(f"there is no {what} {name!r}{hint} Known: {shown or 'none'}")


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like another; empty where none is."""
    folded = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.4)
    return folded[near[0]] if near else ""


def require_known(what: str, name: str, known: Iterable[str]) -> str:
    """`name`, if it is a known one; otherwise the error that names the nearest."""
    names = list(known)
    if name in names:
        return name
    raise unknown_name_error(what, name, names)


def require_count(name: str, given: int, low: int, high: int) -> int:
    """`given`, if it is not too small, nor larger than anybody means."""
    if given < low:
        raise CrevalError(f"`{name}` must be {low} or more.")
    if given > high:
        raise CrevalError(f"`{name}` takes up to {high:,}, not {given:,}.")
    return given
