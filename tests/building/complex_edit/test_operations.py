from __future__ import annotations

from pathlib import Path

import pytest

from creval.building.complex_edit.operations import (
    CATEGORIES,
    OPERATIONS,
    counted,
    described,
    operation_named,
    operations_in,
)
from creval.core.benchmark import Dataset
from creval.core.sample import Sample, Step


def test_there_are_24_operations_in_9_categories() -> None:
    assert (len(OPERATIONS), len(CATEGORIES)) == (24, 9)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_by_any_spelling(name: str) -> None:
    assert operation_named(f" **{name.upper()}** ") == name
    assert operation_named(f"Some Category > {name}") == name


def test_operations_that_there_are_not() -> None:
    assert operation_named("Zoom in / out") == "Zoom In/Out"
    for other in ("Paint an Object", "", "Add", "Text and Symbols", ":"):
        assert operation_named(other) is None


def test_a_prompt_lists_them_all() -> None:
    lines = described().splitlines()
    assert len(lines) == 24 + 9
    assert [line[2:].partition(":")[0] for line in lines if line[0] == "-"] == list(OPERATIONS)


def test_counting_in_the_papers_order() -> None:
    found = counted(["Add Text", "Add Text", "Paint"])
    assert list(found) == list(OPERATIONS)
    assert (found["Add Text"], sum(found.values())) == (2, 2)


def test_each_pictures_longest_chain_is_counted() -> None:
    def sample(picture: str, *kinds: str) -> Sample:
        steps = tuple(Step("Do it.", kind) for kind in kinds)
        name = f"{picture}/{len(kinds)}"
        return Sample(name, "Do it.", Path(picture), {}, steps=steps)

    samples = (
        sample("a", "Add Text"), sample("a", "Add Text", "Crop Image"), sample("b", "Crop Image"),
    )  # fmt: skip
    assert sorted(operations_in(Dataset("x", Path(), samples))) == [
        "Add Text", "Crop Image", "Crop Image",
    ]  # fmt: skip
