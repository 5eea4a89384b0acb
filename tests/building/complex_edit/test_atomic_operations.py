from __future__ import annotations

from pathlib import Path

import pytest

from creval.building.complex_edit.atomic_operations import (
    CATEGORIES,
    OPERATIONS,
    count_operations,
    describe_operations,
    list_operations,
    match_operation,
)
from creval.core.benchmark import Dataset
from creval.core.sample import InstructionStep, Sample


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


def test_counting_in_the_papers_order() -> None:
    found = count_operations(["Add Text", "Add Text", "Paint"])
    assert list(found) == list(OPERATIONS)
    assert (found["Add Text"], sum(found.values())) == (2, 2)


def test_each_images_longest_chain_is_counted() -> None:
    def sample(image: str, *kinds: str) -> Sample:
        steps = tuple(InstructionStep("Do it.", kind) for kind in kinds)
        name = f"{image}/{len(kinds)}"
        return Sample(name, "Do it.", Path(image), {}, steps=steps)

    samples = (sample("a", "Add Text"), sample("a", "Add Text", "Crop Image"), sample("b", "Crop Image"))
    assert sorted(list_operations(Dataset("x", Path(), samples))) == ["Add Text", "Crop Image", "Crop Image"]
