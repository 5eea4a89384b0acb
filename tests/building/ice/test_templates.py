from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from creval.benchmarks.ice_bench.items import blanks
from creval.benchmarks.ice_bench.tasks import TASKS, Task
from creval.building.ice.task_kits import KITS
from creval.building.ice.templates import Templates, echoed, named, names_of
from creval.core.errors import CrevalError


def test_every_task_has_templates_that_name_its_pictures() -> None:
    assert list(KITS) == list(TASKS)
    for name, kit in KITS.items():
        assert len(set(kit.templates)) >= 2
        for text in kit.templates:
            assert set(named(text)) == set(names_of(TASKS[name])), text
            assert text.count("{") == text.count("}") == len(blanks(text)), text


def test_one_is_drawn_by_chance_and_stays() -> None:
    known, task = Templates(), TASKS["Color Editing"]
    drawn = [known.draw(task, f"item {number}", 0) for number in range(40)]
    assert set(drawn) == set(KITS[task.name].templates)
    assert drawn == [known.draw(task, f"item {number}", 0) for number in range(40)]
    assert drawn != [known.draw(task, f"item {number}", 1) for number in range(40)]


def test_ones_own_replace_those_of_their_tasks(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"Text2Image": "{anything}", "Face Swap": ["<SOURCE> <REF_1>"]}))
    known = Templates(path)
    assert known.draw(TASKS["Text-to-Image Creating"], "x", 0) == "{anything}"
    assert known.draw(TASKS["Face Swap"], "x", 0) == "<SOURCE> <REF_1>"
    assert known.draw(TASKS["Inpainting"], "x", 0) in KITS["Inpainting"].templates
    assert known.version != Templates().version


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "an object from tasks"),
        ({"Face Swapping": "x"}, "Face Swap"),
        ({"Global Editing": "Like <REF_1>."}, "Color Editing cannot be used .*has no <REF_1>"),
        ({"Face Swap": []}, "a template, or a list"),
        ({"Face Swap": [3]}, "it is no text"),
        ({"Face Swap": "Swap {this"}, "braces do not match"),
        ({"Text2Image": "{}"}, "a blank in it is empty"),
        ({"Text2Image": "A picture of { }."}, "a blank in it is empty"),
        ({"Text2Image": "Draw <SOURCE>."}, "has no <SOURCE>"),
        ({"Color Editing": "Colour <REF_1>."}, "has no <REF_1>"),
    ],
)
def test_what_cannot_be_used_is_refused(content: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    with pytest.raises(CrevalError, match=said):
        Templates(path)


def test_braces_with_nothing_in_them_are_to_be_filled_in_too() -> None:
    assert blanks("Make {} in <SOURCE> {red}.") == ["", "red"]


def test_what_was_copied_instead_of_filled_in() -> None:
    template = "In {a place}, {a person} 2{a thing}."
    assert echoed("In a place, a person 2a thing.", template) == blanks(template)
    assert echoed("IN A PLACE, Ann 2 cats, a person 2a thing.", template) == ["a place"]
    assert echoed("In Rome, a person 2 cats", template) == []


def test_a_long_reply_is_compared_at_once() -> None:
    template, begun = "".join(f"{{{name}}}; " for name in "abcdefgh"), time.perf_counter()
    assert echoed("a; " * 2000 + "!", template) == []
    assert time.perf_counter() - begun < 1


def test_how_pictures_are_named() -> None:
    def of(name: str) -> Task:
        return TASKS[name]

    assert names_of(of("Text-to-Image Creating")) == ()
    assert names_of(of("Face Reference Creating"), 2) == ("<REF_1>", "<REF_2>")
    assert names_of(of("Face Swap")) == ("<SOURCE>", "<REF_1>")
    assert names_of(of("Inpainting"), 3) == ("<SOURCE>",)
