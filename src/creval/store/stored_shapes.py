"""Shapes (schemas) of the JSON in a store, and validation against them.

A shape is one of these:

- a type, or None
- a list with the shape of all items
- a dict with the shapes of some fields, or `{str: shape}` for all fields
- a tuple of alternatives

A field whose name ends in "!" is required. With `CLOSED`, no other fields are allowed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from creval.core.files import replace_lone_surrogates

CLOSED = "\0closed"
_MAX_TEXT = 1_000_000  # characters per text, because pages show a text several times
_NUMBER = (int, float)
_CALL_COSTS = {CLOSED: True, "calls!": int, "cost!": (*_NUMBER, None), "seconds!": (*_NUMBER, None)}
_MAKER = {
    CLOSED: True,
    "editor!": str,
    "strategy!": str,
    "edits!": int,
    **dict.fromkeys(("editing!", "picking!", "planning!"), _CALL_COSTS),
    "judge": str,
}
_LEVEL = {"name!": str, "plural!": str, "groups!": [str], "of!": (str, None), "parts!": bool, "minus!": ([str], None)}
_VERSION = {"version!": str, "fingerprint!": {str: object}, "keeps_older": bool}
MANIFEST = {
    **dict.fromkeys(("benchmark", "protocol", "judge", "benchmark_folder", "questions_digest", "answers_folder"), str),
    **dict.fromkeys(("date", "creval", "python", "editor", "strategy", "reasoner", "system", "title"), str),
    **dict.fromkeys(("problems", "repeat", "draws"), int),
    "levels": [_LEVEL],
    "prompts": ({str: str}, [str]),
    "settings": {str: object},
    "judges": [{str: object}],
    **{key: [str] for key in ("edits_folders", "judge_addresses", "question_metrics")},
    **{key: {str: object} for key in ("scoring", "hub_commits", "editor_facts")},
    "editor_versions": [_VERSION],
    "reported model": str,
    "code_versions": {str: [_VERSION]},
    "stopping": ({str: object}, None),
    "makers": {str: _MAKER},
}
_STEP = {CLOSED: True, "text!": str, "kind": str, "needs!": [int], "boxes!": [[_NUMBER]], "old": str, "new": str}
TAGS = {str: str}
SAMPLE_DETAIL = {"steps": [_STEP], "mask": str, "references": [str], "captions": {str: str}, "made_of": str}
QUESTION_DETAIL = {
    CLOSED: True,
    **dict.fromkeys(("contract", "prompt", "rubric", "group", "form"), str),
    "shows": [str],
    "step": int,
}
MEASUREMENT_DETAIL = {"gauge!": str, "parameters!": {str: object}}
EDIT_DETAIL = {"parents": [[(str, int)]], "facts": {str: object}, "seen": {str: [(str, int)]}, "before": [list]}
CALL_DETAIL = {"prompt": str, "images": [str], "parameters": {str: object}}
CALL_PARTS = [str]


def parse_stored(text: str, shape: Any) -> Any:
    """Return the JSON in a cell; raises `ValueError` if it does not have the shape."""
    value = json.loads(text)
    if wrong := shape_error(value, shape, "value"):
        raise ValueError(wrong)
    return value


def shape_error(value: object, shape: Any, name: str) -> str:
    """Return a description of the first place at which a value does not match a shape, or "".

    >>> shape_error({"tags": {"a": 1}}, {"tags": {str: str}}, "sample")
    'sample/tags/a is int'
    """
    if isinstance(shape, tuple):
        errors = [shape_error(value, one, name) for one in shape]
        return "" if "" in errors else errors[0]
    if isinstance(shape, list) and isinstance(value, list):
        return next(filter(None, (shape_error(item, shape[0], f"{name}/{at}") for at, item in enumerate(value))), "")
    if isinstance(shape, Mapping) and isinstance(value, dict):
        if CLOSED in shape and (other := value.keys() - {key.removesuffix("!") for key in shape}):
            return f"{name} has the unknown field {min(other)!r}"
        return next(filter(None, (_field_error(value, key, of, name) for key, of in shape.items())), "")
    if shape is None or value is None:
        return "" if value is shape or shape is object else f"{name} is {type(value).__name__}"
    kind = shape if isinstance(shape, type) else type(shape)
    fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
    if isinstance(value, float) and kind is float and not math.isfinite(value):
        fits = False
    if isinstance(value, str) and value != replace_lone_surrogates(value):
        return f"{name} is not text"
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        return f"{name} has {len(value):,} characters"
    return "" if fits else f"{name} is {type(value).__name__}"


def _field_error(value: dict[str, Any], key: Any, shape: Any, name: str) -> str:
    if key == CLOSED:
        return ""
    if key is str:
        return next(filter(None, (shape_error(of, shape, f"{name}/{field}") for field, of in value.items())), "")
    field = key.removesuffix("!")
    if field not in value:
        return f"{name} lacks {field}" if field != key else ""
    return shape_error(value[field], shape, f"{name}/{field}")
