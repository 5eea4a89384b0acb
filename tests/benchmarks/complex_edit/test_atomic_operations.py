from __future__ import annotations

import pytest

from creval.benchmarks.complex_edit.atomic_operations import (
    CATEGORIES,
    OPERATIONS,
    describe_operations,
    match_operation,
)


def test_there_are_24_operations_in_9_categories() -> None:
    assert (len(OPERATIONS), len(CATEGORIES)) == (24, 9)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_by_any_spelling(name: str) -> None:
    assert match_operation(f" **{name.upper()}** ") == name
    assert match_operation(f"Some Category > {name}") == name


def test_operations_that_there_are_not() -> None:
    assert match_operation("Zoom in / out") == "Zoom In/Out"
    for other in ("Paint an Object", "", "Add", "Text and Symbols", ":"):
        assert match_operation(other) is None


def test_a_prompt_lists_them_all() -> None:
    lines = describe_operations().splitlines()
    assert len(lines) == 24 + 9
    assert [line[2:].partition(":")[0] for line in lines if line[0] == "-"] == list(OPERATIONS)
