"""A review's items as the cards of a page: what can be changed, and how it stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from creval.building.review.model import ACCEPTED, DROPPED, Field, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError
from creval.core.formatting import visible
from creval.web.common.pages import encodable, link

STATES = {ACCEPTED: "accepted", DROPPED: "dropped"}
"""How a verdict is called on a page; whatever else it is, it is open."""
AS_IS = "as it is"
_FEW = 4  # choices that are shown side by side
_WIDE = 72  # characters in a line of a field, more or less


class Option(NamedTuple):
    value: str
    words: str
    chosen: bool


class Box(NamedTuple):
    """A field of a card: words, or options, side by side if they are `few`."""

    name: str
    label: str
    text: Markup
    rows: int
    options: Sequence[Option]
    few: bool
    unseen: str


class Card(NamedTuple):
    """An item on its page. `wrong` says what did not work; where something else was saved from
    elsewhere, `theirs` is that, and `mine` what was wanted here and in which words to insist."""

    anchor: str
    item: ReviewItem
    state: str
    boxes: Sequence[Box]
    version: str
    href: str
    unsaved: bool = False
    said: str = ""
    wrong: str = ""
    theirs: Sequence[tuple[str, str]] = ()
    mine: tuple[str, str] = ("", "")


def card_of(
    group: ReviewGroup,
    place: int,
    show: str,
    typed: Mapping[str, str] | None = None,
) -> Card:
    """The card of the item at a place; fields hold what was `typed`, where it was not saved."""
    item = group.items[place]
    boxes = [
        _box(box_name(number), field, (typed or {}).get(box_name(number)))
        for number, field in enumerate(item.fields)
    ]
    href = link("/decide", group=encodable(group.id), item=encodable(item.id), show=show)
    state = STATES.get(item.verdict, "open")
    # What was typed is about the item as it was when somebody began.
    seen = version(item) if typed is None else typed.get("version", "")
    return Card(f"item-{place + 1}", item, state, boxes, seen, href, typed is not None)


def cards_of(group: ReviewGroup, show: str) -> list[Card]:
    """The cards of a group as it stands."""
    return [card_of(group, place, show) for place in range(len(group.items))]


def box_name(number: int) -> str:
    return f"field-{number}"


def _box(name: str, field: Field, typed: str | None) -> Box:
    text = plain(field.text)
    options: list[Option] = []
    if field.choices:
        given = typed if typed is not None else _place(field)
        options = [
            Option(str(place), choice, str(place) == given)
            for place, choice in enumerate(field.choices)
        ]
        if field.text not in field.choices:
            words = f"{field.text or 'nothing'} (none of the choices)"
            options.append(Option(AS_IS, words, not any(option.chosen for option in options)))
    elif typed is not None:
        text = plain(typed)
    lines = sum(len(line) // _WIDE + 1 for line in text.split("\n"))
    few = len(options) <= _FEW
    return Box(name, field.name, escape(text), min(lines, 12), options, few, _unseen(text))


def _place(field: Field) -> str:
    return str(field.choices.index(field.text)) if field.text in field.choices else AS_IS


def _unseen(text: str) -> str:
    """The characters of a text that nobody would see in a field, by name."""
    found = dict.fromkeys(visible(char) for char in text if char not in "\n\t")
    return ", ".join(name for name in found if len(name) > 1)


def plain(text: str) -> str:
    """A text as a browser gives it back: with lines as it ends them, and nothing but characters."""
    return encodable(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd"))


def wanted(item: ReviewItem, sent: Mapping[str, str]) -> dict[str, str]:
    """The fields of an item as a form has them; what was not touched stays to the letter."""
    return {
        field.name: _wanted(field, sent.get(box_name(number)))
        for number, field in enumerate(item.fields)
    }


def _wanted(field: Field, sent: str | None) -> str:
    if sent is None:
        return field.text
    if not field.choices:
        return field.text if plain(sent) == plain(field.text) else plain(sent)
    if sent == AS_IS:
        return field.text
    for place, choice in enumerate(field.choices):
        if sent == str(place):
            return choice
    known = ", ".join(field.choices)
    raise CrevalError(f"{field.name} is none of its choices; choose among {known}.")


def version(item: ReviewItem) -> str:
    """A name for an item's state, by which a change from elsewhere is noticed."""
    return _digest([item.id, item.verdict, [[field.name, field.text] for field in item.fields]])


def group_version(group: ReviewGroup) -> str:
    """A name for the state of all items of a group."""
    return _digest([version(item) for item in group.items])


def _digest(state: object) -> str:
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:20]
