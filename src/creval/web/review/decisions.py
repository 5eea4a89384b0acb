"""Apply decisions about review items, or refuse them with a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.exceptions import HTTPException

from creval.building.review.base import ACCEPTED, DROPPED, OPEN, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError
from creval.core.formatting import pluralise
from creval.web.common.pages import to_utf8
from creval.web.review.cards import ReviewCard, build_card, build_cards, group_version, item_version, submitted_fields
from creval.web.review.progress import ReviewProgress

_VERDICTS = {"accept": ACCEPTED, "drop": DROPPED, "reopen": OPEN}
_MESSAGES = {"accept": "Accepted", "drop": "Dropped", "reopen": "Reopened", "save": "Saved"}
TAKE_THEIRS = "theirs"
"""Action of a form: in a conflict, keep the version that was saved elsewhere."""
_OVERRIDE_LABELS = {
    "accept": "Accept mine instead",
    "drop": "Drop it anyway",
    "reopen": "Reopen it anyway",
    "save": "Save mine instead",
}
_CONFLICT_MESSAGE = (
    "Not saved: this item was changed elsewhere in the meantime, perhaps in another window. The saved version is "
    "shown here; yours is in the fields below."
)
_STALE_MESSAGE = "Nothing was accepted: this group was changed elsewhere in the meantime. Check it again."


class DecisionResult(NamedTuple):
    """Result of a decision: HTTP status, message, the group as it is now, and cards to show again.

    The card of the decided item comes first.
    """

    status: int
    message: str
    group: ReviewGroup
    cards: Sequence[ReviewCard]


def apply_decision(
    progress: ReviewProgress, group: ReviewGroup, index: int, show: str, form: Mapping[str, str]
) -> DecisionResult:
    """Apply the action of a card's form: save, accept, drop, reopen, or keep the version saved elsewhere."""
    item, act = group.items[index], form.get("act", "save")
    if act == TAKE_THEIRS:
        return _success(group, index, show, "The saved version is kept.")
    if act not in _MESSAGES:
        raise HTTPException(400, "Unknown action: use save, accept, drop or reopen.")
    verdict = _VERDICTS.get(act, item.verdict)
    try:
        fields = submitted_fields(item.fields, form)
        if item_version(item) != form.get("version") and not _is_unchanged(item, verdict, fields):
            return _conflict(group, build_card(group, index, show, form), act)
        progress.decide(group.id, item, verdict, fields)
    except CrevalError as error:
        card = build_card(group, index, show, form)._replace(error=f"Not saved: {error}")
        return DecisionResult(422, card.error, group, [card])
    before, group = group, progress.read(group.id)
    changed = act != "save" and any(field.text != fields[field.name] for field in item.fields)
    said = _MESSAGES[act] + (", with your changes." if changed else ".")
    done = _success(group, item_index(group, to_utf8(item.id)), show, said)
    return done._replace(cards=[*done.cards, *_changed_cards(before, group, item, show)])


def _success(group: ReviewGroup, index: int, show: str, said: str) -> DecisionResult:
    return DecisionResult(200, said, group, [build_card(group, index, show)._replace(message=said)])


def _changed_cards(before: ReviewGroup, group: ReviewGroup, but: ReviewItem, show: str) -> list[ReviewCard]:
    """Return the cards of other items that a decision changed or moved."""
    return [
        card
        for place, card in enumerate(build_cards(group, show))
        if card.item.id != but.id and before.items[place : place + 1] != (card.item,)
    ]


def _conflict(group: ReviewGroup, card: ReviewCard, act: str) -> DecisionResult:
    """Return a card with the user's text in the fields, the saved version above, and buttons to choose between them."""
    there = [("decided", card.state), *((field.name, field.text) for field in card.item.fields)]
    mine = act, _OVERRIDE_LABELS[act]
    card = card._replace(version=item_version(card.item), error=_CONFLICT_MESSAGE, theirs=there, mine=mine)
    return DecisionResult(409, _CONFLICT_MESSAGE, group, [card])


def accept_all_open(progress: ReviewProgress, group: ReviewGroup, show: str, form: Mapping[str, str]) -> DecisionResult:
    """Accept all open items of a group. Refuses if the group has changed since it was shown."""
    if form.get("version") != group_version(group):
        return DecisionResult(409, _STALE_MESSAGE, group, build_cards(group, show))
    left = [item for item in group.items if item.verdict not in (ACCEPTED, DROPPED)]
    wrong: dict[str, str] = {}
    for item in left:
        try:
            fields = {field.name: field.text for field in item.fields}
            progress.decide(group.id, item, ACCEPTED, fields)
        except CrevalError as error:
            wrong[item.id] = f"Not accepted: {error}"
    group = progress.read(group.id)
    cards = [card._replace(error=wrong.get(card.item.id, "")) for card in build_cards(group, show)]
    said = f"{pluralise(len(left) - len(wrong), 'item')} accepted."
    if wrong:
        return DecisionResult(422, f"{said} {len(wrong)} could not be accepted.", group, cards)
    return DecisionResult(200, said, group, cards)


def item_index(group: ReviewGroup, given: str) -> int:
    """Return the position of an item in its group, given the item's id from a URL."""
    for place, item in enumerate(group.items):
        if to_utf8(item.id) == given:
            return place
    raise CrevalError(f"there is no item {given[:200]!r} in {group.id!r}.")


def _is_unchanged(item: ReviewItem, verdict: str, fields: Mapping[str, str]) -> bool:
    """Return whether an item already has this verdict and these values of its fields."""
    return item.verdict == verdict and {field.name: field.text for field in item.fields} == fields
