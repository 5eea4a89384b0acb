"""Extraction of JSON from a text with other content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 20
_MAX_FAILURES = 200  # objects that fail to decode before the rest of a text is ignored as noise
_MAX_WASTED_READS = 4  # limit of characters read by failed attempts, in multiples of the text's length
_OBJECT, _OBJECT_OR_LIST = re.compile(r"\{"), re.compile(r"[{\[]")
# The start of an object: a brace and a quoted key, perhaps after JSON punctuation.
_NEXT_OBJECT = re.compile(r"([{\[,:}\]]\s*)?\{\s*[\"'“”]\w")
_ANY_KEY = re.compile(r"[\"'“”][^\"'“”\n]{1,40}[\"'“”]\s{0,9}[:：]")


class BrokenObject(str):
    """The text of an object that is not valid JSON.

    If it contains valid objects, each part of the text between them is a `BrokenObject`.
    """

    __slots__ = ()


class UnclosedObject(BrokenObject):
    """The text from the start of an object without an end: the text was truncated, or a brace is missing."""

    __slots__ = ()


class Prose(str):
    """The text between objects."""

    __slots__ = ()


class MultiDict:
    """A JSON object with a duplicate key. A dict would lose all values of this key except the last."""

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


class JsonReader:
    """Decoder of JSON values at given positions of a text.

    It gives up after too many failures, so that the time stays linear in the text's length.
    """

    def __init__(self, text: str, decoder: json.JSONDecoder = LENIENT_DECODER) -> None:
        self._text, self._decoder = text, decoder
        self._failures, self._chars = _MAX_FAILURES, _MAX_WASTED_READS * len(text)

    @property
    def has_given_up(self) -> bool:
        return self._failures <= 0 or self._chars < 0

    def decode(self, start: int) -> tuple[Any, int] | None:
        """Return the value at `start` and the index of its end, or None if it is malformed."""
        try:
            return self._decoder.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            end = len(self._text) if error.msg.startswith("Unterminated") else error.pos
        except (ValueError, RecursionError):  # too many digits in a number, or too deep
            end = len(self._text)
        self._failures -= 1
        self._chars -= end - start
        return None


def iter_json_objects(text: str, *, lists: bool = False) -> Iterator[Any]:
    """Yield the JSON objects in a text. With `lists`, also yield lists that are not inside an object."""
    opening = _OBJECT_OR_LIST if lists else _OBJECT
    reader, at = JsonReader(text), 0
    while not reader.has_given_up and (start := opening.search(text, at)):
        if (found := reader.decode(start.start())) is None:
            at = start.end()
        else:
            value, at = found
            yield value


def split_json(text: str) -> list[Any]:
    """Split a text into objects (with duplicate keys as `MultiDict`), `BrokenObject`s and `Prose`."""
    reader = JsonReader(text, _FAITHFUL_DECODER)
    pieces: list[Any] = []
    at, depth = 0, 0  # depth: open braces of broken objects
    opened, opened_at = 0, 0  # piece and position at which the first of these braces was opened

    def add(start: int, end: int, *, broken: bool) -> None:
        """Add the text from `start` to `end` to the pieces. Text after the last brace of a broken object is prose."""
        nonlocal depth, opened, opened_at
        if not broken:
            pieces.append(Prose(text[start:end]))
            return
        if not depth:
            opened, opened_at = len(pieces), start
        depth = max(0, depth + text.count("{", start, end) - text.count("}", start, end))
        closed = end if depth else text.rindex("}", start, end) + 1
        pieces.append(BrokenObject(text[start:closed]))
        if closed < end:
            pieces.append(Prose(text[closed:end]))

    while not reader.has_given_up and (start := text.find("{", at)) >= 0:
        if start > at:
            add(at, start, broken=depth > 0)
        if (found := reader.decode(start)) is not None:
            value, at = found
            pieces.append(value)
        else:
            at = _find_next_object(text, start)
            add(start, at, broken=depth > 0 or _ANY_KEY.search(text, start, at) is not None)
    if at < len(text) and not reader.has_given_up:
        add(at, len(text), broken=depth > 0)
    return [*pieces[:opened], UnclosedObject(text[opened_at:])] if depth else pieces


def _find_next_object(text: str, start: int) -> int:
    """Return the start of the next object after a broken one.

    While braces are open, the object must follow JSON punctuation.
    """
    depth, at = 0, start
    for match in _NEXT_OBJECT.finditer(text, start):
        here = match.end(1) if match[1] else match.start()
        depth = max(0, depth + text.count("{", at, here) - text.count("}", at, here))
        if here > start and (match[1] or not depth):
            return here
        at = here
    return len(text)
