"""What was sent about a review's items, decided or refused with a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.exceptions import HTTPException

from creval.building.review.model import ACCEPTED, DROPPED, OPEN, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError
from creval.core.formatting import many
from creval.web.common.pages import encodable
from creval.web.review.cards import Card, card_of, cards_of, group_version, version, wanted
from creval.web.review.progress import Overview

_VERDICTS = {"accept": ACCEPTED, "drop": DROPPED, "reopen": OPEN}
_SAID = {"accept": "Accepted", "drop": "Dropped", "reopen": "Open again", "save": "Saved"}
THEIRS = "theirs"
"""What a form asks for that gives way to what was saved elsewhere."""
_INSIST = {
    "accept": "Accept mine instead",
    "drop": "Drop it all the same",
    "reopen": "Reopen it all the same",
    "save": "Save mine instead",
}
_ELSEWHERE = (
    "Not saved: meanwhile this was changed elsewhere, perhaps in another window. Here is what is "
    "there now; yours is in the fields below."
)
_MOVED = "Nothing was accepted: meanwhile something here was changed elsewhere. Look again."


class Outcome(NamedTuple):
    """What became of it: an HTTP status, a sentence, the group as it is now, cards that say so (the
    one in question first)."""

    status: int
    said: str
    group: ReviewGroup
    cards: Sequence[Card]


def decide(
    overview: Overview, group: ReviewGroup, place: int, show: str, sent: Mapping[str, str]
) -> Outcome:
    """Do what a card's form asks: save, accept, drop, reopen, or take what was saved elsewhere."""
    item, act = group.items[place], sent.get("act", "save")
    if act == THEIRS:
        return _done(group, place, show, "Taken as it is.")
    if act not in _SAID:
        raise HTTPException(400, "That can be neither saved, accepted, dropped nor reopened.")
    verdict = _VERDICTS.get(act, item.verdict)
    try:
        fields = wanted(item, sent)
        if version(item) != sent.get("version") and not _is_so(item, verdict, fields):
            return _both(group, card_of(group, place, show, sent), act)
        overview.decide(group.id, item, verdict, fields)
    except CrevalError as error:
        card = card_of(group, place, show, sent)._replace(wrong=f"Not saved: {error}")
        return Outcome(422, card.wrong, group, [card])
    before, group = group, overview.read(group.id)
    changed = act != "save" and any(field.text != fields[field.name] for field in item.fields)
    said = _SAID[act] + (", with your changes." if changed else ".")
    done = _done(group, place_of(group, encodable(item.id)), show, said)
    return done._replace(cards=[*done.cards, *_moved(before, group, item, show)])


def _done(group: ReviewGroup, place: int, show: str, said: str) -> Outcome:
    return Outcome(200, said, group, [card_of(group, place, show)._replace(said=said)])


def _moved(before: ReviewGroup, group: ReviewGroup, but: ReviewItem, show: str) -> list[Card]:
    """The cards of other items that a decision changed too, or put at another place."""
    return [
        card
        for place, card in enumerate(cards_of(group, show))
        if card.item.id != but.id and before.items[place : place + 1] != (card.item,)
    ]


def _both(group: ReviewGroup, card: Card, act: str) -> Outcome:
    """Yours in the fields, what was saved elsewhere above them, and which of them it shall be."""
    there = [("decided", card.state), *((field.name, field.text) for field in card.item.fields)]
    mine = act, _INSIST[act]
    card = card._replace(version=version(card.item), wrong=_ELSEWHERE, theirs=there, mine=mine)
    return Outcome(409, _ELSEWHERE, group, [card])


def accept_open(
    overview: Overview, group: ReviewGroup, show: str, sent: Mapping[str, str]
) -> Outcome:
    """Accept all open items of a group, if they are as they were shown."""
    if sent.get("version") != group_version(group):
        return Outcome(409, _MOVED, group, cards_of(group, show))
    left = [item for item in group.items if item.verdict not in (ACCEPTED, DROPPED)]
    wrong: dict[str, str] = {}
    for item in left:
        try:
            fields = {field.name: field.text for field in item.fields}
            overview.decide(group.id, item, ACCEPTED, fields)
        except CrevalError as error:
            wrong[item.id] = f"Not accepted: {error}"
    group = overview.read(group.id)
    cards = [card._replace(wrong=wrong.get(card.item.id, "")) for card in cards_of(group, show)]
    said = f"{many(len(left) - len(wrong), 'item')} accepted."
    if wrong:
        return Outcome(422, f"{said} {len(wrong)} could not be.", group, cards)
    return Outcome(200, said, group, cards)


def place_of(group: ReviewGroup, given: str) -> int:
    """Where the item is that an address names."""
    for place, item in enumerate(group.items):
        if encodable(item.id) == given:
            return place
    raise CrevalError(f"there is no item {given[:200]!r} in {group.id!r}.")


def _is_so(item: ReviewItem, verdict: str, fields: Mapping[str, str]) -> bool:
    """Whether an item already is as somebody wants it."""
    return item.verdict == verdict and {field.name: field.text for field in item.fields} == fields
