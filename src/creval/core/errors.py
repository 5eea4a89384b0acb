"""The error class for users, and common checks that raise it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

from creval.core.redaction import hide_secrets


class CrevalError(Exception):
    """Invalid usage or input. The message states the problem, its place and the remedy.

    Secrets in URLs are removed from the message. The command line exits with status 2.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(hide_secrets(str(message)))


def unknown_name_error(what: str, name: str, known: Iterable[str]) -> CrevalError:
    """Return the error for an unknown name, with the most similar known name as a suggestion.

    >>> str(unknown_name_error("metric", "FI", ["IF", "VC", "VQ"]))
    "there is no metric 'FI'; did you mean 'IF'? Known: IF, VC, VQ"
    """
    names = list(dict.fromkeys(known))
    near = nearest_name(name, names)
    hint = f"; did you mean {near!r}?" if near else "."
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return CrevalError(f"there is no {what} {name!r}{hint} Known: {shown or 'none'}")


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name most similar to `name`; empty if none is similar."""
    folded = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.4)
    return folded[near[0]] if near else ""


def require_known(what: str, name: str, known: Iterable[str]) -> str:
    """Return `name` if it is known; otherwise raise an error that suggests a similar name."""
    names = list(known)
    if name in names:
        return name
    raise unknown_name_error(what, name, names)


def require_count(name: str, given: int, low: int, high: int) -> int:
    """Return `given` if it is in the range from `low` to `high`; otherwise raise an error."""
    if given < low:
        raise CrevalError(f"`{name}` must be {low} or more.")
    if given > high:
        raise CrevalError(f"`{name}` must be {high:,} or less, not {given:,}.")
    return given


def require_amount(name: str, given: float | None, high: float = math.inf, *, above_zero: bool = False) -> None:
    """Raise an error unless `given` is None, or a number from 0 to `high`."""
    if given is None or (0 <= given <= high and (given > 0 or not above_zero)):
        return
    low = "more than 0" if above_zero else "0 or more"
    raise CrevalError(f"`{name}` must be {low}{'' if high == math.inf else f' and at most {high:,.0f}'}.")
