"""The JSON in a text that holds other things too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 20
_MAX_BROKEN_OBJECTS = 200  # after which a text is given up as noise; it keeps hostile replies cheap
_OBJECT, _OBJECT_OR_LIST = re.compile(r"\{"), re.compile(r"[{\[]")
# An object that follows a broken one: a brace and a quoted key.
_NEXT_OBJECT = re.compile(r"\{\s*[\"'“”]\w")


class BrokenObject(str):
    """The text of an object that is not valid JSON, up to where the next object begins."""

    __slots__ = ()


class MultiDict:
    """A JSON object in which a key stands twice; a dict would show the second only."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self._pairs = pairs

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._pairs)

    def values(self) -> list[Any]:
        return [value for _, value in self._pairs]


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | MultiDict:
    unique = dict(pairs)
    return unique if len(unique) == len(pairs) else MultiDict(pairs)


LENIENT_DECODER = json.JSONDecoder(strict=False)
_FAITHFUL_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_build_object)


def iter_json_objects(text: str, *, lists: bool = False, faithful: bool = False) -> Iterator[Any]:
    """Yield the JSON objects in a text, one after another.

    With `lists`, yield lists that stand outside of objects too. With `faithful`, nothing is lost: an object that has a
    key twice is a `MultiDict`, and one that cannot be decoded a `BrokenObject`.
    """
    opening = _OBJECT_OR_LIST if lists else _OBJECT
    decoder = _FAITHFUL_DECODER if faithful else LENIENT_DECODER
    broken, at = 0, 0
    while broken < _MAX_BROKEN_OBJECTS and (start := opening.search(text, at)):
        try:
            value, at = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            broken, at = broken + 1, start.end()
            if faithful:
                following = _NEXT_OBJECT.search(text, at)
                at = following.start() if following else len(text)
                yield BrokenObject(text[start.start() : at])
        else:
            yield value
