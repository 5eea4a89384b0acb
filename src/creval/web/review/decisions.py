"""What was sent about a review's items, decided or refused with a sentence."""

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
_MESSAGES = {"accept": "Accepted", "drop": "Dropped", "reopen": "Open again", "save": "Saved"}
TAKE_THEIRS = "theirs"
"""What a form asks for that gives way to what was saved elsewhere."""
_OVERRIDE_LABELS = {
    "accept": "Accept mine instead",
    "drop": "Drop it all the same",
    "reopen": "Reopen it all the same",
    "save": "Save mine instead",
}
_CONFLICT_MESSAGE = (
    "Not saved: meanwhile this was changed elsewhere, perhaps in another window. Here is what is "
    "there now; yours is in the fields below."
)
_STALE_MESSAGE = "Nothing was accepted: meanwhile something here was changed elsewhere. Look again."


class DecisionResult(NamedTuple):
    """What became of it: an HTTP status, a sentence, the group as it is now, its cards (the one in question first)."""

    status: int
    message: str
    group: ReviewGroup
    cards: Sequence[ReviewCard]


def apply_decision(
    progress: ReviewProgress, group: ReviewGroup, index: int, show: str, form: Mapping[str, str]
) -> DecisionResult:
    """Do what a card's form asks: save, accept, drop, reopen, or take what was saved elsewhere."""
    item, act = group.items[index], form.get("act", "save")
    if act == TAKE_THEIRS:
        return _success(group, index, show, "Taken as it is.")
    if act not in _MESSAGES:
        raise HTTPException(400, "That can be neither saved, accepted, dropped nor reopened.")
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
    """The cards of other items that a decision changed too, or put at another place."""
    return [
        card
        for place, card in enumerate(build_cards(group, show))
        if card.item.id != but.id and before.items[place : place + 1] != (card.item,)
    ]


def _conflict(group: ReviewGroup, card: ReviewCard, act: str) -> DecisionResult:
    """Yours in the fields, what was saved elsewhere above them, and which of them it shall be."""
    there = [("decided", card.state), *((field.name, field.text) for field in card.item.fields)]
    mine = act, _OVERRIDE_LABELS[act]
    card = card._replace(version=item_version(card.item), error=_CONFLICT_MESSAGE, theirs=there, mine=mine)
    return DecisionResult(409, _CONFLICT_MESSAGE, group, [card])


def accept_all_open(progress: ReviewProgress, group: ReviewGroup, show: str, form: Mapping[str, str]) -> DecisionResult:
    """Accept all open items of a group, if they are as they were shown."""
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
        return DecisionResult(422, f"{said} {len(wrong)} could not be.", group, cards)
    return DecisionResult(200, said, group, cards)


def item_index(group: ReviewGroup, given: str) -> int:
    """Where the item is that an address names."""
    for place, item in enumerate(group.items):
        if to_utf8(item.id) == given:
            return place
    raise CrevalError(f"there is no item {given[:200]!r} in {group.id!r}.")


def _is_unchanged(item: ReviewItem, verdict: str, fields: Mapping[str, str]) -> bool:
    """Whether an item already is as somebody wants it."""
    return item.verdict == verdict and {field.name: field.text for field in item.fields} == fields
