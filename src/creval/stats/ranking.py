"""Which place each system can hold, as far as pairs of them can be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def places(
    systems: Sequence[str], better: Iterable[tuple[str, str]]
) -> Mapping[str, tuple[int, int]]:
    """The best and the worst place that each system can hold; `better` are pairs, the better one
    first, of which that is decided.

    >>> dict(places(["A", "B", "C"], [("A", "C")]))
    {'A': (1, 2), 'B': (1, 3), 'C': (2, 3)}
    """
    above = dict.fromkeys(systems, 0)
    below = dict.fromkeys(systems, 0)
    for first, second in better:
        above[second] += 1
        below[first] += 1
    return {name: (1 + above[name], len(systems) - below[name]) for name in systems}


def groups(systems: Sequence[str], better: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Neighbours, best first, of whom no two can be told apart; each as large as it can be.

    >>> groups(["A", "B", "C"], [("A", "C")])
    [('A', 'B'), ('B', 'C')]
    """
    apart = {frozenset(pair) for pair in better}
    found: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(systems)):
        end = start
        while end < len(systems) and not any(
            frozenset((systems[end], other)) in apart for other in systems[start:end]
        ):
            end += 1
        if end > reached:
            found.append(tuple(systems[start:end]))
            reached = end
    return found
