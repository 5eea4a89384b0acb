from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.parsing.json_objects import BrokenObject, MultiDict, Prose, UnclosedObject, iter_json_objects, split_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=4)


@given(OBJECTS, st.sampled_from(["", " and ", "\n```json\n"]), st.booleans())
def test_objects_between_prose(objects: list[object], between: str, faithful: bool) -> None:
    text = between.join(map(json.dumps, objects))
    found = split_json(text) if faithful else iter_json_objects(text)
    assert [value for value in found if not isinstance(value, Prose)] == objects


def test_lists_only_if_wanted() -> None:
    assert list(iter_json_objects('[{"a": 1}, 2]')) == [{"a": 1}]
    assert list(iter_json_objects('[{"a": 1}, 2]', lists=True)) == [[{"a": 1}, 2]]


def test_line_breaks_in_strings() -> None:
    assert list(iter_json_objects('{"a": "one\ntwo"}')) == [{"a": "one\ntwo"}]


def test_a_broken_object_is_skipped_or_given_as_text() -> None:
    text = 'So: {"a": 1 "b": {2}} and {"c": 3}'
    assert list(iter_json_objects(text)) == [{"c": 3}]
    assert split_json(text) == ["So: ", '{"a": 1 "b": {2}}', " and ", {"c": 3}]
    assert [type(piece) for piece in split_json(text)] == [Prose, BrokenObject, Prose, dict]


def test_text_around_an_object_in_a_broken_one_is_not_prose() -> None:
    text = '{"a": "it says: {"c": 3} here", "b": 1} so'
    assert split_json(text) == ['{"a": "it says: ', {"c": 3}, ' here", "b": 1}', " so"]
    assert [type(piece) for piece in split_json(text)] == [BrokenObject, dict, BrokenObject, Prose]


def test_an_object_inside_a_string_without_escapes_is_a_part_of_it() -> None:
    text = '{"a": "it says {"c": 3} here", "b": 1}'
    assert split_json(text) == [text]


def test_all_from_an_object_on_that_is_not_closed_is_one_piece() -> None:
    whole, cut = '{"a": 1} ', '{"b": {"c": 2}, "d": {"e"'
    assert split_json(whole + cut) == [{"a": 1}, " ", cut]
    assert isinstance(split_json(whole + cut)[-1], UnclosedObject)


def test_a_brace_in_prose_is_no_object() -> None:
    assert "".join(split_json("a { b and {c} d")) == "a { b and {c} d"
    assert {type(piece) for piece in split_json("a { b and {c} d")} == {Prose}


def test_a_repeated_key() -> None:
    assert list(iter_json_objects('{"a": 1, "a": 2}')) == [{"a": 2}]
    (found,) = split_json('{"a": 1, "a": 2}')
    assert isinstance(found, MultiDict)
    assert (list(found), found.values()) == (["a", "a"], [1, 2])


@pytest.mark.parametrize("piece", ["{", "[", '{"a":', '{"a" ', "{}"])
@pytest.mark.parametrize("read", [split_json, lambda text: list(iter_json_objects(text, lists=True))])
def test_hostile_text_is_cheap(piece: str, read: Callable[[str], object]) -> None:
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 2.0


def test_objects_that_fail_at_their_end_are_not_read_again_and_again() -> None:
    text = '{"a": ' * 150 + "[" + "1, " * 60_000
    began = time.process_time()
    split_json(text)
    assert list(iter_json_objects(text)) == []
    assert time.process_time() - began < 1.0
