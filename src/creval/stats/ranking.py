"""Possible ranks of models, given the pairs with a significant difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def rank_ranges(models: Sequence[str], decided_pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[int, int]]:
    """Return the best and the worst possible rank of each model.

    `decided_pairs` are the pairs with a significant difference, better model first.

    >>> dict(rank_ranges(["A", "B", "C"], [("A", "C")]))
    {'A': (1, 2), 'B': (1, 3), 'C': (2, 3)}
    """
    above = dict.fromkeys(models, 0)
    below = dict.fromkeys(models, 0)
    for first, second in decided_pairs:
        above[second] += 1
        below[first] += 1
    return {name: (1 + above[name], len(models) - below[name]) for name in models}


def indistinguishable(models: Sequence[str], decided_pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the largest sets of neighbours in the ranking in which no two models differ significantly, best first.

    >>> indistinguishable(["A", "B", "C"], [("A", "C")])
    [('A', 'B'), ('B', 'C')]
    """
    apart = {frozenset(pair) for pair in decided_pairs}
    found: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(models)):
        end = start
        while end < len(models) and not any(frozenset((models[end], other)) in apart for other in models[start:end]):
            end += 1
        if end > reached:
            found.append(tuple(models[start:end]))
            reached = end
    return found
