from __future__ import annotations

import pytest

from creval.parsing.records import parse_records, parse_yes_no, single_value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"instruction": "Add a cat."}', [{"instruction": "Add a cat."}]),
        (
            '[{"step": 1, "scene": true}, {"step": 2, "scene": false}]',
            [{"number": "1", "scene": "yes"}, {"number": "2", "scene": "no"}],
        ),
        ('{"steps": {"step 3": {"scene": "no"}}}', [{"number": "3", "scene": "no"}]),
        ("{“old”：“cat”，“new”：“dog”}", [{"old": "cat", "new": "dog"}]),
        ("**Old:** cat\n**New:** dog\n\n**Old:** cup", [{"old": "cat", "new": "dog"}, {"old": "cup"}]),
        ("Instruction: Add a cat\nto the left.\nThat is all.", [{"instruction": "Add a cat to the left."}]),
        ('{"colour": "red"}', []),
        ("Add a cat.", []),
        ("", []),
    ],
)
def test_fields_in_every_form(text: str, found: list[dict[str, str]]) -> None:
    assert parse_records(text) == found


@pytest.mark.parametrize("deep", [5, 50, 5000])
def test_deeply_nested_records_are_found(deep: int) -> None:
    inside = '{"instruction": "Add a cat."}'
    assert parse_records("[" * deep + inside + "]" * deep) == [{"instruction": "Add a cat."}]


def test_one_value_or_none() -> None:
    assert single_value([{"old": "cat"}, {"old": "cat"}, {"new": "dog"}], "old") == "cat"
    assert single_value([{"old": "cat"}, {"old": "dog"}], "old") == ""
    assert single_value([], "old") == ""


def test_yes_and_no() -> None:
    assert all(parse_yes_no(said) for said in ("Yes.", "**true**", "ok"))
    assert [parse_yes_no(said) for said in ("No, it is", "none", "Not at all")] == [False] * 3
    assert [parse_yes_no(said) for said in ("", "Nobody", "yesterday", "maybe yes")] == [None] * 4
