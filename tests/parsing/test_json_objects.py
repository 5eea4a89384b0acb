from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.parsing.json_objects import BrokenObject, MultiDict, iter_json_objects

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=4)


@given(OBJECTS, st.sampled_from(["", " and ", "\n```json\n"]), st.booleans())
def test_objects_between_other_words(objects: list[object], between: str, faithful: bool) -> None:
    text = between.join(map(json.dumps, objects))
    assert list(iter_json_objects(text, faithful=faithful)) == objects


def test_lists_only_if_wanted() -> None:
    assert list(iter_json_objects('[{"a": 1}, 2]')) == [{"a": 1}]
    assert list(iter_json_objects('[{"a": 1}, 2]', lists=True)) == [[{"a": 1}, 2]]


def test_line_breaks_in_strings() -> None:
    assert list(iter_json_objects('{"a": "one\ntwo"}')) == [{"a": "one\ntwo"}]


def test_a_broken_object_is_skipped_or_given_as_text() -> None:
    text = 'So: {"a": 1 "b": {2}} {"c": 3}'
    assert list(iter_json_objects(text)) == [{"c": 3}]
    assert list(iter_json_objects(text, faithful=True)) == ['{"a": 1 "b": {2}} ', {"c": 3}]
    assert isinstance(next(iter_json_objects(text, faithful=True)), BrokenObject)


def test_a_key_that_stands_twice() -> None:
    assert list(iter_json_objects('{"a": 1, "a": 2}')) == [{"a": 2}]
    (found,) = iter_json_objects('{"a": 1, "a": 2}', faithful=True)
    assert isinstance(found, MultiDict)
    assert (list(found), found.values()) == (["a", "a"], [1, 2])


@pytest.mark.parametrize("piece", ["{", "[", '{"a":', '{"a" ', "{}"])
@pytest.mark.parametrize("faithful", [True, False])
def test_hostile_text_is_cheap(piece: str, faithful: bool) -> None:
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    list(iter_json_objects(text, lists=True, faithful=faithful))
    assert time.process_time() - began < 2.0
