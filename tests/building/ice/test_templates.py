from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from creval.benchmarks.ice_bench.item_lines import find_blanks
from creval.benchmarks.ice_bench.tasks import TASKS, Task
from creval.building.ice.task_kits import TASK_KITS
from creval.building.ice.templates import TemplateSet, allowed_image_tags, find_echoed_blanks, find_image_tags
from creval.core.errors import CrevalError


def test_every_task_has_templates_that_name_its_images() -> None:
    assert list(TASK_KITS) == list(TASKS)
    for name, kit in TASK_KITS.items():
        assert len(set(kit.templates)) >= 2
        for text in kit.templates:
            assert set(find_image_tags(text)) == set(allowed_image_tags(TASKS[name])), text
            assert text.count("{") == text.count("}") == len(find_blanks(text)), text


def test_one_is_drawn_by_chance_and_stays() -> None:
    known, task = TemplateSet(), TASKS["Color Editing"]
    drawn = [known.draw(task, f"item {number}", 0) for number in range(40)]
    assert set(drawn) == set(TASK_KITS[task.name].templates)
    assert drawn == [known.draw(task, f"item {number}", 0) for number in range(40)]
    assert drawn != [known.draw(task, f"item {number}", 1) for number in range(40)]


def test_custom_templates_replace_those_of_their_tasks(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"Text2Image": "{anything}", "Face Swap": ["<SOURCE> <REF_1>"]}))
    known = TemplateSet(path)
    assert known.draw(TASKS["Text-to-Image Creating"], "x", 0) == "{anything}"
    assert known.draw(TASKS["Face Swap"], "x", 0) == "<SOURCE> <REF_1>"
    assert known.draw(TASKS["Inpainting"], "x", 0) in TASK_KITS["Inpainting"].templates
    assert known.version != TemplateSet().version


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "an object from task names"),
        ({"Face Swapping": "x"}, "Face Swap"),
        ({"Global Editing": "Like <REF_1>."}, "invalid template of Color Editing .*has no <REF_1>"),
        ({"Face Swap": []}, "a template or a list"),
        ({"Face Swap": [3]}, "it is not a string"),
        ({"Face Swap": "Swap {this"}, "braces do not match"),
        ({"Text2Image": "{}"}, "a blank in it is empty"),
        ({"Text2Image": "A picture of { }."}, "a blank in it is empty"),
        ({"Text2Image": "Draw <SOURCE>."}, "has no <SOURCE>"),
        ({"Color Editing": "Colour <REF_1>."}, "has no <REF_1>"),
    ],
)
def test_invalid_templates_are_refused(content: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    with pytest.raises(CrevalError, match=said):
        TemplateSet(path)


def test_braces_with_nothing_in_them_are_to_be_filled_in_too() -> None:
    assert find_blanks("Make {} in <SOURCE> {red}.") == ["", "red"]


def test_blanks_that_were_copied_unfilled() -> None:
    template = "In {a place}, {a person} 2{a thing}."
    assert find_echoed_blanks("In a place, a person 2a thing.", template) == find_blanks(template)
    assert find_echoed_blanks("IN A PLACE, Ann 2 cats, a person 2a thing.", template) == ["a place"]
    assert find_echoed_blanks("In Rome, a person 2 cats", template) == []


def test_a_long_reply_is_compared_at_once() -> None:
    template, begun = "".join(f"{{{name}}}; " for name in "abcdefgh"), time.perf_counter()
    assert find_echoed_blanks("a; " * 2000 + "!", template) == []
    assert time.perf_counter() - begun < 1


def test_how_images_are_named() -> None:
    def of(name: str) -> Task:
        return TASKS[name]

    assert allowed_image_tags(of("Text-to-Image Creating")) == ()
    assert allowed_image_tags(of("Face Reference Creating"), 2) == ("<REF_1>", "<REF_2>")
    assert allowed_image_tags(of("Face Swap")) == ("<SOURCE>", "<REF_1>")
    assert allowed_image_tags(of("Inpainting"), 3) == ("<SOURCE>",)
