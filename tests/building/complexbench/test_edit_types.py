from __future__ import annotations

import pytest

from creval.benchmarks.complexbench_edit.release import EDIT_TYPES, SUBSETS
from creval.building.complexbench.edit_types import ATTRIBUTE, GLOBAL, LEVELS, MEANINGS, OBJECT, draw_edit_types


def test_every_type_of_the_release_has_a_meaning_and_every_subset_a_level() -> None:
    assert tuple(MEANINGS) == EDIT_TYPES
    assert sorted(EDIT_TYPES) == sorted(OBJECT + ATTRIBUTE + GLOBAL)
    assert sorted(name for subsets in LEVELS.values() for name in subsets) == sorted(SUBSETS)


@pytest.mark.parametrize("turn", range(60))
def test_types_by_level(turn: int) -> None:
    for level in LEVELS:
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
