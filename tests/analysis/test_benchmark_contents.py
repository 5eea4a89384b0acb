"""Counts of what a benchmark contains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import creval
from creval.analysis.benchmark_contents import BenchmarkContents
from creval.benchmarks.complex_edit.atomic_operations import CATEGORIES
from creval.benchmarks.complex_edit.protocol import ComplexEdit
from creval.benchmarks.complexbench_edit.release import EDIT_TYPE_CATEGORIES, EDIT_TYPES
from creval.core.benchmark import Benchmark, Dataset
from creval.core.sample import InstructionStep, Sample
from miniature import write_miniature
from tests.benchmarks.complex_edit import release_files
from tests.benchmarks.complexbench_edit import release_files as complexbench_files

OBJECTS, TEXT, CROPS = ("Object Manipulation and Transformation", "Text and Symbols", "Composition and Cropping")


def chain(image: str, *kinds: str, words: int = 2) -> Sample:
    """Return a sample whose steps have these kinds."""
    steps = tuple(InstructionStep(f"{at} {kind}", kind) for at, kind in enumerate(kinds))
    return Sample(f"{image}/{len(kinds)}/{kinds[-1:]}", "Go " * words, Path(image), {}, steps=steps)


def contents(samples: Sequence[Sample], categorised: bool = True) -> BenchmarkContents:
    categories = CATEGORIES if categorised else {}
    dataset = Dataset("complex-edit", Path(), tuple(samples), operation_categories=categories)
    return BenchmarkContents(Benchmark(dataset, ComplexEdit()))


def test_steps_that_an_images_samples_share_count_once() -> None:
    found = contents([chain("a", "Add Text"), chain("a", "Add Text", "Crop Image"), chain("b", "Crop Image")])
    assert found.operations[TEXT] == {"Add Text": 1, "Remove Text": 0, "Change Text Properties": 0}
    assert found.operations[CROPS]["Crop Image"] == 2
    assert list(found.operations) == list(CATEGORIES), "also those without a step"


def test_samples_of_one_image_with_different_steps_all_count() -> None:
    found = contents([chain("a", "Add Text", "Crop Image"), chain("a", "Add Text", "Zoom In/Out")])
    assert found.operations[TEXT]["Add Text"] == 1
    assert found.operations[CROPS] == {"Crop Image": 1, "Reframe Composition": 0, "Zoom In/Out": 1}
    assert found.transitions[TEXT][CROPS] == 2


def test_transitions_are_between_adjacent_steps() -> None:
    found = contents([chain("a", "Add an Object", "Add Text", "Remove an Object", "Move an Object")]).transitions
    there = {(first, then): n for first, counts in found.items() for then, n in counts.items() if n}
    assert there == {(OBJECTS, TEXT): 1, (TEXT, OBJECTS): 1, (OBJECTS, OBJECTS): 1}
    assert all(list(counts) == list(CATEGORIES) for counts in found.values())


def test_operations_that_no_category_lists_are_counted_as_other() -> None:
    found = contents([chain("a", "Paint It", "Add Text")])
    assert found.operations["other"] == {"Paint It": 1}
    assert found.transitions["other"][TEXT] == 1


def test_steps_without_a_kind_are_no_operations() -> None:
    found = contents([chain("a", "", "")])
    assert (found.operations, found.transitions, found.as_json()["steps"]) == ({}, {}, {})


def test_kinds_without_categories_have_no_transitions() -> None:
    found = contents([chain("a", "wipe", "fold")], categorised=False)
    assert (found.operations, found.transitions) == ({"all": {"wipe": 1, "fold": 1}}, {})


def test_lengths_of_instructions() -> None:
    found = contents([chain("a", words=3), chain("b", words=8), chain("c", words=3), chain("d", words=4)])
    assert found.instruction_words == {3: 2, 4: 1, 8: 1}
    assert found.median_words == 3.5


def test_a_long_chain_takes_linear_time() -> None:
    (sample,) = [chain("a", *["Add Text"] * 50_000)]
    assert contents([sample]).operations[TEXT]["Add Text"] == 50_000


def test_questions_per_metric_and_sample(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    found = creval.describe_benchmark(tmp_path / "bench")
    assert found.questions_per_sample == {"IF": {5: 9}, "VC": {5: 9}, "VQ": {5: 9}}
    given = found.as_json()
    assert given["questions_per_sample"]["IF"] == {"5": 9}
    assert sum(given["instruction_words"]["samples"].values()) == 9
    assert given["groups"]["categories"] == {"Customization": 3, "Contextualization": 3, "Stylization": 3}
    assert given["steps"] == {}


def test_a_release_names_operations_in_any_spelling(tmp_path: Path) -> None:
    row = release_files.row(1)
    row["edit"]["sequence"][0]["name"] = "**Add object**"
    found = creval.describe_benchmark(release_files.write_parquet(tmp_path, test_real=[row]))
    assert found.operations[OBJECTS]["Add an Object"] == 1


def test_complexbench_edit_has_three_categories_of_edit_types(tmp_path: Path) -> None:
    assert [name for names in EDIT_TYPE_CATEGORIES.values() for name in names] == list(EDIT_TYPES)
    found = creval.describe_benchmark(complexbench_files.write_release(tmp_path))
    assert list(found.operations) == ["object", "attribute", "global"]
    steps = sum(n for counts in found.operations.values() for n in counts.values())
    assert sum(found.parts_by_group["edit_types"].values()) == steps


def test_the_plot_needs_a_suffix_that_can_be_drawn(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    with pytest.raises(creval.CrevalError, match=r"`plot` plot.gif: give a file that ends in"):
        creval.describe_benchmark(tmp_path / "bench", "plot.gif")
