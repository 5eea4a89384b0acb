"""Scene: a complete description of an image."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from creval.touchstone.shapes import PLURALS, SMALL_KINDS, SUBJECT_KINDS
from creval.touchstone.sprites import COLOURS, MATERIALS

IMAGE_SIDE = 768
"""Width and height of an image, in pixels."""
SIZES = {"small": 240, "medium": 320, "large": 400}
PLACES = {"left": 270, "centre": 384, "right": 498}
# Positions of small objects: the top row, and the bottom corners.
SLOTS = {
    "top left": (110, 100),
    "top": (292, 100),
    "top centre": (476, 100),
    "top right": (658, 100),
    "bottom left": (104, 678),
    "bottom right": (664, 678),
}
BACKGROUNDS = ("room", "meadow", "beach", "night", "studio", "street")
EXTRAS = ("wings", "crown", "hat", "sash", "wheels")
PATTERNS = ("plain", "striped", "dotted", "checked")
CONTAINERS = ("glass dome", "jar", "snow globe", "gift box")
FRAMES = ("stamp", "playing card", "film strip")
STYLES = ("painting", "pencil sketch", "pixel art", "flat poster", "blueprint")
FLAWS = ("broken outlines", "noise", "banding", "doubled parts", "cut limbs")
COLOURLESS_STYLES = frozenset({"pencil sketch", "blueprint"})
"""Styles without colours."""


UNLINED_STYLES = frozenset({"pixel art", "blueprint"})
"""Styles in which a gap in an outline is not visible."""


@dataclass(frozen=True)
class Extra:
    """Something that the subject has or wears, such as wings or a hat."""

    kind: str
    colour: str
    pattern: str = "plain"


@dataclass(frozen=True)
class SmallObject:
    """A small object beside the subject, in one of the slots."""

    kind: str
    colour: str
    slot: str


@dataclass(frozen=True)
class Scene:
    """Description of an image.

    - `panels`: 2 for a comic, otherwise 1.
    - `sticker`: whether the subject has a white border.
    - `text`: words on the banner; "" for no banner.
    - `flaws`: drawing errors, at places that depend on `seed`.
    """

    kind: str
    colour: str
    material: str = "plain"
    size: str = "medium"
    place: str = "centre"
    extras: tuple[Extra, ...] = ()
    others: tuple[SmallObject, ...] = ()
    background: str = "room"
    backdrop: str = "blue"
    style: str = "painting"
    container: str = ""
    frame: str = ""
    panels: int = 1
    sticker: bool = False
    text: str = ""
    flaws: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        checks: list[tuple[str, Collection[str]]] = [
            (self.kind, SUBJECT_KINDS),
            (self.colour, COLOURS),
            (self.material, MATERIALS),
            (self.size, SIZES),
            (self.place, PLACES),
            (self.background, BACKGROUNDS),
            (self.backdrop, COLOURS),
            (self.style, STYLES),
            (self.container, ("", *CONTAINERS)),
            (self.frame, ("", *FRAMES)),
            *((extra.kind, EXTRAS) for extra in self.extras),
            *((extra.pattern, PATTERNS) for extra in self.extras),
            *((other.kind, SMALL_KINDS) for other in self.others),
            *((other.slot, SLOTS) for other in self.others),
            *((flaw, FLAWS) for flaw in self.flaws),
        ]
        for given, known in checks:
            if given not in known:
                raise ValueError(f"a scene has no {given!r}")

    def find_extra(self, kind: str) -> Extra | None:
        """Return the subject's extra of a kind, or None if it has none."""
        return next((extra for extra in self.extras if extra.kind == kind), None)

    def count(self, kind: str, colour: str = "") -> int:
        """Return the number of small objects of a kind, of any colour or a given one."""
        return sum(o.kind == kind and colour in ("", o.colour) for o in self.others)

    @property
    def has_visible_colours(self) -> bool:
        """True if the style shows colours."""
        return self.style not in COLOURLESS_STYLES

    @property
    def has_legible_text(self) -> bool:
        """True if there is text that can be read."""
        return bool(self.text) and self.style != "pixel art"

    def __str__(self) -> str:
        """Describe the scene in words, beginning with the subject, such as `a medium blue cat, centre`."""
        look = self.colour if self.material == "plain" else f"{self.colour} {self.material}"
        if not self.has_visible_colours:
            look = "colourless"
        words = f"a {self.size} {look} {self.kind}, {self.place}"
        things = [extra.kind for extra in self.extras]
        counts = {kind: self.count(kind) for kind in SMALL_KINDS}
        things += [f"{count} {kind if count == 1 else PLURALS[kind]}" for kind, count in counts.items() if count]
        things += [thing for thing in (self.container, self.frame) if thing]
        things += ["a sticker's border"] * self.sticker + ["two panels"] * (self.panels == 2)
        things += [f"the words {self.text}"] if self.text else []
        words += f", with {', '.join(things)}" if things else ""
        words += f"; background: {self.background}, {self.backdrop}; style: {self.style}"
        return words + (f"; flaws: {', '.join(self.flaws)}" if self.flaws else "")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Scene:
        """Return the scene described by the result of `as_json`."""
        return Scene(
            **{
                **content,
                "extras": tuple(Extra(**extra) for extra in content["extras"]),
                "others": tuple(SmallObject(**other) for other in content["others"]),
                "flaws": tuple(content["flaws"]),
            }
        )
