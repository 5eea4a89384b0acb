"""Round trips of an item's fields through a form."""

from __future__ import annotations

from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from creval.building.review.base import ReviewField as Part
from creval.building.review.base import ReviewGroup, ReviewItem
from creval.web.review.cards import build_card, item_version, submitted_fields

ANY = st.text(st.characters(), max_size=40) | st.sampled_from(["\r", "\r\n", "\n\r\n", "\0", "\ud800"])


def sent_back(item: ReviewItem, ends: str) -> dict[str, str]:
    """Return the form data that a browser sends for an unchanged card, with the given line endings."""
    card = build_card(ReviewGroup("g", "", {}, (item,)), 0, "")
    sent = {}
    for box in card.form_fields:
        chosen = [option.value for option in box.options if option.selected]
        sent[box.name] = chosen[0] if box.options else unescape(box.text).replace("\n", ends)
        assert len(chosen) == bool(box.options)
    return sent


@given(ANY, ANY, st.lists(ANY, max_size=6, unique=True), st.sampled_from(["\n", "\r\n"]))
def test_unchanged_fields_are_submitted_exactly(text: str, choice: str, choices: list[str], ends: str) -> None:
    parts = (Part("text", text), Part("choice", choice, tuple(choices)))
    item = ReviewItem("i", "IF", parts)
    assert submitted_fields(item.fields, sent_back(item, ends)) == {"text": text, "choice": choice}
    assert submitted_fields(item.fields, {}) == {"text": text, "choice": choice}


@given(ANY, ANY)
def test_another_text_is_another_version(one: str, other: str) -> None:
    first, second = (ReviewItem("i", "IF", (Part("text", text),)) for text in (one, other))
    assert (item_version(first) == item_version(second)) == (one == other)
