"""Cards: review items as a page shows them, with form fields and state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from creval.building.review.base import ACCEPTED, DROPPED, ReviewField, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control
from creval.web.common.pages import SelectOption, link, to_utf8

STATE_NAMES = {ACCEPTED: "accepted", DROPPED: "dropped"}
"""Names of verdicts on pages. Any other verdict is shown as open."""
KEEP_CURRENT = "as it is"
_MAX_INLINE_OPTIONS = 4  # choices shown as radio buttons; more are shown as a list
_LINE_CHARS = 72  # approximate number of characters in a line of a text field


class FormField(NamedTuple):
    """A field of a card: a text, or options, which are radio buttons if `inline`."""

    name: str
    label: str
    text: Markup
    rows: int
    options: Sequence[SelectOption]
    inline: bool
    invisible_characters: str


class ReviewCard(NamedTuple):
    """A review item as shown on its page.

    In a conflict, `theirs` has the fields saved elsewhere, and `mine` the value and label of the button that overrides
    them.
    """

    anchor: str
    item: ReviewItem
    state: str
    form_fields: Sequence[FormField]
    version: str
    href: str
    unsaved: bool = False
    message: str = ""
    error: str = ""
    theirs: Sequence[tuple[str, str]] = ()
    mine: tuple[str, str] = ("", "")


def build_card(group: ReviewGroup, index: int, show: str, submitted: Mapping[str, str] | None = None) -> ReviewCard:
    """Return the card of the item at an index. Its fields show the `submitted` texts if these were not saved."""
    item = group.items[index]
    boxes = [
        _form_field(form_field_name(number), field, (submitted or {}).get(form_field_name(number)))
        for number, field in enumerate(item.fields)
    ]
    href = link("/decide", group=to_utf8(group.id), item=to_utf8(item.id), show=show)
    state = STATE_NAMES.get(item.verdict, "open")
    # Unsaved text refers to the version of the item that the page showed.
    seen = item_version(item) if submitted is None else submitted.get("version", "")
    return ReviewCard(f"item-{index + 1}", item, state, boxes, seen, href, submitted is not None)


def build_cards(group: ReviewGroup, show: str) -> list[ReviewCard]:
    """Return the cards of all items of a group."""
    return [build_card(group, place, show) for place in range(len(group.items))]


def build_new_item_form(group: ReviewGroup, submitted: Mapping[str, str] | None = None) -> list[FormField]:
    """Return the fields of the form that adds an item to a group. Empty if the group takes no new items."""
    return [
        _form_field(form_field_name(number), field, (submitted or {}).get(form_field_name(number)))
        for number, field in enumerate(group.new_item)
    ]


def form_field_name(number: int) -> str:
    return f"field-{number}"


def _form_field(name: str, field: ReviewField, submitted: str | None) -> FormField:
    text = normalise_newlines(field.text)
    options: list[SelectOption] = []
    if field.choices:
        given = submitted if submitted is not None else _choice_index(field)
        options = [SelectOption(str(place), choice, str(place) == given) for place, choice in enumerate(field.choices)]
        if field.text not in field.choices:
            words = f"{field.text or 'nothing'} (not one of the choices)"
            options.append(SelectOption(KEEP_CURRENT, words, not any(option.selected for option in options)))
    elif submitted is not None:
        text = normalise_newlines(submitted)
    lines = sum(len(line) // _LINE_CHARS + 1 for line in text.split("\n"))
    few = len(options) <= _MAX_INLINE_OPTIONS
    return FormField(name, field.name, escape(text), min(lines, 12), options, few, _invisible_characters(text))


def _choice_index(field: ReviewField) -> str:
    return str(field.choices.index(field.text)) if field.text in field.choices else KEEP_CURRENT


def _invisible_characters(text: str) -> str:
    """Return the escapes of the invisible characters in a text, separated by commas."""
    found = dict.fromkeys(escape_control(char) for char in text if char not in "\n\t")
    return ", ".join(name for name in found if len(name) > 1)


def normalise_newlines(text: str) -> str:
    """Return a text with LF line endings and valid characters only, to compare it with submitted text."""
    return to_utf8(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd"))


def submitted_fields(fields: Sequence[ReviewField], sent: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of an item from a form. Fields that were not changed keep their exact text."""
    return {
        field.name: _submitted_text(field, sent.get(form_field_name(number))) for number, field in enumerate(fields)
    }


def _submitted_text(field: ReviewField, sent: str | None) -> str:
    if sent is None:
        return field.text
    if not field.choices:
        return field.text if normalise_newlines(sent) == normalise_newlines(field.text) else normalise_newlines(sent)
    if sent == KEEP_CURRENT:
        return field.text
    for place, choice in enumerate(field.choices):
        if sent == str(place):
            return choice
    known = ", ".join(field.choices)
    raise CrevalError(f"{field.name}: the value is not one of the choices {known}.")


def item_version(item: ReviewItem) -> str:
    """Return a digest of an item's state, used to detect conflicting changes."""
    return _digest([item.id, item.verdict, [[field.name, field.text] for field in item.fields]])


def group_version(group: ReviewGroup) -> str:
    """Return a digest of the state of all items of a group."""
    return _digest([item_version(item) for item in group.items])


def _digest(state: object) -> str:
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:20]
