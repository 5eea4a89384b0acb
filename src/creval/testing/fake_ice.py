"""Replies of the fake server to the builder of ICE-Bench items: random captions and filled templates."""

from __future__ import annotations

import random
import re

from creval.testing.fake_chains import RECORD_FORMATS, maybe_garble, render_records

_UNSUITED_RATE = 0.04
_BLANK = re.compile(r"\{[^{}]*\}")
_QUOTED = re.compile(r'"[^"\n]{1,100}"')
_BLANK_WORDS = (
    (re.compile("the words"), ("OPEN ALL DAY", "Tea & Cake", "NORTH 7")),
    (re.compile("colour"), ("dark red", "pale green", "the blue of ink")),
    (re.compile(r"where|letters"), ("on the left", "near the lower edge", "at the top")),
    (re.compile("style|manner"), ("a woodcut", "a watercolour", "an old film")),
    (re.compile("material|texture"), ("woven reed", "brushed steel", "cracked clay")),
    (re.compile("place|background|lies there"), ("a snowy street", "a beach at dusk")),
    (re.compile("does something|take another|change"), ("lift one arm", "turn to the left")),
    (re.compile("scene|who|near|show"), ("a fox under a lamp in the rain", "a quiet harbour")),
)
_THINGS = ("a brass bell", "the largest object", "a striped umbrella", "the figure in front")
_SCENES = (
    "a lamp beside a window",
    "a red bicycle against a wall",
    "two boats on a calm lake",
    "a dog on a green sofa",
    "a market stall with fruit",
)
_LIGHTS = ("in soft morning light", "seen from above", "under a grey sky", "close to the camera")


def _write_filled_template(text: str, rng: random.Random) -> str:
    template = re.search(r"^Template: (.*)$", text, re.MULTILINE)
    if rng.random() < _UNSUITED_RATE:
        return render_records([{"unsuited": "what it is about cannot be seen"}], rng.choice(RECORD_FORMATS[:4]))

    def fill(match: re.Match[str]) -> str:
        words = next((words for asked, words in _BLANK_WORDS if asked.search(match[0])), _THINGS)
        return rng.choice(words)

    said = maybe_garble(_BLANK.sub(fill, template[1] if template else ""), rng)
    return _render_field("instruction", said, rng)


def _write_caption(text: str, rng: random.Random) -> str:
    told = text.partition("The instruction: ")[2].partition("\n\nImagine")[0]
    signs = "".join(f", with the words {words}" for words in _QUOTED.findall(told))
    said = f"{rng.choice(_SCENES).capitalize()}, {rng.choice(_LIGHTS)}{signs}."
    return _render_field("caption", maybe_garble(said, rng), rng)


def _render_field(name: str, said: str, rng: random.Random) -> str:
    forms = [form for form in RECORD_FORMATS if form != "chinese" or '"' not in said]
    form = rng.choice([*forms, "plain"])
    return said if form == "plain" else render_records([{name: said}], form)


ICE_WRITERS = {
    '"the template with its places filled"': _write_filled_template,
    '{"caption": "the description"}': _write_caption,
}
"""Writers of replies, by a part of the prompt's reply format that identifies the prompt."""
