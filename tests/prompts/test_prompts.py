"""Prompts: placeholders are filled, versions follow the text, and users can override files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.errors import CrevalError
from creval.prompts import Prompt, load_prompt, prompt_names

FILLED = {"images": "I.", "instruction": "", "questions": "Q1: red?", "format": "F."}


def test_a_paragraph_without_its_value_is_left_out() -> None:
    prompt = Prompt("p", "Look. {{images}}\n\nAsked for:\n{{instruction}}\n\n{{questions}}\n")
    values = {"images": "One.", "questions": "Q?", "instruction": ""}
    assert prompt.fill(**values) == "Look. One.\n\nQ?"
    assert prompt.fill(**values | {"instruction": "Go."}) == "Look. One.\n\nAsked for:\nGo.\n\nQ?"


def test_a_paragraph_with_text_is_kept() -> None:
    prompt = Prompt("p", "Of {{questions}}, but not {{taken}}.\n\n{{faults}}\n\nBe brief.")
    values = {"questions": "Q?", "taken": "", "faults": ""}
    assert prompt.fill(**values) == "Of Q?, but not .\n\nBe brief."
    with pytest.raises(CrevalError, match="'p' is empty"):
        Prompt("p", "Why: {{faults}}").fill(faults="")


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=3), min_size=1), st.sets(st.sampled_from("abc"), min_size=1))
def test_given_values_occur_in_the_prompt(paragraphs: list[list[str]], given: set[str]) -> None:
    text = "\n\n".join(" ".join(["So:", *(f"{{{{{name}}}}}" for name in names)]) for names in paragraphs)
    values = {name: f"value-{name}" if name in given else "" for name in "abc"}
    told = [value for name, value in values.items() if value and f"{{{{{name}}}}}" in text]
    prompt = Prompt("p", text)
    if told:
        assert all(value in prompt.fill(**values) for value in told)


@given(st.text(min_size=1))
def test_filled_in_values_are_not_searched_for_placeholders(text: str) -> None:
    prompt = Prompt("p", "a {{one}} b {{two}}")
    assert prompt.fill(one="{{two}}", two=text) == f"a {{{{two}}}} b {text}"


def test_every_shipped_text_can_be_filled() -> None:
    assert "judge" in prompt_names()
    text = load_prompt("judge").fill(**FILLED)
    assert "Q1: red?" in text
    assert "{{" not in text


def test_a_version_changes_with_the_text() -> None:
    assert Prompt("p", "a").version != Prompt("p", "b").version
    assert Prompt("p", "a").version.startswith("p@")


def test_a_users_own_text_takes_the_place(tmp_path: Path) -> None:
    (tmp_path / "judge.md").write_text("Mine. {{images}} {{questions}} {{format}}")
    assert load_prompt("judge", tmp_path).fill(**FILLED) == "Mine. I. Q1: red? F."
    (tmp_path / "empty").mkdir()
    with pytest.raises(CrevalError, match=r"contains no judge\.md"):
        load_prompt("judge", tmp_path / "empty")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{images}} {{questions}}", "needs {{format}}"),
        ("{{questions}} {{format}}", "needs {{images}}"),
        ("{{images}} {{questions}} {{format}} {{x}}", "has no placeholder {{x}}"),
    ],
)
def test_a_text_that_cannot_work_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "judge.md").write_text(text)
    with pytest.raises(CrevalError, match=sentence):
        load_prompt("judge", tmp_path)
    with pytest.raises(CrevalError, match="not a folder"):
        load_prompt("judge", tmp_path / "nowhere")
    with pytest.raises(CrevalError, match="did you mean 'judge'"):
        load_prompt("juge")


def test_the_authors_places_are_understood(tmp_path: Path) -> None:
    (tmp_path / "judge.md").write_text("{Image-A} and {Image-B}, {{x}}\n\n{Questions}")
    with pytest.raises(CrevalError, match=r"has no placeholder \{\{x\}\}"):
        load_prompt("judge", tmp_path)
    (tmp_path / "judge.md").write_text('{Image-A}, {Image-B}: {"a": 1}\n\n{Questions}')
    assert load_prompt("judge", tmp_path).fill(**FILLED) == 'Image 1, Image 2: {"a": 1}\n\nQ1: red?'
    (tmp_path / "creval_if.md").write_text("Of {Image-A}, by {Edit instructions}, ask.")
    own = load_prompt("creval_if", tmp_path)
    assert own.placeholders == {"instruction"}
    assert own.fill(instruction="{Questions}") == "Of Image 1, by {Questions}, ask."
    (tmp_path / "creval_vc.md").write_text("By {Edit instructions} ask, but not {Questions}.")
    assert load_prompt("creval_vc", tmp_path).placeholders == {"instruction", "taken"}
    (tmp_path / "complexedit_compound.md").write_text("Merge {Edit instructions} of {Image-A}.")
    assert load_prompt("complexedit_compound", tmp_path).placeholders == {"instructions"}
    (tmp_path / "creval_if.md").write_text("Ask about {Image-A}.")
    with pytest.raises(CrevalError, match=r"needs \{\{instruction\}\}"):
        load_prompt("creval_if", tmp_path)
    (tmp_path / "creval_if.md").write_text("By {{instruction}} ask.")
    with pytest.raises(CrevalError, match=r"needs \{\{format\}\}"):
        load_prompt("creval_if", tmp_path)
