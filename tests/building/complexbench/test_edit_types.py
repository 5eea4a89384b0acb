from __future__ import annotations

import pytest

from creval.benchmarks.complexbench_edit.release import ALL_SUBSETS, EDIT_TYPES
from creval.building.complexbench.edit_types import (
    ATTRIBUTE,
    GLOBAL,
    LEVELS,
    MEANINGS,
    OBJECT,
    RELEASED_LEVELS,
    draw_any_types,
    draw_edit_types,
    parse_edit_types,
    select_levels,
)
from creval.core.errors import CrevalError


def test_every_type_of_the_release_has_a_meaning_and_every_subset_a_level() -> None:
    assert tuple(MEANINGS) == EDIT_TYPES
    assert sorted(EDIT_TYPES) == sorted(OBJECT + ATTRIBUTE + GLOBAL)
    assert sorted(name for subsets in LEVELS.values() for name in subsets) == sorted(ALL_SUBSETS)


@pytest.mark.parametrize("turn", range(60))
def test_types_by_level(turn: int) -> None:
    for level in RELEASED_LEVELS:
        types = draw_edit_types(level, ["cup"], f"{turn}", turn)
        assert types.subset in LEVELS[level]
        assert "pose" not in types.edit_types
        one, two, three = types.edit_types
        if level == "parallel":
            assert types.needs == ((), (), ())
        else:
            assert one in ("add object", "change object")
            assert two not in ("delete object", *GLOBAL)
        if level == "two-chain":
            assert types.needs == ((), (0,), ())
        if level == "three-chain":
            assert types.needs == ((), (0,), (1,))
            assert three not in ("delete object", *GLOBAL)
        if types.subset == "COCO-three-obj":
            assert set(types.edit_types) <= set(OBJECT)
        if types.subset == "COCO-obj-attr-global":
            assert (one in ATTRIBUTE, three in GLOBAL) == (True, True)


def test_subsets_take_turns_and_only_the_living_pose() -> None:
    drawn = {draw_edit_types("parallel", [], "1", turn).subset for turn in range(3)}
    assert len(drawn) == 3
    for name in ("left cat", "Person", "woman"):
        kinds = {draw_edit_types("parallel", [name], f"{n}", 1).edit_types[0] for n in range(60)}
        assert kinds == set(ATTRIBUTE)
    caterpillar = {draw_edit_types("parallel", ["catkin"], f"{n}", 1).edit_types[0] for n in range(60)}
    assert "pose" not in caterpillar


def test_any_types_are_drawn_at_most_as_often_as_they_are_given() -> None:
    plan = draw_any_types(("color", "color", "text"), ["cup"], "1")
    assert plan is not None
    assert sorted(plan.edit_types) == ["color", "color", "text"]
    assert (plan.subset, plan.needs) == ("parallel-any", ((), (), ()))
    drawn = [draw_any_types(parse_edit_types(""), ["cup"], f"{n}") for n in range(200)]
    kinds = [one.edit_types for one in drawn if one is not None]
    assert all(len(set(three)) == 3 for three in kinds)
    assert {kind for three in kinds for kind in three} == set(MEANINGS) - {"pose"}
    assert any(not set(OBJECT) & set(three) for three in kinds), "no subset of the release is without an object"


def test_a_pose_needs_a_person_or_animal() -> None:
    types = ("pose", "color", "text")
    assert draw_any_types(types, ["cup"], "1") is None
    assert draw_any_types(types, ["dog"], "1") is not None


@pytest.mark.parametrize(
    ("given", "levels", "reason"),
    [
        ("color,text", ("any",), "at least 3 edit types"),
        ("color,text,colour", ("any",), "no edit type 'colour'"),
        ("color,text,pose", ("parallel",), "needs `level` any"),
    ],
)
def test_unusable_types_are_refused(given: str, levels: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CrevalError, match=reason):
        parse_edit_types(given, levels)


def test_all_levels_are_those_of_the_release() -> None:
    assert select_levels("all") == ("parallel", "two-chain", "three-chain")
    assert select_levels("any") == ("any",)
