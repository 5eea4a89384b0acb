"""The JSON in a text that holds other things too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 20
_MAX_FAILURES = 200  # objects that cannot be decoded, after which a text is given up as noise
_MAX_WASTED_READS = 4  # times the text's length that may be read in vain
_OBJECT, _OBJECT_OR_LIST = re.compile(r"\{"), re.compile(r"[{\[]")
# An object: a brace and a quoted key; in JSON, it follows one of these marks.
_NEXT_OBJECT = re.compile(r"([{\[,:}\]]\s*)?\{\s*[\"'“”]\w")
_ANY_KEY = re.compile(r"[\"'“”][^\"'“”\n]{1,40}[\"'“”]\s{0,9}[:：]")


class BrokenObject(str):
    """The text of an object that is not valid JSON, or of a part of one that stands around a valid object."""

    __slots__ = ()


class UnclosedObject(BrokenObject):
    """The text from an object on that is not closed: the text was cut off in it, or a brace is missing."""

    __slots__ = ()


class Prose(str):
    """The text between objects."""

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


class JsonReader:
    """Decodes values anywhere in a text. It gives up a text in which too many cannot be decoded, which keeps the time
    linear in the text's length."""

    def __init__(self, text: str, decoder: json.JSONDecoder = LENIENT_DECODER) -> None:
        self._text, self._decoder = text, decoder
        self._failures, self._chars = _MAX_FAILURES, _MAX_WASTED_READS * len(text)

    @property
    def has_given_up(self) -> bool:
        return self._failures <= 0 or self._chars < 0

    def decode(self, start: int) -> tuple[Any, int] | None:
        """Return the value that begins here and where it ends, or None if it is broken."""
        try:
            return self._decoder.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            end = len(self._text) if error.msg.startswith("Unterminated") else error.pos
        except (ValueError, RecursionError):  # a number of too many digits, or too deep
            end = len(self._text)
        self._failures -= 1
        self._chars -= end - start
        return None


def iter_json_objects(text: str, *, lists: bool = False) -> Iterator[Any]:
    """Yield the JSON objects in a text, one after another; with `lists`, lists that stand outside of objects too."""
    opening = _OBJECT_OR_LIST if lists else _OBJECT
    reader, at = JsonReader(text), 0
    while not reader.has_given_up and (start := opening.search(text, at)):
        if (found := reader.decode(start.start())) is None:
            at = start.end()
        else:
            value, at = found
            yield value


def split_json(text: str) -> list[Any]:
    """Return all that a text holds: objects (one that has a key twice as `MultiDict`), `BrokenObject`s, `Prose`."""
    reader = JsonReader(text, _FAITHFUL_DECODER)
    pieces: list[Any] = []
    at, depth = 0, 0  # how many braces of broken objects are open
    opened, opened_at = 0, 0  # the piece and the place where the first of them was opened

    def add(start: int, end: int, *, broken: bool) -> None:
        """Add text; the words behind the last brace of a broken object are prose."""
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
    """Return where the object after a broken one begins. Where braces are open, it has to follow a mark of JSON."""
    depth, at = 0, start
    for match in _NEXT_OBJECT.finditer(text, start):
        here = match.end(1) if match[1] else match.start()
        depth = max(0, depth + text.count("{", at, here) - text.count("}", at, here))
        if here > start and (match[1] or not depth):
            return here
        at = here
    return len(text)
