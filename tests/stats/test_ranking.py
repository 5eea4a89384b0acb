from __future__ import annotations

from creval.stats.ranking import indistinguishable, rank_ranges


def test_every_rank_is_possible_if_nothing_is_decided() -> None:
    assert rank_ranges("ABC", []) == {"A": (1, 3), "B": (1, 3), "C": (1, 3)}
    assert indistinguishable("ABC", []) == [("A", "B", "C")]


def test_one_rank_each_if_all_is_decided() -> None:
    better = [("A", "B"), ("A", "C"), ("B", "C")]
    assert rank_ranges("ABC", better) == {"A": (1, 1), "B": (2, 2), "C": (3, 3)}
    assert indistinguishable("ABC", better) == [("A",), ("B",), ("C",)]


def test_indistinguishable_neighbours_may_overlap() -> None:
    better = [("A", "C"), ("A", "D"), ("B", "D")]
    assert indistinguishable("ABCD", better) == [("A", "B"), ("B", "C"), ("C", "D")]
    assert rank_ranges("ABCD", better)["B"] == (1, 3)


def test_one_model() -> None:
    assert rank_ranges(["A"], []) == {"A": (1, 1)}
    assert indistinguishable([], []) == []
