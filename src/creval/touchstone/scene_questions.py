"""Questions about images: the wording of each, and its true answer for a scene.

A question about something that is absent from the edit has the answer no.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from creval.touchstone.scene import SIZES, Scene
from creval.touchstone.shapes import PLURALS, SUBJECT_KINDS

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
_SINGULARS = {plural: single for single, plural in PLURALS.items()}
_PLACES = {"left": "to the left of the centre", "centre": "in the centre", "right": "to the right of the centre"}
CORNERS = {
    "top left": "in the upper left corner",
    "top right": "in the upper right corner",
    "bottom left": "in the lower left corner",
    "bottom right": "in the lower right corner",
}
_EXTRA_WORDS = {
    "wings": "have wings",
    "wheels": "have wheels",
    "crown": "wear a crown",
    "hat": "wear a pointed hat",
    "sash": "wear a sash",
}
SCENERIES = {
    "room": "a room with a wooden floor",
    "meadow": "a meadow with hills",
    "beach": "a beach by the sea",
    "night": "a night sky with a moon",
    "studio": "a plain studio",
    "street": "a street with houses",
}
_FRAMES = {
    "stamp": "the perforated border of a postage stamp",
    "playing card": "the rounded white border of a playing card",
    "film strip": "the black bands of a film strip",
}
_STYLES = {
    "painting": "a smooth, shaded illustration in colour",
    "pencil sketch": "a pencil sketch",
    "pixel art": "pixel art",
    "flat poster": "a poster of few flat colours",
    "blueprint": "a blueprint",
}


class _Template(NamedTuple):
    """Kind and wording of a question."""

    kind: str
    words: str


@dataclass(frozen=True)
class Check:
    """One question: the name of a template and the values of its placeholders, in order."""

    name: str
    given: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Topic of the question, such as colour, count or place."""
        return _TEMPLATES[self.name].kind

    @property
    def text(self) -> str:
        """Text of the question."""
        return _TEMPLATES[self.name].words.format(*map(_Word, self.given))

    @property
    def reworded(self) -> str:
        """Alternative wording of the question."""
        return _REWORDED[self.name].format(*map(_Word, self.given))

    def answer(self, source: Scene, edit: Scene) -> bool:
        """Return the true answer for the scenes of source and edit."""
        if self.name in _ABOUT_SUBJECT and edit.kind != self.given[0]:
            return False
        coloured, sash = edit.has_visible_colours, edit.find_extra("sash")
        match [self.name, *self.given]:
            case ["subject" | "clear", _]:
                return True
            case ["colour", _, colour]:
                return coloured and edit.material in ("plain", "wool") and edit.colour == colour
            case ["material", _, material]:
                return edit.style == "painting" and edit.material == material
            case ["place", _, place]:
                return edit.panels == 1 and edit.place == place
            case ["same size", _]:
                return edit.panels == source.panels and edit.size == source.size
            case ["larger", kind]:
                comparable = source.kind == kind and edit.panels == source.panels
                return comparable and SIZES[edit.size] > SIZES[source.size]
            case ["has", _, extra]:
                return edit.find_extra(extra) is not None
            case ["extra colour", extra, colour]:
                found = edit.find_extra(extra)
                return coloured and found is not None and found.colour == colour
            case ["pattern", pattern]:
                return sash is not None and edit.style == "painting" and sash.pattern == pattern
            case ["count", small, number]:
                return edit.count(small) == NUMBERS.index(number)
            case ["any", small]:
                return edit.count(small) > 0
            case ["all colour", small, colour]:
                return coloured and 0 < edit.count(small) == edit.count(small, colour)
            case ["corner", small, slot]:
                return any(other.kind == small and other.slot == slot for other in edit.others)
            case ["same tint"]:
                seen, before = ((s.background, s.backdrop, s.style) for s in (edit, source))
                return coloured and seen == before
            case ["container", _, container]:
                return edit.container == container
            case ["background" | "frame" | "style" as field, given]:
                return bool(getattr(edit, field) == given)
            case ["panels"]:
                return edit.panels == 2
            case ["sticker", _]:
                return edit.sticker
            case ["reads", words]:
                return edit.has_legible_text and edit.text == words
            case ["banner"]:
                return bool(edit.text)
            case ["noise" | "banding" as flaw]:
                return flaw in edit.flaws
            case [name, _]:
                return _FLAWS_ASKED_ABOUT[name] not in edit.flaws
        raise ValueError(f"there is no check {self}")


def parse_check(text: str) -> Check | None:
    """Return the check that a question's text means, or None if it is not one of touchstone's questions."""
    for name, pattern in _patterns():
        match = pattern.fullmatch(text.strip())
        if match is not None:
            check = Check(name, tuple(_NAMES_BY_PHRASE.get(word, word) for word in match.groups()))
            with suppress(KeyError):  # an unknown word: not one of touchstone's questions
                if text.strip() in (check.text, check.reworded):
                    return check
    return None


_PHRASES = {**_PLACES, **CORNERS, **_EXTRA_WORDS, **SCENERIES, **_FRAMES, **_STYLES}
_NAMES_BY_PHRASE = {words: name for name, words in _PHRASES.items()} | _SINGULARS
_NAMES_BY_PHRASE |= {f"{article} {kind}": kind for kind in SUBJECT_KINDS for article in ("a", "an")}


def with_article(words: str) -> str:
    """Return words with their indefinite article.

    >>> with_article("owl"), with_article("cat")
    ('an owl', 'a cat')
    """
    return ("an " if words[0] in "aeiou" else "a ") + words


class _Word(str):
    """A name with format codes: `plural`, `one` (with article), `spoken` (its phrase), or none for the plain name."""

    def __format__(self, form: str) -> str:
        name = str(self)
        if form == "plural":
            return PLURALS[name]
        if form == "one":
            return with_article(name)
        return _PHRASES[name] if form == "spoken" else name


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    found = []
    for name, template in _TEMPLATES.items():
        for words in (template.words, _REWORDED[name]):
            parts = re.split(r"\{[^}]*\}", words)
            found.append((name, re.compile("(.+?)".join(map(re.escape, parts)))))
    return found


_TEMPLATES: dict[str, _Template] = {
    "subject": _Template("shape", "Is the main subject of the edited image {:one}?"),
    "colour": _Template("colour", "Is the {} in the edited image {}?"),
    "material": _Template("material", "Does the {} look as if it were made of {}?"),
    "place": _Template("place", "Does the {} stand {:spoken} of the picture?"),
    "same size": _Template("size", "Is the {} as large as in the source image?"),
    "larger": _Template("size", "Is the {} larger than in the source image?"),
    "has": _Template("presence", "Does the {} {:spoken}?"),
    "extra colour": _Template("colour", "Is the colour of the {} {}?"),
    "pattern": _Template("pattern", "Is the sash {}?"),
    "count": _Template("count", "Is the number of {:plural} in the picture {}?"),
    "any": _Template("presence", "Can any {:plural} be seen in the picture?"),
    "all colour": _Template("colour", "Are all {:plural} that can be seen {}?"),
    "corner": _Template("place", "Is there a {} {:spoken} of the picture?"),
    "background": _Template("background", "Does the background show {:spoken}?"),
    "same tint": _Template("background", "Does the background have the same colours as in the source image?"),
    "container": _Template("container", "Is the {} inside a {}?"),
    "frame": _Template("frame", "Does the picture have {:spoken}?"),
    "panels": _Template("frame", "Is the picture divided into two panels?"),
    "sticker": _Template("frame", "Does the {} have the white border of a sticker?"),
    "reads": _Template("text", "Does the banner read “{}”?"),
    "banner": _Template("text", "Is there a banner with lettering below?"),
    "style": _Template("style", "Is the picture drawn as {:spoken}?"),
    "outlines": _Template("artefact", "Are the outlines of the {} drawn without gaps?"),
    "complete": _Template("artefact", "Is the {} complete, with no part of it cut off?"),
    "once": _Template("artefact", "Is the {} free of a second, half-seen copy laid over it?"),
    "clear": _Template("artefact", "Can the {} be recognised without doubt?"),
    "noise": _Template("artefact", "Is the picture disturbed by noise?"),
    "banding": _Template("artefact", "Is the picture disturbed by bands that run across it?"),
}
# Checks whose first placeholder is the subject. Their answer is no if the edit shows another subject.
_ABOUT_SUBJECT = frozenset({"subject", "colour", "material", "place", "same size", "larger", "has", "container"})
_ABOUT_SUBJECT |= {"sticker", "outlines", "complete", "once", "clear"}
_FLAWS_ASKED_ABOUT = {"outlines": "broken outlines", "complete": "cut limbs", "once": "doubled parts"}
_REWORDED: dict[str, str] = {
    "subject": "Would you say that the edited image is above all about {:one}?",
    "colour": "Would you call the colour of the {} in the edited image {}?",
    "material": "Is the {} drawn like something made of {}?",
    "place": "Would you find the {} {:spoken} of the edited image?",
    "same size": "Has the {} kept the size that it has in the source image?",
    "larger": "Has the {} become larger than it is in the source image?",
    "has": "Looking at the {}, does it {:spoken}?",
    "extra colour": "Would you call the {} {}?",
    "pattern": "Is the pattern of the sash {}?",
    "count": "If you count the {:plural} in the edited image, are there {}?",
    "any": "Does the edited image contain any {:plural}?",
    "all colour": "Do all the {:plural} in the edited image have the colour {}?",
    "corner": "Has a {} been drawn {:spoken} of the edited image?",
    "background": "Behind everything else, is there {:spoken}?",
    "same tint": "Have the colours of the background stayed as they are in the source image?",
    "container": "Has the {} been put into a {}?",
    "frame": "Is the edited image surrounded by {:spoken}?",
    "panels": "Does the edited image consist of two panels side by side?",
    "sticker": "Is the {} surrounded by a white rim, like a sticker?",
    "reads": "Are the words on the banner “{}”?",
    "banner": "Does the edited image have a banner with words on it?",
    "style": "Does the edited image look like {:spoken}?",
    "outlines": "Are all lines around the {} closed?",
    "complete": "Is every part of the {} there, none of it cut away?",
    "once": "Is it true that no half-seen copy lies over the {}?",
    "clear": "Is there no doubt that {:one} is shown?",
    "noise": "Does noise spoil the edited image?",
    "banding": "Do bands run across the edited image and spoil it?",
}
"""Alternative wordings of the same questions."""
